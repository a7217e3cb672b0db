/* test_kmer.c: sequences, k-mers and their counts. Every text is fed in pieces of every size, which must make
 * no difference; counts are held against k-mers that are made one at a time from the letters. */
#include "test.h"

/* ---- sequences ----------------------------------------------------------------------------------------- */

typedef struct collected {
    char text[4096]; /* letters, and '|' where a sequence ends */
    size_t n;
} collected;

static void on_letters(void *user, const char *letters, size_t n)
{
    collected *all = user;
    if (all->n + n < sizeof all->text) {
        memcpy(all->text + all->n, letters, n);
        all->n += n;
    }
}

static void on_end(void *user)
{
    on_letters(user, "|", 1);
}

/* Each piece is fed from memory of just its size, so that reading past it is seen by a sanitizer. */
static cohort_status parse(struct test *t, const char *text, size_t n, size_t piece, collected *all)
{
    const cohort_reads_sink sink = {on_letters, on_end, all};
    cohort_reads *reads = NULL;
    all->n = 0;
    OK(t, cohort_reads_create("f", &sink, &reads));
    cohort_status status = COHORT_OK;
    for (size_t i = 0; i < n && !status; i += piece) {
        size_t part = n - i < piece ? n - i : piece;
        char *copy = malloc(part);
        memcpy(copy, text + i, part);
        status = cohort_reads_feed(reads, copy, part);
        free(copy);
    }
    if (!status)
        status = cohort_reads_finish(reads);
    cohort_reads_destroy(reads);
    return status;
}

static void sequences(struct test *t)
{
    static const struct {
        const char *text, *letters;
    } cases[] = {
        {"", ""},
        {"\n\r\n  \n", ""},
        {">a\nACGT\n", "ACGT|"},
        {">a\nACGT", "ACGT|"},
        {">a\r\nAC\r\n\r\nGT\r\n", "ACGT|"},
        {">a", "|"},
        {">a\n>b\n", "||"},
        {"\n\n>a >x @y\nAC\nGT\n>b\nnN\n\nTT\n", "ACGT|nNTT|"},
        {">a\nA\rC\n", "AC|"},
        {">a\nAC\r\r\n", "AC|"},
        {">a\rAC\rGT\r>b\rT\r", "ACGT|T|"},
        {">a\rAC\r\rGT", "ACGT|"},
        {"\r\r>a\rAC\r", "AC|"},
        {"@a\rAC\rGT\r+\rII\rII\r@b\rA\r+\r@\r", "ACGT|A|"},
        {"@a\rAC\r+\r@\r\r+", "AC|"},
        {">a\rAC\n>b\r\nGT\r", "AC|GT|"},
        {">a\n;ACGT\nAC\n;\n; GGG\r\nGT\n", "ACGT|"},
        {">a\nA@C+G;\n", "A@C+G;|"},
        {"@a\nACGT\n+\nIIII\n", "ACGT|"},
        {"@a\nACGT\n+a\nIIII", "ACGT|"},
        {"@a\r\nACGT\r\n+\r\nIIII\r\n", "ACGT|"},
        {"@a\r\nACGT\r\n+\r\nIIII\r", "ACGT|"},
        {"@a\nAC\nGT\n+\n@I\n+I\n@b\nTT\n+\n@@\n", "ACGT|TT|"},
        {"@a\nACGT\n+\n>+\n\n@I\n\n\n@b\nT\n+\n+\n", "ACGT|T|"},
        {"@a\n\n+\n\n@b\nA\n+\nI\n", "|A|"},
        {"@a\n+\n@b\n+\n", "||"},
    };
    static collected all;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = strlen(cases[i].text);
        int good = 1;
        for (size_t piece = 1; piece <= n + 1; piece++) {
            good &= !parse(t, cases[i].text, n, piece, &all);
            good &= all.n == strlen(cases[i].letters) && !memcmp(all.text, cases[i].letters, all.n);
        }
        CHECKF(t, good, "sequence %s", cases[i].text);
    }
}

