/* The text is first turned into codes, sixteen and more bytes at a time, for the letters' bits tell their codes; then
 * the stretches between breaks are found by memchr, so that the loop over the k-mers of a stretch has no branch. It
 * rolls: one letter enters the k-mer at its low end and the reverse complement at its high end. */
#include <string.h>

#include "kmer.h"

void kmer_encode(uint8_t *text, size_t n)
{
    /* A 0x41, C 0x43, G 0x47, T 0x54: bits 1 and 2 tell them apart, and bit 2 moved onto bit 1 puts G before T. */
    for (size_t i = 0; i < n; i++) {
        uint8_t letter = text[i] & 0xdf;
        uint8_t code = ((letter >> 1) ^ (letter >> 2)) & 3;
        uint8_t good = (uint8_t)((letter == 'A') | (letter == 'C') | (letter == 'G') | (letter == 'T'));
        text[i] = good ? code : KMER_BREAK;
    }
}

static uint64_t mask_of(unsigned k)
{
    return k < KMER_MAX ? (UINT64_C(1) << 2 * k) - 1 : UINT64_MAX;
}

static size_t stretch_plain(const uint8_t *codes, size_t n, unsigned k, uint64_t *out)
{
    uint64_t mask = mask_of(k), word = 0;
    for (size_t i = 0; i < k - 1; i++)
        word = word << 2 | codes[i];
    for (size_t i = k - 1; i < n; i++) {
        word = word << 2 | codes[i];
        out[i - (k - 1)] = word & mask;
    }
    return n - (k - 1);
}

static size_t stretch_canonical(const uint8_t *codes, size_t n, unsigned k, uint64_t *out)
{
    uint64_t mask = mask_of(k), word = 0, reverse = 0;
    unsigned top = 2 * (k - 1);
    for (size_t i = 0; i < k - 1; i++) {
        word = word << 2 | codes[i];
        reverse = reverse >> 2 | (uint64_t)(codes[i] ^ 3) << top;
    }
    for (size_t i = k - 1; i < n; i++) {
        word = word << 2 | codes[i];
        reverse = reverse >> 2 | (uint64_t)(codes[i] ^ 3) << top;
        uint64_t forward = word & mask;
        out[i - (k - 1)] = forward < reverse ? forward : reverse;
    }
    return n - (k - 1);
}

size_t kmer_extract(const uint8_t *codes, size_t n, unsigned k, int canonical, uint64_t *out)
{
    size_t made = 0;
    for (const uint8_t *end = codes + n; codes < end;) {
        const uint8_t *stop = memchr(codes, KMER_BREAK, (size_t)(end - codes));
        if (!stop)
            stop = end;
        size_t length = (size_t)(stop - codes);
        if (length >= k)
            made += canonical ? stretch_canonical(codes, length, k, out + made)
                              : stretch_plain(codes, length, k, out + made);
        codes = stop + 1;
    }
    return made;
}

void kmer_letters(char *to, uint64_t kmer, unsigned k)
{
    static const char four[256][4] = {
#define L1(a, b, c) {a, b, c, 'A'}, {a, b, c, 'C'}, {a, b, c, 'G'}, {a, b, c, 'T'}
#define L2(a, b)    L1(a, b, 'A'), L1(a, b, 'C'), L1(a, b, 'G'), L1(a, b, 'T')
#define L3(a)       L2(a, 'A'), L2(a, 'C'), L2(a, 'G'), L2(a, 'T')
        L3('A'), L3('C'), L3('G'), L3('T')
#undef L1
#undef L2
#undef L3
    };
    /* The first letter is brought to the top of the word; each byte of it is four letters. */
    uint64_t word = kmer << (64 - 2 * k);
    for (unsigned i = 0; i < k; i += 4, word <<= 8)
        memcpy(to + i, four[word >> 56], 4);
}
