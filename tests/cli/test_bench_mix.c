/* Unit test of the check of mixed streams (bench/mix.h): a stream done in order passes, and each kind of
 * wrong answer is seen. Ends with a line 'N passed, N failed, N skipped'. */
#include <stdio.h>
#include <string.h>

#include "mix.h"

enum { N = 4000, RANGE = 200 };

static unsigned passed, failed;
static uint8_t hit[N / 8 + 1], after[RANGE / 8 + 1];
static uint64_t values[N];
static mix m;
static mix_answers a = {hit, values, after, 0, 8};

static void judge(int good, const char *name)
{
    passed += good != 0;
    failed += good == 0;
    if (!good)
        printf("FAIL %s\n", name);
}

static void flip(uint8_t *bits, uint64_t i)
{
    bits[i / 8] ^= (uint8_t)(1u << (i % 8));
}

/* The answers of one who does operation by operation. */
static void answer(void)
{
    unsigned char in[RANGE];
    memset(hit, 0, sizeof hit);
    memset(after, 0, sizeof after);
    for (uint64_t k = 0; k < RANGE; k++)
        in[k] = (unsigned char)mix_is_in(k);
    for (uint64_t i = 0; i < m.n; i++) {
        const uint64_t k = mix_index(&m, i);
        values[i] = bench_value(k);
        if (in[k])
            flip(hit, i);
        in[k] = mix_op(&m, i) == MIX_FIND ? in[k] : mix_op(&m, i) == MIX_INSERT;
    }
    a.size = 0;
    for (uint64_t k = 0; k < RANGE; k++)
        if (in[k]) {
            flip(after, k);
            a.size++;
        }
}

/* The first operation of a kind that hits or not. */
static uint64_t first(int op, int hits)
{
    uint64_t i = 0;
    while (i < N && (mix_op(&m, i) != op || mix_bit(hit, i) != hits))
        i++;
    return i;
}

static void test_streams(double exponent)
{
    m = mix_make(N, RANGE, exponent);
    m.inserts = m.erases = 20;
    answer();
    judge(!mix_check(&m, &a), "a right stream");
    for (int op = MIX_INSERT; op <= MIX_ERASE; op++)
        for (int hits = 0; hits < 2; hits++) {
            const uint64_t i = first(op, hits);
            flip(hit, i);
            judge(i < N && mix_check(&m, &a) != NULL, "an insert or an erase that told the wrong thing");
            flip(hit, i);
        }
    const uint64_t i = first(MIX_FIND, 1);
    values[i]++;
    judge(mix_check(&m, &a) != NULL, "a wrong value");
    values[i]--;
    flip(after, 7);
    judge(mix_check(&m, &a) != NULL, "a key too many or too few at the end");
    flip(after, 7);
    a.size++;
    judge(mix_check(&m, &a) != NULL, "a wrong size");
    a.size--;
    judge(!mix_check(&m, &a), "right again");
}

/* Lookups alone: nobody changes anything, so each answer is known. */
static void test_finds(mix_keys keys)
{
    m = mix_make(N, RANGE, 0);
    m.keys = keys;
    answer();
    judge(!mix_check(&m, &a), "lookups");
    flip(hit, 5);
    judge(mix_check(&m, &a) != NULL, "a lookup that told the wrong thing");
}

/* A prefix of a stream is a stream: what is told of the first operations is right by itself. */
static void test_prefix(void)
{
    m = mix_make(N / 3, RANGE, 0.8);
    m.inserts = m.erases = 40;
    answer();
    judge(!mix_check(&m, &a), "a prefix");
    const uint64_t size = a.size;
    m.n = N;
    judge(mix_check(&m, &a) != NULL, "answers of a prefix are not those of the whole");
    answer();
    m.n = N / 3;
    judge(size > 0 && mix_check(&m, &a) != NULL, "answers of the whole are not those of a prefix");
}

/* Keys of 16 bytes differ in both words, and one word is not the other. */
static void test_wide_keys(void)
{
    uint64_t same = 0;
    for (uint64_t i = 0; i < N; i++)
        same += bench_key_high(i) == bench_key(i, 16) || bench_key_high(i) == bench_key_high(i + 1) ||
                bench_key(i, 16) != bench_key(i, 8);
    judge(!same, "keys of 16 bytes");
}

/* Shares of the kinds, and of the most frequent key. */
static void test_laws(void)
{
    uint64_t inserts = 0, erases = 0, top = 0;
    m = mix_make(N, RANGE, 1.2);
    m.inserts = 40;
    m.erases = 20;
    for (uint64_t i = 0; i < N; i++) {
        inserts += mix_op(&m, i) == MIX_INSERT;
        erases += mix_op(&m, i) == MIX_ERASE;
        top += mix_index(&m, i) == 0;
    }
    judge(inserts > N * 37 / 100 && inserts < N * 43 / 100, "two in five are inserts");
    judge(erases > N * 17 / 100 && erases < N * 23 / 100, "one in five is an erase");
    judge(top > N / 5 && top < N / 2, "the first key is the most frequent one"); /* 1 / sum of k^-1.2: 0.29 */
}

int main(void)
{
    test_streams(0);
    test_streams(0.99);
    test_finds(MIX_ALL);
    test_finds(MIX_THERE);
    test_finds(MIX_ABSENT);
    test_prefix();
    test_wide_keys();
    test_laws();
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