static void faults(struct test *t)
{
    static const struct {
        const char *text, *message; /* how the message begins */
    } cases[] = {
        {"ACGT\n", "f:1: neither FASTA nor FASTQ"},
        {"\n\n x\n", "f:3: neither"},
        {"\x1f\x8b\x08", "f:1: neither"},
        {"@a", "f:1: the file ends in the FASTQ record of line 1"},
        {"@a\nACGT\n", "f:3: the file ends in the FASTQ record of line 1: its quality is missing"},
        {"@a\nACGT\n+\n", "f:4: the file ends in the FASTQ record of line 1: its quality is missing"},
        {"@a\nACGT\n+\nIII\n", "f:5: the FASTQ record of line 1 has 4 letters but 3 quality values"},
        {"@a\nACGT\n+\nIIIII\n", "f:4: the FASTQ record of line 1 has 4 letters but 5 quality values"},
        {"@a\nACGT\n+\nIII\n@bc\nACGT\n+\nIIII\n",
         "f:5: the FASTQ record of line 1 has 4 letters but 6 quality"},
        {"@a\nACGT\n@b\nACGT\n+\nIIII\n",
         "f:3: the FASTQ record of line 1 has no quality: '+' expected, '@' found"},
        {"@a\nA\n+\nI\n>b\nA\n", "f:5: '@' expected after the FASTQ record of line 1, '>' found"},
        {"\r\n\r\nx", "f:3: neither"},
        {"@a\rA\r\n+\n\rI\r>b\n", "f:6: '@' expected after the FASTQ record of line 1, '>' found"},
        {">a\nTTTT\n@r\nACGT\n+\nAAAA\n", "f:3: '@' begins a line in the FASTA record of line 1"},
        {">a\r>b\r@r\rACGT\r+\rAAAA\r", "f:3: '@' begins a line in the FASTA record of line 2"},
        {">a\nACGT\n+\nAAAA\n", "f:3: '+' begins a line in the FASTA record of line 1"},
        {";a\nACGT\n", "f:1: neither FASTA nor FASTQ"},
        {"@a\nA\n+\nI\n\n  \x01", "f:6: '@' expected after the FASTQ record of line 1, 0x01 found"},
    };
    static collected all;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = strlen(cases[i].text);
        int good = 1;
        /* A quality that is too long is told where that is seen, which depends on the pieces only within the
         * line. */
        for (size_t piece = n; piece <= n + 1; piece++) {
            good &= parse(t, cases[i].text, n, piece, &all) == COHORT_CORRUPT;
            good &= !strncmp(cohort_message(NULL), cases[i].message, strlen(cases[i].message));
        }
        size_t told = strstr(cases[i].message, "letters but") ? 2 : strlen(cases[i].message);
        for (size_t piece = 1; piece < n; piece++)
            good &= parse(t, cases[i].text, n, piece, &all) == COHORT_CORRUPT &&
                    !strncmp(cohort_message(NULL), cases[i].message, told);
        CHECKF(t, good, "%s: said %s", cases[i].message, cohort_message(NULL));
    }
}

/* ---- k-mers -------------------------------------------------------------------------------------------- */

static uint64_t word_of(const char *text, unsigned k, int reverse)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < k; i++) {
        const char *found = strchr("ACGT", reverse ? text[k - 1 - i] : text[i]);
        uint64_t code = (uint64_t)(found - "ACGT");
        word = word * 4 + (reverse ? 3 - code : code);
    }
    return word;
}

static void kmers(struct test *t)
{
    enum { N = 3000 };
    static char text[N + 1], upper[N + 1];
    static uint64_t out[N];
    unsigned state = 1;
    for (size_t i = 0; i < N; i++) {
        state = state * 1103515245 + 12345;
        text[i] = state >> 16 & 63 ? "ACGTacgt"[state >> 24 & 7] : "Nn\n\r-U@\xc1"[state >> 24 & 7];
        upper[i] = text[i] >= 'a' ? (char)(text[i] - 32) : text[i];
    }
    for (unsigned k = 1; k <= COHORT_KMER_MOST; k++) {
        for (int canonical = 0; canonical < 2; canonical++) {
            static uint8_t codes[N];
            size_t made = 0;
            memcpy(codes, text, N);
            cohort_kmer_encode(codes, N);
            size_t n = cohort_kmer_extract(codes, N, k, canonical, out);
            int good = 1;
            for (size_t i = 0; i + k <= N; i++) {
                if (strspn(upper + i, "ACGT") < k)
                    continue;
                uint64_t word = word_of(upper + i, k, 0), turned = word_of(upper + i, k, 1);
                char letters[COHORT_KMER_MOST + 4];
                cohort_kmer_letters(letters, word, k);
                good &= made < n && out[made] == (canonical && turned < word ? turned : word);
                good &= !memcmp(letters, upper + i, k);
                made++;
            }
            CHECKF(t, good && made == n, "k %u%s", k, canonical ? ", canonical" : "");
        }
    }
    uint8_t every[256];
    int good = 1;
    for (unsigned i = 0; i < 256; i++)
        every[i] = (uint8_t)i;
    cohort_kmer_encode(every, 256);
    for (unsigned i = 0; i < 256; i++) {
        const char *found = i ? strchr("ACGTacgt", (int)i) : NULL;
        good &= every[i] == (found ? (found - "ACGTacgt") % 4 : COHORT_KMER_BREAK);
    }
    CHECKF(t, good, "the codes of all bytes");
    EQUAL(t, cohort_kmer_extract(every, 256, 0, 0, out), 0);
    EQUAL(t, cohort_kmer_extract(every, 256, 33, 0, out), 0);
}

