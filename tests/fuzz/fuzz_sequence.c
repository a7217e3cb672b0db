/* Fuzzer of the FASTA and FASTQ reader and of what makes k-mers from its letters.
 *
 * The input is a byte that says how (K, canonical), one that says in pieces of what size the text is fed, and
 * the text. The text is parsed twice, in such pieces and whole: both must give the same letters, or both a
 * fault. The letters are then cut into k-mers, and these are held against k-mers made one at a time. */
#include <stdlib.h>
#include <string.h>

#include <cohort.h>

typedef struct letters {
    uint8_t *text;
    size_t n, room;
} letters;

static void on_letters(void *user, const char *text, size_t n)
{
    letters *all = user;
    if (all->n + n > all->room)
        abort(); /* more letters than bytes */
    memcpy(all->text + all->n, text, n);
    all->n += n;
}

static void on_end(void *user)
{
    on_letters(user, "\n", 1);
}

static cohort_status parse(const uint8_t *text, size_t n, size_t piece, letters *all)
{
    const cohort_reads_sink sink = {on_letters, on_end, all};
    cohort_reads *reads;
    all->n = 0;
    if (cohort_reads_create("fuzz", &sink, &reads))
        abort();
    cohort_status status = COHORT_OK;
    for (size_t i = 0; i < n && !status; i += piece)
        status = cohort_reads_feed(reads, (const char *)text + i, n - i < piece ? n - i : piece);
    if (!status)
        status = cohort_reads_finish(reads);
    cohort_reads_destroy(reads);
    return status;
}

/* The k-mer that begins at `codes`, or 0 in *good if a break is in it. */
static uint64_t kmer_at(const uint8_t *codes, unsigned k, int canonical, int *good)
{
    uint64_t word = 0, turned = 0;
    *good = 1;
    for (unsigned i = 0; i < k; i++) {
        if (codes[i] >= COHORT_KMER_BREAK)
            *good = 0;
        word = word << 2 | codes[i];
        turned |= (uint64_t)(3 - (codes[i] & 3)) << 2 * i;
    }
    return canonical && turned < word ? turned : word;
}

static void check_kmers(letters *all, unsigned k, int canonical)
{
    uint64_t *kmers = malloc((all->n + 1) * sizeof *kmers);
    if (!kmers)
        return;
    cohort_kmer_encode(all->text, all->n);
    size_t n = cohort_kmer_extract(all->text, all->n, k, canonical, kmers), at = 0;
    for (size_t i = 0; i + k <= all->n; i++) {
        int good;
        uint64_t kmer = kmer_at(all->text + i, k, canonical, &good);
        if (!good)
            continue;
        char word[COHORT_KMER_MOST + 4];
        if (at >= n || kmers[at++] != kmer)
            abort();
        cohort_kmer_letters(word, kmer, k);
        if (strspn(word, "ACGT") < k)
            abort();
    }
    if (at != n)
        abort();
    free(kmers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    unsigned k = 1 + data[0] % COHORT_KMER_MOST;
    size_t piece = 1 + data[1] % 40;
    int canonical = data[0] >> 7;
    data += 2;
    n -= 2;
    /* Each end takes the place of a header's first byte or of a plus, but for one at the end of the file. */
    letters pieces = {malloc(n + 1), 0, n + 1}, whole = {malloc(n + 1), 0, n + 1};
    if (pieces.text && whole.text) {
        cohort_status status = parse(data, n, piece, &pieces);
        cohort_status again = parse(data, n, n + 1, &whole);
        if (status != again)
            abort();
        if (status == COHORT_OK) {
            if (pieces.n != whole.n || memcmp(pieces.text, whole.text, whole.n))
                abort();
            check_kmers(&whole, k, canonical);
        } else if (strncmp(cohort_message(NULL), "fuzz:", 5)) {
            abort();
        }
    }
    free(pieces.text);
    free(whole.text);
    return 0;
}
