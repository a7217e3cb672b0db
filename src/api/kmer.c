/* kmer.c: k-mers, FASTA and FASTQ, and counting.
 *
 * The counter appends the letters of all sequences to a text, with a newline where one ends. A full text
 * becomes codes, the codes k-mers, and these a batch of the map's; the next text begins with the last k - 1
 * letters of it, so that no k-mer is lost or counted twice. */
#include "io/kmer.h"

#include <stdlib.h>
#include <string.h>

#include "api/options.h"
#include "io/reads.h"

#define TEXT_BYTES ((size_t)1 << 22)
#define CAPACITY   ((uint64_t)1 << 20)

void cohort_kmer_encode(uint8_t *text, uint64_t n)
{
    kmer_encode(text, (size_t)n);
}

uint64_t cohort_kmer_extract(const uint8_t *codes, uint64_t n, uint32_t k, int canonical, uint64_t *out)
{
    return k >= 1 && k <= COHORT_KMER_MOST ? kmer_extract(codes, (size_t)n, k, canonical, out) : 0;
}

void cohort_kmer_letters(char *to, uint64_t kmer, uint32_t k)
{
    if (k >= 1 && k <= COHORT_KMER_MOST)
        kmer_letters(to, kmer, k);
}

/* ---- a stream of letters ------------------------------------------------------------------------------- */

cohort_status cohort_reads_create(const char *name, const cohort_reads_sink *sink, cohort_reads **out)
{
    if (!out)
        return context_fail(NULL, COHORT_NULL, "cohort_reads_create: out is NULL");
    *out = NULL;
    if (!name || !sink || !sink->letters || !sink->end)
        return context_fail(NULL, COHORT_NULL, "cohort_reads_create: %s is NULL",
                            !name ? "name" : "sink, or a function of it,");
    cohort_reads *reads = malloc(sizeof *reads);
    if (!reads)
        return context_fail(NULL, COHORT_NO_MEMORY, "no memory for a reader of sequences");
    reads_begin(reads, NULL, name, *sink);
    *out = reads;
    return COHORT_OK;
}

void cohort_reads_destroy(cohort_reads *reads)
{
    free(reads);
}

cohort_status cohort_reads_feed(cohort_reads *reads, const char *bytes, size_t n)
{
    if (!reads || (!bytes && n))
        return context_fail(NULL, COHORT_NULL, "cohort_reads_feed: %s is NULL", reads ? "bytes" : "reads");
    return reads_feed(reads, bytes, n);
}

cohort_status cohort_reads_finish(cohort_reads *reads)
{
    if (!reads)
        return context_fail(NULL, COHORT_NULL, "cohort_reads_finish: reads is NULL");
    return reads_finish(reads);
}

/* ---- the counter --------------------------------------------------------------------------------------- */

struct cohort_kmers {
    cohort_context *context;
    cohort_kmers_options options;
    cohort_map *map;
    uint8_t *text;
    uint64_t *words;
    size_t filled;
    int open;             /* a file was begun */
    cohort_status status; /* of this file's counting */
    uint64_t total, sequences;
    cohort_reads reads;
};

/* Counts what the text has; `more`: its last letters begin the next one. */
static void flush(cohort_kmers *kmers, int more)
{
    uint8_t overlap[COHORT_KMER_MOST];
    uint32_t k = kmers->options.k;
    size_t kept = more ? k - 1 : 0;
    kept = kept < kmers->filled ? kept : kmers->filled;
    memcpy(overlap, kmers->text + kmers->filled - kept, kept);
    kmer_encode(kmers->text, kmers->filled);
    size_t n = kmer_extract(kmers->text, kmers->filled, k, (int)kmers->options.canonical, kmers->words);
    if (!kmers->status && n)
        kmers->status = cohort_map_apply(kmers->map, COHORT_OP_COUNT, n, kmers->words, NULL, NULL);
    if (!kmers->status)
        kmers->total += n;
    memcpy(kmers->text, overlap, kept);
    kmers->filled = kept;
}

static void on_letters(void *user, const char *letters, size_t n)
{
    cohort_kmers *kmers = user;
    while (n) {
        size_t part = TEXT_BYTES - kmers->filled;
        part = n < part ? n : part;
        memcpy(kmers->text + kmers->filled, letters, part);
        kmers->filled += part;
        letters += part;
        n -= part;
        if (kmers->filled == TEXT_BYTES)
            flush(kmers, 1);
    }
}

static void on_end(void *user)
{
    cohort_kmers *kmers = user;
    on_letters(user, "\n", 1);
    kmers->sequences++;
}