/* ---- counting ------------------------------------------------------------------------------------------ */

/* Lines of letters with breaks in them; where a sequence ends is a '>' line. */
static size_t some_text(struct test *t, char *text, size_t n)
{
    size_t at = 0;
    for (unsigned line = 0; at + 100 < n; line++) {
        if (line % 7 == 0)
            at += (size_t)sprintf(text + at, ">read %u\n", line);
        for (uint64_t i = test_below(t, 60); i; i--)
            text[at++] = test_below(t, 50) ? "ACGTacgt"[test_below(t, 8)] : 'N';
        text[at++] = '\n';
    }
    return at;
}

static int word_order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* All k-mers of a text as some_text makes it, in order. */
static size_t foresee(const char *text, size_t n, unsigned k, int canonical, uint64_t *words)
{
    size_t count = 0, in_run = 0;
    uint64_t word = 0, turned = 0, mask = k == 32 ? UINT64_MAX : (UINT64_C(1) << 2 * k) - 1;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '>')
            while (text[i] != '\n')
                in_run = 0, i++;
        if (text[i] == '\n')
            continue;
        const char *found = strchr("ACGTacgt", text[i]);
        uint64_t code = found ? (uint64_t)(found - "ACGTacgt") % 4 : 0;
        in_run = found ? in_run + 1 : 0;
        word = (word << 2 | code) & mask;
        turned = turned >> 2 | (3 - code) << (2 * k - 2);
        if (in_run >= k)
            words[count++] = canonical && turned < word ? turned : word;
    }
    qsort(words, count, sizeof *words, word_order);
    return count;
}

static void check_counts(struct test *t, cohort_kmers *counter, const uint64_t *words, size_t n)
{
    uint64_t size = 0;
    OK(t, cohort_map_size(cohort_kmers_map(counter), &size));
    uint64_t *key = malloc((size + 1) * 8), *count = malloc((size + 1) * 8);
    OK(t, cohort_map_export(cohort_kmers_map(counter), size, key, count, &size));
    uint64_t distinct = 0;
    for (size_t i = 0; i < n; i++)
        distinct += !i || words[i] != words[i - 1];
    EQUAL(t, size, distinct);
    EQUAL(t, cohort_kmers_total(counter), n);
    for (uint64_t i = 0; i < size; i++) {
        const uint64_t *at = bsearch(&key[i], words, n, sizeof *words, word_order);
        REQUIREF(t, at, "k-mer %llx is none", (unsigned long long)key[i]);
        size_t first = (size_t)(at - words), last = first;
        while (first && words[first - 1] == key[i])
            first--;
        while (last < n && words[last] == key[i])
            last++;
        REQUIREF(t, count[i] == last - first, "%llx occurs %llu times, not %zu", (unsigned long long)key[i],
                 (unsigned long long)count[i], last - first);
    }
    free(key);
    free(count);
}

static void count_do(struct test *t, const char *text, size_t n, unsigned k, int canonical, size_t piece)
{
    cohort_kmers_options o = COHORT_KMERS_OPTIONS_INIT;
    o.k = k;
    o.canonical = (uint32_t)canonical;
    cohort_kmers *counter = NULL;
    OK(t, cohort_kmers_create(t->context, &o, &counter));
    uint64_t *words = malloc((2 * n + 1) * sizeof *words), files = 1 + test_below(t, 2);
    size_t due = 0;
    for (uint64_t f = 0; f < files; f++) {
        OK(t, cohort_kmers_begin(counter, "text"));
        for (size_t i = 0; i < n; i += piece)
            OK(t, cohort_kmers_feed(counter, text + i, n - i < piece ? n - i : piece));
        OK(t, cohort_kmers_end(counter));
        due += foresee(text, n, k, canonical, words + due);
    }
    qsort(words, due, sizeof *words, word_order);
    check_counts(t, counter, words, due);
    free(words);
    cohort_kmers_destroy(counter);
}

static void counts(struct test *t)
{
    size_t n = test_size(t, 20000, 1500);
    char *text = malloc(n);
    n = some_text(t, text, n);
    for (unsigned k = 1; k <= COHORT_KMER_MOST; k += t->quick ? 5 : 1)
        for (int canonical = 0; canonical < 2; canonical++)
            if (test_drawn(t, k / 5 + (unsigned)canonical, test_size(t, 1, 4)))
                count_do(t, text, n, k, canonical, 1 + test_below(t, n));
    count_do(t, text, n, 7, 1, 1);
    count_do(t, ">a\n", 3, 3, 1, 2);
    free(text);
}

