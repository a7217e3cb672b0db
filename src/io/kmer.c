/* kmer.c: k-mers out of text.
 *
 * The text is first turned into codes, sixteen bytes at a time, for the letters' bits tell their codes; then
 * the stretches between breaks are found by memchr, so that the loop over the k-mers of a stretch has no
 * branch.
 *
 * That loop keeps the last 32 letters in two words: `word` with the last letter lowest, whose low 2k bits are
 * the k-mer that ends there, and `turned` with the last letter's complement highest, whose high 2k bits are
 * the reverse complement of the same k-mer. Four letters at a time are put together by two multiplications;
 * shifted into the two words by one to four letters they give four k-mers, which vector instructions make at
 * once where there is AVX2. */
#include "io/kmer.h"

#include <string.h>

/* ---- codes --------------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
typedef uint8_t letters __attribute__((vector_size(16)));

/* A 0x41, C 0x43, G 0x47, T 0x54: bits 1 and 2 tell them apart, and bit 2 moved onto bit 1 puts G before
 * T. */
static size_t encode_blocks(uint8_t *text, size_t n)
{
    size_t i = 0;
    for (; i + sizeof(letters) <= n; i += sizeof(letters)) {
        letters letter;
        memcpy(&letter, text + i, sizeof letter);
        letter &= 0xdf;
        letters good = (letters)(letter == 'A') | (letters)(letter == 'C');
        good |= (letters)(letter == 'G') | (letters)(letter == 'T');
        letter = (((letter >> 1) ^ (letter >> 2)) & 3 & good) | (COHORT_KMER_BREAK & ~good);
        memcpy(text + i, &letter, sizeof letter);
    }
    return i;
}
#else
static size_t encode_blocks(uint8_t *text, size_t n)
{
    (void)text;
    (void)n;
    return 0;
}
#endif

static uint8_t code_of(uint8_t letter)
{
    switch (letter & 0xdf) {
    case 'A':
        return 0;
    case 'C':
        return 1;
    case 'G':
        return 2;
    case 'T':
        return 3;
    default:
        return COHORT_KMER_BREAK;
    }
}

void kmer_encode(uint8_t *text, size_t n)
{
    for (size_t i = encode_blocks(text, n); i < n; i++)
        text[i] = code_of(text[i]);
}

/* ---- the k-mers of one stretch ------------------------------------------------------------------------- */

typedef struct window {
    uint64_t word, turned;
} window;

static inline uint64_t kmer_of(const window *window, unsigned k, int canonical)
{
    uint64_t word = window->word << (64 - 2 * k) >> (64 - 2 * k), turned = window->turned >> (64 - 2 * k);
    /* A branch here would be a coin toss. */
    uint64_t smaller = 0 - (uint64_t)((canonical != 0) & (turned < word));
    return (turned & smaller) | (word & ~smaller);
}

static inline void enter_one(window *window, uint8_t code)
{
    window->word = window->word << 2 | code;
    window->turned = window->turned >> 2 | (uint64_t)(code ^ 3) << 62;
}

/* Four letters: their codes, the first one highest, and their complements, the first one lowest. The factors
 * bring the codes together in the highest byte. */
typedef struct quartet {
    uint64_t codes, complements;
} quartet;

static inline quartet quartet_of(const uint8_t *codes)
{
    uint32_t four =
        (uint32_t)codes[0] | (uint32_t)codes[1] << 8 | (uint32_t)codes[2] << 16 | (uint32_t)codes[3] << 24;
    return (quartet){(uint32_t)(four * 0x40100401u) >> 24, (uint32_t)(four * 0x01041040u) >> 24 ^ 0xff};
}

static inline void enter_four(window *window, quartet quartet)
{
    window->word = window->word << 8 | quartet.codes;
    window->turned = window->turned >> 8 | quartet.complements << 56;
}

/* The four k-mers that end in the letters of `quartet`, which follow those of `before`. */
static inline void four_plain(const window *before, quartet quartet, unsigned k, int canonical, uint64_t *out)
{
    for (unsigned in = 2; in <= 8; in += 2) {
        window window = {before->word << in | quartet.codes >> (8 - in),
                         before->turned >> in | quartet.complements << (64 - in)};
        *out++ = kmer_of(&window, k, canonical);
    }
}

/* All k-mers of n >= k codes without a break; `four` makes four of them. */
#define STRETCH(four)                               \
    window window = {0, 0};                         \
    size_t i = 0, made = n - (k - 1);               \
    for (; i + 4 < k; i += 4)                       \
        enter_four(&window, quartet_of(codes + i)); \
    for (; i + 1 < k; i++)                          \
        enter_one(&window, codes[i]);               \
    for (; i + 4 <= n; i += 4, out += 4) {          \
        quartet quartet = quartet_of(codes + i);    \
        four(&window, quartet, k, canonical, out);  \
        enter_four(&window, quartet);               \
    }                                               \
    for (; i < n; i++) {                            \
        enter_one(&window, codes[i]);               \
        *out++ = kmer_of(&window, k, canonical);    \
    }                                               \
    return made

static size_t stretch_plain(const uint8_t *codes, size_t n, unsigned k, int canonical, uint64_t *out)
{
    STRETCH(four_plain);
}

#if defined(__x86_64__) && defined(__GNUC__)
#    define AVX2 __attribute__((target("avx2")))

typedef uint64_t lanes __attribute__((vector_size(32)));
typedef int64_t signed_lanes __attribute__((vector_size(32)));

/* AVX2 compares signed numbers only, so the highest bit is turned over for that. */
AVX2 static inline void four_avx2(const window *before, quartet quartet, unsigned k, int canonical,
                                  uint64_t *out)
{
    const lanes in = {2, 4, 6, 8}, rest = {6, 4, 2, 0}, top = {62, 60, 58, 56};
    const uint64_t unused = 64 - 2 * k, sign = UINT64_C(1) << 63;
    lanes word = {before->word, before->word, before->word, before->word};
    lanes turned = {before->turned, before->turned, before->turned, before->turned};
    lanes codes = {quartet.codes, quartet.codes, quartet.codes, quartet.codes};
    lanes complements = {quartet.complements, quartet.complements, quartet.complements, quartet.complements};
    word = (word << in | codes >> rest) << unused >> unused;
    turned = (turned >> in | complements << top) >> unused;
    lanes smaller = (lanes)((signed_lanes)(turned ^ sign) < (signed_lanes)(word ^ sign));
    if (canonical)
        word = (turned & smaller) | (word & ~smaller);
    memcpy(out, &word, sizeof word);
}

AVX2 static size_t stretch_avx2(const uint8_t *codes, size_t n, unsigned k, int canonical, uint64_t *out)
{
    STRETCH(four_avx2);
}
#endif

size_t kmer_extract(const uint8_t *codes, size_t n, unsigned k, int canonical, uint64_t *out)
{
    size_t (*stretch)(const uint8_t *, size_t, unsigned, int, uint64_t *) = stretch_plain;
#ifdef AVX2
    if (__builtin_cpu_supports("avx2"))
        stretch = stretch_avx2;
#endif
    size_t made = 0;
    for (const uint8_t *end = codes + n; codes < end;) {
        const uint8_t *stop = memchr(codes, COHORT_KMER_BREAK, (size_t)(end - codes));
        if (!stop)
            stop = end;
        size_t length = (size_t)(stop - codes);
        if (length >= k)
            made += stretch(codes, length, k, canonical, out + made);
        codes = stop + 1;
    }
    return made;
}

/* ---- k-mers as letters --------------------------------------------------------------------------------- */

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
