/* From files to batches of keys, beside the thread that counts them.
 *
 * One thread reads, inflates and parses; further ones turn the letters into k-mers; the caller takes full
 * batches and gives them back empty. Batches come in no order, and a handful of them bounds the memory
 * whatever the files' size. */
#ifndef COHORT_CLI_PIPELINE_H
#define COHORT_CLI_PIPELINE_H

#include "cli.h"

#define PIPELINE_LEAST ((size_t)1 << 18)

typedef enum key_kind { KEYS_KMERS, KEYS_U32, KEYS_U64 } key_kind;

typedef struct pipeline_options {
    key_kind kind;
    unsigned k;
    int canonical;
    char *const *files;
    size_t files_n;
    unsigned extractors; /* threads that make k-mers, at least 1 */
    size_t batch_keys;   /* of a full batch, at least PIPELINE_LEAST */
} pipeline_options;

typedef struct batch {
    uint64_t *keys;
    size_t n;
    struct batch *next; /* what follows is the pipeline's */
    uint8_t *text;
    size_t text_n;
} batch;

typedef enum pipeline_state { PIPELINE_BATCH, PIPELINE_WAIT, PIPELINE_END, PIPELINE_FAULT } pipeline_state;

typedef struct pipeline pipeline;

int pipeline_start(pipeline **out, const pipeline_options *options, fault *fault);

/* BATCH: *out is the caller's until pipeline_give_back. WAIT: none came within a tenth of a second. END: that
 * was all. FAULT: `fault` is what the readers met. */
pipeline_state pipeline_next(pipeline *pipeline, batch **out, fault *fault);
void pipeline_give_back(pipeline *pipeline, batch *batch);

typedef struct pipeline_stats {
    uint64_t bytes; /* read from the files so far */
    uint64_t sequences;
    double read_seconds; /* reading and inflating */
    double parse_seconds;
    double extract_seconds; /* of all extracting threads together */
} pipeline_stats;

void pipeline_get_stats(pipeline *pipeline, pipeline_stats *stats);

/* Ends the threads, wherever they are, and frees all. NULL is allowed. */
void pipeline_stop(pipeline *pipeline);

#endif
