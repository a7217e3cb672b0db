/* A batch goes round: free -> (reader) -> text -> (extractor) -> full -> (caller) -> free. Each of the three
 * states is a stack under one mutex; a batch is megabytes of work, so nobody contends for it.
 *
 * The reader appends the letters of all sequences to a batch's text, with a newline where one ends. A
 * sequence that goes on in the next batch has its last k - 1 letters repeated there, so that each batch
 * stands for itself and no k-mer is lost or counted twice. The first batches are small, so that short files
 * too keep all threads busy. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "input.h"
#include "pipeline.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "integers are read in place, which needs a little-endian machine"
#endif

#define READ_BYTES     ((size_t)256 << 10)
#define EXTRACTORS_MAX 16

typedef struct stack {
    batch *top;
} stack;

struct pipeline {
    pipeline_options options;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    stack free, text, full;
    batch *batches;
    size_t batches_n;
    unsigned extracting; /* extractors that hold a batch */
    int read_all;        /* the reader has handed on everything */
    int stop;
    fault fault;
    pipeline_stats stats;

    pthread_t reader, extractors[EXTRACTORS_MAX];
    unsigned threads; /* extractors that were started, and then the reader */
    int reader_started;

    /* The reader's own. */
    batch *filling;
    size_t limit; /* keys that go into `filling` */
    uint64_t sequences;
    double waited;
    char *piece;
};

/* ---- stacks -------------------------------------------------------------------------------------------- */

static void put(pipeline *pipeline, stack *stack, batch *batch)
{
    pthread_mutex_lock(&pipeline->mutex);
    batch->next = stack->top;
    stack->top = batch;
    pthread_cond_broadcast(&pipeline->changed);
    pthread_mutex_unlock(&pipeline->mutex);
}

/* With the mutex held. */
static batch *take(stack *stack)
{
    batch *batch = stack->top;
    if (batch)
        stack->top = batch->next;
    return batch;
}

/* ---- the reader ---------------------------------------------------------------------------------------- */

/* NULL if the pipeline is to stop. */
static batch *free_batch(pipeline *pipeline)
{
    double before = seconds_now();
    batch *batch = NULL;
    pthread_mutex_lock(&pipeline->mutex);
    while (!pipeline->stop && !(batch = take(&pipeline->free)))
        pthread_cond_wait(&pipeline->changed, &pipeline->mutex);
    pthread_mutex_unlock(&pipeline->mutex);
    pipeline->waited += seconds_now() - before;
    if (batch)
        batch->n = batch->text_n = 0;
    return batch;
}

/* Hands on what was filled and takes an empty batch, larger than the last. */
static int next_batch(pipeline *pipeline, stack *to)
{
    const size_t most = pipeline->options.batch_keys;
    if (pipeline->filling) {
        put(pipeline, to, pipeline->filling);
        pipeline->limit = pipeline->limit * 2 < most ? pipeline->limit * 2 : most;
    }
    pipeline->filling = free_batch(pipeline);
    return pipeline->filling != NULL;
}

/* Like next_batch, and begins the new text with the last k - 1 bytes of the old. */
static int next_text(pipeline *pipeline)
{
    uint8_t overlap[COHORT_KMER_MOST];
    size_t n = 0;
    batch *old = pipeline->filling;
    if (old) {
        n = pipeline->options.k - 1;
        n = n < old->text_n ? n : old->text_n;
        memcpy(overlap, old->text + old->text_n - n, n);
    }
    if (!next_batch(pipeline, &pipeline->text))
        return 0;
    memcpy(pipeline->filling->text, overlap, n);
    pipeline->filling->text_n = n;
    return 1;
}

/* Once the pipeline stops there is no batch to fill, and letters are dropped. */
static void on_letters(void *user, const char *letters, size_t n)
{
    pipeline *pipeline = user;
    while (n) {
        batch *batch = pipeline->filling;
        if (!batch || batch->text_n >= pipeline->limit) {
            if (!next_text(pipeline))
                return;
            continue;
        }
        size_t part = pipeline->limit - batch->text_n;
        part = n < part ? n : part;
        memcpy(batch->text + batch->text_n, letters, part);
        batch->text_n += part;
        letters += part;
        n -= part;
    }
}

static void on_end(void *user)
{
    pipeline *pipeline = user;
    on_letters(user, "\n", 1);
    pipeline->sequences++;
}

/* After each piece of a file: tells how far it is, and asks whether to go on. */
static int report(pipeline *pipeline, uint64_t bytes, double read, double parsed)
{
    pthread_mutex_lock(&pipeline->mutex);
    pipeline->stats.bytes += bytes;
    pipeline->stats.sequences = pipeline->sequences;
    pipeline->stats.read_seconds += read;
    pipeline->stats.parse_seconds += parsed - pipeline->waited;
    int stop = pipeline->stop;
    pthread_mutex_unlock(&pipeline->mutex);
    pipeline->waited = 0;
    return !stop;
}