static cohort_status make(cohort_kmers *kmers)
{
    cohort_map_options map = COHORT_MAP_OPTIONS_INIT;
    uint32_t k = kmers->options.k;
    uint64_t all = k < 10 ? UINT64_C(1) << 2 * k : CAPACITY;
    map.width = COHORT_WIDTH_64_64;
    map.capacity = kmers->options.capacity ? kmers->options.capacity : all;
    kmers->text = malloc(TEXT_BYTES);
    kmers->words = malloc(TEXT_BYTES * sizeof *kmers->words);
    if (!kmers->text || !kmers->words)
        return context_fail(kmers->context, COHORT_NO_MEMORY, "no memory for a batch of k-mers");
    return cohort_map_create(kmers->context, &map, &kmers->map);
}

static void end(cohort_kmers *kmers)
{
    cohort_map_destroy(kmers->map);
    free(kmers->words);
    free(kmers->text);
    free(kmers);
}

cohort_status cohort_kmers_create(cohort_context *context, const cohort_kmers_options *options,
                                  cohort_kmers **out)
{
    CALL(context);
    cohort_kmers_options o;
    if (out)
        *out = NULL;
    if (!context || !out)
        return context_fail(context, COHORT_NULL, "cohort_kmers_create: %s is NULL",
                            context ? "out" : "context");
    cohort_status status =
        options_check(context, "options", options, options ? options->size : 0, sizeof o, sizeof o, &o);
    if (status)
        return status;
    if (o.k < 1 || o.k > COHORT_KMER_MOST || o.canonical > 1)
        return context_fail(context, COHORT_RANGE,
                            "options.k is %u and options.canonical %u; they must be 1 to %d, and 0 or 1", o.k,
                            o.canonical, COHORT_KMER_MOST);
    cohort_kmers *kmers = calloc(1, sizeof *kmers);
    if (!kmers)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a counter of k-mers");
    kmers->context = context;
    kmers->options = o;
    status = make(kmers);
    if (status)
        end(kmers);
    else
        *out = kmers;
    return status;
}

void cohort_kmers_destroy(cohort_kmers *kmers)
{
    if (!kmers)
        return;
    CALL_TO_END(kmers->context);
    end(kmers);
}

/* The file ends here, or stops. */
static cohort_status close(cohort_kmers *kmers, cohort_status status)
{
    if (kmers->open && !status)
        flush(kmers, 0);
    kmers->open = 0;
    kmers->filled = 0;
    return status ? status : kmers->status;
}

static cohort_status need(cohort_kmers *kmers, const char *call, const char *name, const void *argument)
{
    if (kmers && argument)
        return COHORT_OK;
    return context_fail(kmers ? kmers->context : NULL, COHORT_NULL, "%s: %s is NULL", call,
                        kmers ? name : "kmers");
}

cohort_status cohort_kmers_begin(cohort_kmers *kmers, const char *name)
{
    CALL_ON(kmers);
    cohort_status status = need(kmers, "cohort_kmers_begin", "name", name);
    if (!status)
        status = close(kmers, COHORT_OK);
    if (status)
        return status;
    reads_begin(&kmers->reads, kmers->context, name, (cohort_reads_sink){on_letters, on_end, kmers});
    kmers->open = 1;
    kmers->status = COHORT_OK;
    return COHORT_OK;
}

cohort_status cohort_kmers_feed(cohort_kmers *kmers, const char *bytes, size_t n)
{
    CALL_ON(kmers);
    cohort_status status = need(kmers, "cohort_kmers_feed", "bytes", n ? bytes : "");
    if (status)
        return status;
    if (!kmers->open)
        return context_fail(kmers->context, COHORT_RANGE, "cohort_kmers_feed: no file was begun");
    status = reads_feed(&kmers->reads, bytes, n);
    if (!status)
        status = kmers->status;
    return status ? close(kmers, status) : COHORT_OK;
}

cohort_status cohort_kmers_end(cohort_kmers *kmers)
{
    CALL_ON(kmers);
    cohort_status status = need(kmers, "cohort_kmers_end", "", "");
    if (status)
        return status;
    if (!kmers->open)
        return context_fail(kmers->context, COHORT_RANGE, "cohort_kmers_end: no file was begun");
    return close(kmers, reads_finish(&kmers->reads));
}

cohort_map *cohort_kmers_map(cohort_kmers *kmers)
{
    return kmers ? kmers->map : NULL;
}

uint64_t cohort_kmers_total(const cohort_kmers *kmers)
{
    return kmers ? kmers->total : 0;
}

uint64_t cohort_kmers_sequences(const cohort_kmers *kmers)
{
    return kmers ? kmers->sequences : 0;
}