/* Sequences that go over the ends of the counter's texts. */
static void long_sequences(struct test *t)
{
    size_t n = (size_t)9 << 20, at = 0;
    char *text = malloc(n + 20);
    at += (size_t)sprintf(text, ">long\n");
    for (uint64_t bits = 0; at < n; bits >>= 2) {
        if (at % 32 == 0)
            bits = test_random(t) & 0x3333333333333333;
        text[at++] = "ACGT"[bits & 3];
    }
    if (test_drawn(t, 0, 2))
        count_do(t, text, n, 6, 0, (size_t)1 << 20);
    if (test_drawn(t, 1, 2))
        count_do(t, text, n, 9, 1, n);
    free(text);
}

static void arguments(struct test *t)
{
    cohort_kmers_options o = COHORT_KMERS_OPTIONS_INIT;
    cohort_kmers *counter = NULL;
    const cohort_reads_sink sink = {on_letters, on_end, NULL}, none = {on_letters, NULL, NULL};
    cohort_reads *reads = NULL;
    FAILS(t, NULL, cohort_reads_create(NULL, &sink, &reads), COHORT_NULL, "name", NULL);
    FAILS(t, NULL, cohort_reads_create("a", &none, &reads), COHORT_NULL, "sink", NULL);
    FAILS(t, NULL, cohort_reads_create("a", &sink, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, NULL, cohort_reads_feed(NULL, "a", 1), COHORT_NULL, "reads", NULL);
    FAILS(t, NULL, cohort_reads_finish(NULL), COHORT_NULL, "reads", NULL);
    FAILS(t, NULL, cohort_kmers_create(NULL, &o, &counter), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_kmers_create(t->context, NULL, &counter), COHORT_NULL, "options", NULL);
    FAILS(t, t->context, cohort_kmers_create(t->context, &o, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, NULL, cohort_kmers_begin(NULL, "a"), COHORT_NULL, "kmers", NULL);
    o.k = 33;
    FAILS(t, t->context, cohort_kmers_create(t->context, &o, &counter), COHORT_RANGE, "options.k", "33");
    o.k = 0;
    FAILS(t, t->context, cohort_kmers_create(t->context, &o, &counter), COHORT_RANGE, "options.k", "0");
    o.k = 5;
    o.canonical = 2;
    FAILS(t, t->context, cohort_kmers_create(t->context, &o, &counter), COHORT_RANGE, "canonical", "2");
    o.canonical = 0;
    CHECK(t,
          !counter && !cohort_kmers_map(NULL) && !cohort_kmers_total(NULL) && !cohort_kmers_sequences(NULL));
    OK(t, cohort_kmers_create(t->context, &o, &counter));
    FAILS(t, t->context, cohort_kmers_feed(counter, "a", 1), COHORT_RANGE, "no file", NULL);
    FAILS(t, t->context, cohort_kmers_end(counter), COHORT_RANGE, "no file", NULL);
    FAILS(t, t->context, cohort_kmers_begin(counter, NULL), COHORT_NULL, "name", NULL);
    OK(t, cohort_kmers_begin(counter, "f"));
    FAILS(t, t->context, cohort_kmers_feed(counter, NULL, 1), COHORT_NULL, "bytes", NULL);
    FAILS(t, t->context, cohort_kmers_feed(counter, "x", 1), COHORT_CORRUPT, "f:1: neither", NULL);
    FAILS(t, t->context, cohort_kmers_feed(counter, "x", 1), COHORT_RANGE, "no file", NULL);
    OK(t, cohort_kmers_begin(counter, "g"));
    OK(t, cohort_kmers_feed(counter, "@a\nACGTA\n", 9));
    FAILS(t, t->context, cohort_kmers_end(counter), COHORT_CORRUPT, "g:3: the file ends", NULL);
    EQUAL(t, cohort_kmers_total(counter), 0);
    OK(t, cohort_kmers_begin(counter, "h"));
    OK(t, cohort_kmers_feed(counter, ">a\nACGTA\n", 9));
    OK(t, cohort_kmers_begin(counter, "i")); /* what was not ended is counted */
    OK(t, cohort_kmers_end(counter));
    EQUAL(t, cohort_kmers_total(counter), 1);
    cohort_kmers_destroy(counter);
    cohort_kmers_destroy(NULL);
    cohort_reads_destroy(NULL);
}

const struct test_case test_cases[] = {
    {"sequences", sequences, TEST_ON_CPU | TEST_NO_CONTEXT},
    {"faults", faults, TEST_ON_CPU | TEST_NO_CONTEXT},
    {"letters", kmers, TEST_ON_CPU | TEST_NO_CONTEXT},
    {"counts", counts, 0},
    {"long sequences", long_sequences, TEST_ON_CPU},
    {"arguments", arguments, 0},
    {NULL, NULL, 0},
};