/* What the reader of sequences says. */
static int fault_reads(cohort_status status, fault *fault)
{
    return status ? fault_set(fault, status == COHORT_CORRUPT ? CLI_BAD_INPUT : CLI_FAILED, "%s",
                              cohort_message(NULL))
                  : CLI_OK;
}

/* All of a file but its end; *go: it is to be read to its end. */
static int feed_sequences(pipeline *pipeline, input *input, cohort_reads *reads, int *go, fault *fault)
{
    uint64_t before = 0;
    for (;;) {
        size_t n;
        double start = seconds_now();
        if (input_read(input, pipeline->piece, READ_BYTES, &n, fault))
            return fault->status;
        double read = seconds_now();
        if (!n)
            return CLI_OK;
        if (fault_reads(cohort_reads_feed(reads, pipeline->piece, n), fault))
            return fault->status;
        uint64_t consumed = input_consumed(input);
        *go = report(pipeline, consumed - before, read - start, seconds_now() - read);
        if (!*go)
            return CLI_OK;
        before = consumed;
    }
}

static int read_sequences(pipeline *pipeline, input *input, fault *fault)
{
    const cohort_reads_sink sink = {on_letters, on_end, pipeline};
    cohort_reads *reads;
    int go = 1;
    if (fault_reads(cohort_reads_create(input_name(input), &sink, &reads), fault))
        return fault->status;
    int status = feed_sequences(pipeline, input, reads, &go, fault);
    if (!status && go)
        status = fault_reads(cohort_reads_finish(reads), fault);
    cohort_reads_destroy(reads);
    return status;
}

/* Integers of 8 bytes are read into their place, those of 4 bytes as text that an extractor widens. A batch
 * is handed on when it is full to the last byte, so a number never lies across two. */
static int read_numbers(pipeline *pipeline, input *input, fault *fault)
{
    int narrow = pipeline->options.kind == KEYS_U32;
    size_t width = narrow ? 4 : 8;
    uint64_t total = 0;
    for (;;) {
        batch *batch = pipeline->filling;
        if (!batch || batch->text_n == pipeline->limit * width) {
            if (!next_batch(pipeline, narrow ? &pipeline->text : &pipeline->full))
                return CLI_OK;
            batch = pipeline->filling;
        }
        size_t n;
        uint8_t *bytes = narrow ? batch->text : (uint8_t *)batch->keys;
        double start = seconds_now();
        if (input_read(input, bytes + batch->text_n, pipeline->limit * width - batch->text_n, &n, fault))
            return fault->status;
        if (!n)
            break;
        batch->text_n += n;
        batch->n = batch->text_n / width;
        total += n;
        if (!report(pipeline, n, seconds_now() - start, pipeline->waited))
            return CLI_OK;
    }
    if (total % width)
        return fault_set(fault, CLI_BAD_INPUT, "%s: its %llu bytes are no whole number of %zu-byte integers",
                         input_name(input), (unsigned long long)total, width);
    return CLI_OK;
}

static int read_file(pipeline *pipeline, const char *path, fault *fault)
{
    input *input;
    int sequences = pipeline->options.kind == KEYS_KMERS;
    if (input_open(&input, path, !sequences, fault))
        return fault->status;
    int status = sequences ? read_sequences(pipeline, input, fault) : read_numbers(pipeline, input, fault);
    input_close(input);
    return status;
}

static void *reader_run(void *argument)
{
    pipeline *pipeline = argument;
    fault *fault = calloc(1, sizeof *fault);
    int status = fault ? CLI_OK : CLI_FAILED;
    for (size_t i = 0; i < pipeline->options.files_n && !status; i++)
        status = read_file(pipeline, pipeline->options.files[i], fault);
    if (pipeline->filling)
        put(pipeline, pipeline->options.kind == KEYS_U64 ? &pipeline->full : &pipeline->text,
            pipeline->filling);
    pthread_mutex_lock(&pipeline->mutex);
    pipeline->stats.sequences = pipeline->sequences;
    pipeline->read_all = 1;
    if (status && fault)
        pipeline->fault = *fault;
    else if (status)
        fault_set(&pipeline->fault, status, "no memory to read files");
    pthread_cond_broadcast(&pipeline->changed);
    pthread_mutex_unlock(&pipeline->mutex);
    free(fault);
    return NULL;
}

/* ---- extractors ---------------------------------------------------------------------------------------- */

