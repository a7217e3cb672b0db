/* cohort/kmer.h: k-mers, the words of k letters in sequences of DNA: as numbers, out of FASTA and FASTQ, and
 * counted.
 *
 * A k-mer is a number of 2k bits: A 0, C 1, G 2, T 3, the first letter highest, so that numbers sort as
 * words. Letters come in either case; any other byte breaks a sequence. The canonical form of a k-mer is the
 * smaller of it and its reverse complement.
 *
 *     cohort_kmers_create(context, &options, &kmers);
 *     cohort_kmers_begin(kmers, "reads.fq");                     for each file, whose bytes
 *     cohort_kmers_feed(kmers, bytes, n);                        come in pieces of any size
 *     cohort_kmers_end(kmers);
 *     cohort_map_export(cohort_kmers_map(kmers), ...);           k-mers and how often each occurs
 *
 * Text is read as it comes: any line wrapping in both formats, also of qualities, lines that end in LF, CRLF
 * or CR, blank lines, old FASTA's comments (';'). A FASTQ record must have as many quality values as letters.
 * What is neither is COHORT_CORRUPT, and the message begins with NAME:LINE. Who has compressed files inflates
 * them first.
 *
 * The work on letters is done on the host by the calling thread, 1 to 2 GB a second; counting is
 * cohort_map_apply on the context, by batches of four million k-mers. */
#ifndef COHORT_KMER_H
#define COHORT_KMER_H

#include "map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- letters as numbers: no context is needed, and any thread may call --------------------------------- */

#define COHORT_KMER_BREAK 4 /* the code of what is none of the letters */
#define COHORT_KMER_MOST  32

/* Turns letters into codes 0 to 4, in place. */
COHORT_API void cohort_kmer_encode(uint8_t *text, uint64_t n);

/* Writes the k-mers of `codes` to `out`, which has room for n, in order, and returns how many. None reaches
 * over a break. 0 if k is not 1 to 32. */
COHORT_API uint64_t cohort_kmer_extract(const uint8_t *codes, uint64_t n, uint32_t k, int canonical,
                                        uint64_t *out);

/* The k letters of `kmer` at `to`, which has room for 4 more. No end is written. */
COHORT_API void cohort_kmer_letters(char *to, uint64_t kmer, uint32_t k);

/* ---- FASTA and FASTQ as a stream ----------------------------------------------------------------------- */

/* Told of the next letters of a sequence, which hold no line ends, and when it ends; from within feed and
 * finish. */
typedef struct cohort_reads_sink {
    void (*letters)(void *user, const char *letters, size_t n);
    void (*end)(void *user);
    void *user;
} cohort_reads_sink;

#define COHORT_READS_SINK_INIT \
    {                          \
        NULL, NULL, NULL       \
    }

typedef struct cohort_reads cohort_reads;

/* A reader of one file; `name` is what messages call it, and is copied. It has no context: messages are the
 * thread's, cohort_message(NULL). */
COHORT_API cohort_status cohort_reads_create(const char *name, const cohort_reads_sink *sink,
                                             cohort_reads **out);
/* NULL is allowed. */
COHORT_API void cohort_reads_destroy(cohort_reads *reads);

/* The next n bytes of the file. After COHORT_CORRUPT the reader can only be destroyed. */
COHORT_API cohort_status cohort_reads_feed(cohort_reads *reads, const char *bytes, size_t n);

/* The file is at its end; an empty one is fine. COHORT_CORRUPT: it ends within a record. */
COHORT_API cohort_status cohort_reads_finish(cohort_reads *reads);

/* ---- counting ------------------------------------------------------------------------------------------ */

typedef struct cohort_kmers cohort_kmers;

typedef struct cohort_kmers_options {
    /* sizeof(cohort_kmers_options) */
    size_t size;
    /* 1 to 32 */
    uint32_t k;
    uint32_t canonical;
    /* Distinct k-mers that fit without growing; 0: 2^20, or all there are if that is less. */
    uint64_t capacity;
} cohort_kmers_options;

#define COHORT_KMERS_OPTIONS_INIT              \
    {                                          \
        sizeof(cohort_kmers_options), 21, 0, 0 \
    }

/* Belongs to the context, as does its map. Takes 36 MB of the host's memory, and a map of width 64/64. */
COHORT_API cohort_status cohort_kmers_create(cohort_context *context, const cohort_kmers_options *options,
                                             cohort_kmers **out);
/* With its map; NULL is allowed. */
COHORT_API void cohort_kmers_destroy(cohort_kmers *kmers);

/* A file begins, whose bytes follow. What was fed of a file that was begun and not ended is counted as far as
 * it came. */
COHORT_API cohort_status cohort_kmers_begin(cohort_kmers *kmers, const char *name);

/* Its next n bytes. After a failure the file is over, and what was counted of it stays: COHORT_CORRUPT, and
 * what cohort_map_apply answers. COHORT_RANGE: no file was begun. */
COHORT_API cohort_status cohort_kmers_feed(cohort_kmers *kmers, const char *bytes, size_t n);

/* The file is at its end. From here until the next begin the map has all that was fed. */
COHORT_API cohort_status cohort_kmers_end(cohort_kmers *kmers);

/* From k-mer to how often it came; the object's own, which lives as long: look, export, save, copy. NULL of
 * NULL. */
COHORT_API cohort_map *cohort_kmers_map(cohort_kmers *kmers);

/* K-mers counted; 0 of NULL, like the next. */
COHORT_API uint64_t cohort_kmers_total(const cohort_kmers *kmers);
/* That ended. */
COHORT_API uint64_t cohort_kmers_sequences(const cohort_kmers *kmers);

#ifdef __cplusplus
}
#endif
#endif
