/* cpu/keys_firsts.c: the first rows of distinct keys, where nobody asks for their numbers: a bit a word.
 *
 * Words that lie close together have a bit each, 32 times fewer than a table by the word itself has. A thread
 * takes a range of rows and has bits of its own; it keeps those rows whose bit was not there. Bits of earlier
 * ranges then tell which of them are no first rows. So what comes out is the same for any threads. */
#include "cpu/group.h"

#define EACH 32u          /* bits a row at most */
#define STEP (1ull << 22) /* rows of a range between two looks at whether the call is to end */
#define FAR  (1ull << 17) /* words of bits that the near caches do not hold */

struct firsts {
    const struct keys_words *words;
    uint64_t n, each, ranges; /* rows of a range */
    uint64_t done, stop;      /* of a range's rows: looked at, and to be looked at next */
    uint64_t *seen, size;     /* by range: bits, and their words */
    uint64_t *count;          /* by range: rows that are kept */
    uint32_t *rows;           /* by range: these rows */
    enum cpu_level level;
};

/* How many bits words need; 0: too many. */
static uint64_t bits_for(const struct keys_words *w, uint64_t n)
{
    uint64_t most = 0;
    for (uint32_t c = 0; c < w->columns; c++) {
        const uint64_t codes = w->span[c] + 1;
        if (w->span[c] >= EACH * n || w->shift[c] > 40 || codes << w->shift[c] >> w->shift[c] != codes)
            return 0;
        most += codes << w->shift[c];
        if (most > EACH * n)
            return 0;
    }
    return most + 1;
}

static int load_some(const struct firsts *f, uint64_t begin, uint32_t count, uint64_t *words, uint8_t *states)
{
    const int some = keys_load_rows(f->level, f->words, begin, count, words, states);
    for (uint32_t i = 0; some && i < count; i++)
        words[i] = states[i] == KEYS_NONE ? 0 : words[i];
    return some;
}

/* The words of rows; 1: some have none, as `states` tell. */
static int load_words(const struct firsts *f, uint64_t begin, uint32_t count, uint64_t *words,
                      uint8_t *states)
{
    const struct keys_words *w = f->words;
    uint64_t values[KEYS_BLOCK];
    memset(words, 0, count * sizeof *words);
    for (uint32_t c = 0; c < w->columns; c++) {
        const uint64_t base = w->base[c] - 1;
        const uint32_t shift = w->shift[c];
        if (group_load(&w->column[c], f->level, begin, count, values, states))
            return load_some(f, begin, count, words, states);
        for (uint32_t i = 0; i < count; i++)
            words[i] |= (values[i] - base) << shift;
    }
    return 0;
}

static uint64_t range_end(const struct firsts *f, uint64_t range)
{
    return range + 1 == f->ranges ? f->n : (range + 1) * f->each;
}

static void look_block(const struct firsts *f, uint64_t range, uint64_t at, uint32_t count)
{
    uint64_t words[KEYS_BLOCK], *seen = f->seen + range * f->size, kept = f->count[range];
    uint32_t *rows = f->rows + range * f->each;
    uint8_t states[KEYS_BLOCK];
    const int some = load_words(f, at, count, words, states);
    for (uint32_t i = 0; f->size > FAR && i < count; i++)
        __builtin_prefetch(&seen[words[i] / 64], 1);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t there = !some || states[i] != KEYS_NONE, old = seen[words[i] / 64];
        rows[kept] = (uint32_t)(at + i);
        kept += there & ~(old >> (words[i] & 63));
        seen[words[i] / 64] = old | there << (words[i] & 63);
    }
    f->count[range] = kept;
}

static void look_ranges(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct firsts *f = arg;
    (void)worker;
    for (uint64_t range = begin; range < end; range++) {
        const uint64_t from = range * f->each, rows = range_end(f, range) - from;
        const uint64_t stop = f->stop < rows ? f->stop : rows;
        if (!f->done)
            memset(f->seen + range * f->size, 0, f->size * sizeof *f->seen);
        for (uint64_t at = f->done; at < stop; at += KEYS_BLOCK)
            look_block(f, range, from + at, stop - at < KEYS_BLOCK ? (uint32_t)(stop - at) : KEYS_BLOCK);
    }
}