static void extract(const pipeline_options *options, batch *batch)
{
    if (options->kind == KEYS_U32) {
        batch->n = batch->text_n / 4;
        for (size_t i = 0; i < batch->n; i++) {
            const uint8_t *b = batch->text + 4 * i;
            batch->keys[i] =
                (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
        }
    } else {
        cohort_kmer_encode(batch->text, batch->text_n);
        batch->n =
            cohort_kmer_extract(batch->text, batch->text_n, options->k, options->canonical, batch->keys);
    }
}

static void *extractor_run(void *argument)
{
    pipeline *pipeline = argument;
    pthread_mutex_lock(&pipeline->mutex);
    for (;;) {
        batch *batch = NULL;
        while (!pipeline->stop && !(batch = take(&pipeline->text)) && !pipeline->read_all)
            pthread_cond_wait(&pipeline->changed, &pipeline->mutex);
        if (!batch)
            break;
        pipeline->extracting++;
        pthread_mutex_unlock(&pipeline->mutex);
        double start = seconds_now();
        extract(&pipeline->options, batch);
        double spent = seconds_now() - start;
        pthread_mutex_lock(&pipeline->mutex);
        pipeline->stats.extract_seconds += spent;
        pipeline->extracting--;
        batch->next = pipeline->full.top;
        pipeline->full.top = batch;
        pthread_cond_broadcast(&pipeline->changed);
    }
    pthread_mutex_unlock(&pipeline->mutex);
    return NULL;
}

/* ---- the caller's side --------------------------------------------------------------------------------- */

static int batches_make(pipeline *pipeline)
{
    const pipeline_options *options = &pipeline->options;
    size_t keys = options->batch_keys;
    size_t text = options->kind == KEYS_KMERS ? keys : options->kind == KEYS_U32 ? 4 * keys : 1;
    pipeline->batches = calloc(pipeline->batches_n, sizeof *pipeline->batches);
    if (!pipeline->batches)
        return 0;
    for (size_t i = 0; i < pipeline->batches_n; i++) {
        batch *batch = &pipeline->batches[i];
        batch->keys = malloc(keys * sizeof *batch->keys);
        batch->text = malloc(text);
        if (!batch->keys || !batch->text)
            return 0;
        batch->next = pipeline->free.top;
        pipeline->free.top = batch;
    }
    return 1;
}

int pipeline_start(pipeline **out, const pipeline_options *options, fault *fault)
{
    *out = NULL;
    pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (!pipeline)
        return fault_set(fault, CLI_FAILED, "no memory to read files");
    pthread_mutex_init(&pipeline->mutex, NULL);
    pthread_cond_init(&pipeline->changed, NULL);
    pipeline->options = *options;
    pipeline->limit = PIPELINE_LEAST;
    pipeline->piece = malloc(READ_BYTES);
    unsigned extractors = options->extractors < EXTRACTORS_MAX ? options->extractors : EXTRACTORS_MAX;
    /* One being read, one waiting and one being counted keep everybody busy. */
    pipeline->batches_n = extractors + 3;
    int good = pipeline->piece && batches_make(pipeline);
    while (good && pipeline->threads < extractors) {
        good = !pthread_create(&pipeline->extractors[pipeline->threads], NULL, extractor_run, pipeline);
        pipeline->threads += (unsigned)good;
    }
    if (good)
        good = pipeline->reader_started = !pthread_create(&pipeline->reader, NULL, reader_run, pipeline);
    if (!good) {
        pipeline_stop(pipeline);
        return fault_set(fault, CLI_FAILED, "no memory or threads to read files");
    }
    *out = pipeline;
    return CLI_OK;
}

/* With the mutex held. */
static pipeline_state state_of(pipeline *pipeline, batch **out)
{
    if (pipeline->fault.status)
        return PIPELINE_FAULT;
    if ((*out = take(&pipeline->full)))
        return PIPELINE_BATCH;
    return pipeline->read_all && !pipeline->text.top && !pipeline->extracting ? PIPELINE_END : PIPELINE_WAIT;
}

pipeline_state pipeline_next(pipeline *pipeline, batch **out, fault *fault)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pipeline_state state;
    int waited = 0;
    pthread_mutex_lock(&pipeline->mutex);
    while ((state = state_of(pipeline, out)) == PIPELINE_WAIT && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&pipeline->changed, &pipeline->mutex, &until);
    if (state == PIPELINE_FAULT)
        *fault = pipeline->fault;
    pthread_mutex_unlock(&pipeline->mutex);
    return state;
}

void pipeline_give_back(pipeline *pipeline, batch *batch)
{
    put(pipeline, &pipeline->free, batch);
}

void pipeline_get_stats(pipeline *pipeline, pipeline_stats *stats)
{
    pthread_mutex_lock(&pipeline->mutex);
    *stats = pipeline->stats;
    pthread_mutex_unlock(&pipeline->mutex);
}

void pipeline_stop(pipeline *pipeline)
{
    if (!pipeline)
        return;
    pthread_mutex_lock(&pipeline->mutex);
    pipeline->stop = 1;
    pthread_cond_broadcast(&pipeline->changed);
    pthread_mutex_unlock(&pipeline->mutex);
    if (pipeline->reader_started)
        pthread_join(pipeline->reader, NULL);
    for (unsigned i = 0; i < pipeline->threads; i++)
        pthread_join(pipeline->extractors[i], NULL);
    for (size_t i = 0; pipeline->batches && i < pipeline->batches_n; i++) {
        free(pipeline->batches[i].keys);
        free(pipeline->batches[i].text);
    }
    free(pipeline->batches);
    free(pipeline->piece);
    pthread_cond_destroy(&pipeline->changed);
    pthread_mutex_destroy(&pipeline->mutex);
    free(pipeline);
}