/* The bits of a range become those of all ranges before it. */
static void join_seen(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct firsts *f = arg;
    (void)worker;
    for (uint64_t word = begin; word < end; word++) {
        uint64_t before = 0;
        for (uint64_t range = 0; range < f->ranges; range++) {
            uint64_t *at = &f->seen[range * f->size + word], own = *at;
            *at = before;
            before |= own;
        }
    }
}

/* Of a range's rows those stay whose words no earlier range has. */
static void drop_seen(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct firsts *f = arg;
    uint64_t words[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    (void)worker;
    for (uint64_t range = begin + !begin; range < end; range++) {
        const uint64_t *seen = f->seen + range * f->size, from = range * f->each, stop = range_end(f, range);
        uint32_t *rows = f->rows + from;
        uint64_t kept = 0, i = 0;
        while (i < f->count[range]) {
            const uint64_t at = from + (rows[i] - from) / KEYS_BLOCK * KEYS_BLOCK;
            const uint32_t count = stop - at < KEYS_BLOCK ? (uint32_t)(stop - at) : KEYS_BLOCK;
            load_words(f, at, count, words, states);
            for (; i < f->count[range] && rows[i] - at < count; i++) {
                const uint64_t word = words[rows[i] - at];
                rows[kept] = rows[i];
                kept += ~(seen[word / 64] >> (word & 63)) & 1;
            }
        }
        f->count[range] = kept;
    }
}

/* How many rows; `most` are those of the longest range. */
static uint64_t looked(const struct firsts *f, uint64_t most)
{
    return f->stop == most ? f->n : (f->stop < f->each ? f->stop : f->each) * f->ranges;
}

static cohort_status look(cohort_context *context, struct firsts *f)
{
    cohort_status s = COHORT_OK;
    const uint64_t most = f->n - (f->ranges - 1) * f->each;
    for (; !s && f->done < most; f->done = f->stop) {
        f->stop = f->done + STEP < most ? f->done + STEP : most;
        cpu_parallel(context, f->ranges, 1, look_ranges, f);
        if (f->n > KEYS_GRAIN)
            s = context_progress(context, "keys", looked(f, most), f->n);
    }
    return s;
}

/* Rows of all ranges, one behind the other: how many there are. */
static uint64_t put_together(cohort_context *context, struct firsts *f)
{
    uint64_t sum = f->count[0];
    if (f->ranges > 1) {
        cpu_parallel(context, f->size, KEYS_GRAIN, join_seen, f);
        cpu_parallel(context, f->ranges, 1, drop_seen, f);
    }
    for (uint64_t range = 1; range < f->ranges; sum += f->count[range], range++)
        memmove(f->rows + sum, f->rows + range * f->each, f->count[range] * sizeof *f->rows);
    return sum;
}

cohort_status cpu_keys_firsts(cohort_context *context, const struct keys_words *words, uint64_t n,
                              uint32_t *rows, uint64_t *count)
{
    struct firsts f = {.words = words, .n = n, .rows = rows, .level = cpu_device(context)->level};
    const uint64_t bits = words->base && !words->skips && n < KEYS_MOST_IDS ? bits_for(words, n) : 0;
    void *memory = NULL;
    if (!bits)
        return COHORT_UNSUPPORTED;
    f.size = bits / 64 + 1;
    f.ranges = cpu_device(context)->threads < n / KEYS_GRAIN ? cpu_device(context)->threads : n / KEYS_GRAIN;
    f.ranges = f.ranges < n / f.size ? f.ranges : n / f.size;
    f.ranges += !f.ranges;
    f.each = n / f.ranges / KEYS_BLOCK * KEYS_BLOCK;
    if (pool_take(context, f.ranges * (f.size + 1) * sizeof *f.seen, &memory))
        return COHORT_UNSUPPORTED;
    f.count = memory;
    f.seen = f.count + f.ranges;
    memset(f.count, 0, f.ranges * sizeof *f.count);
    cohort_status s = look(context, &f);
    if (!s)
        *count = put_together(context, &f);
    pool_give(context, memory);
    return s;
}
