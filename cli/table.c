/* Chunks of lines go round a ring of buffers: a thread takes the next chunk and the buffer that follows the
 * last one taken, and fills it; the writer writes the buffers in the order of the ring, each by one write(2),
 * and frees them. The buffers are few and small enough to stay in the caches, and are touched for the first
 * time once. Order comes from the ring alone, so a pipe is served as a file is. (Several writers of one file
 * would wait for each other in the kernel, which lets only one at a time write to it.)
 *
 * The lines of a run end alike; only their keys have to be made. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "progress.h"
#include "table.h"

#define CHUNK       32768u /* lines */
#define PARTS       4u
#define MAKERS_MAX  6u /* four and more keep a writer busy */
#define TAIL_BYTES  32u
#define BUFFERS_MAX (MAKERS_MAX + 3)

typedef struct part {
    table_part what;
    size_t n, given, left; /* lines: all, taken by makers, not yet made */
} part;

typedef struct buffer {
    char *text;
    size_t n, lines;
    int full;
} buffer;

struct table {
    output *output;
    unsigned k;
    uint64_t lines, lines_written;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    part parts[PARTS]; /* a ring: `made` <= `giving` <= `put` count round and round */
    uint64_t put, giving, made;
    buffer buffers[BUFFERS_MAX];
    unsigned buffers_n;
    uint64_t given, written; /* chunks */
    int ended, stop;
    fault fault;
    pthread_t makers[MAKERS_MAX], writer;
    unsigned makers_n;
    int writer_started;
};

/* ---- making -------------------------------------------------------------------------------------------- */

/* The run in which line `line` of the part is. */
static size_t run_of(const part *part, size_t line)
{
    const ranking_run *runs = part->what.runs;
    size_t low = 0, high = part->what.runs_n, first = runs[0].first;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (runs[middle].first - first <= line)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Lines first .. first + n - 1 of a part at `to`; returns their end. */
static char *lines_make(const part *part, unsigned k, size_t first, size_t n, char *to)
{
    const ranking_run *run = part->what.runs + run_of(part, first);
    const uint64_t *key = part->what.keys + part->what.runs[0].first + first;
    for (; n; run++) {
        size_t rest = run->n - (size_t)(key - (part->what.keys + run->first)), lines = n < rest ? n : rest;
        char tail[TAIL_BYTES] = "\t";
        size_t tail_n = 1 + text_digits(tail + 1, run->count);
        tail[tail_n++] = '\n';
        n -= lines;
        for (const uint64_t *end = key + lines; key < end; key++) {
            if (k)
                cohort_kmer_letters(to, *key, k);
            to += k ? k : text_digits(to, *key);
            memcpy(to, tail, sizeof tail);
            to += tail_n;
        }
    }
    return to;
}

/* With the mutex held: whether there are lines to make and a buffer to make them in. */
static int can_make(const table *table)
{
    return table->giving < table->put && table->given < table->written + table->buffers_n;
}

static void make_one(table *table)
{
    part *part = &table->parts[table->giving % PARTS];
    buffer *buffer = &table->buffers[table->given++ % table->buffers_n];
    size_t first = part->given, n = part->n - first < CHUNK ? part->n - first : CHUNK;
    part->given += n;
    table->giving += part->given == part->n;
    pthread_mutex_unlock(&table->mutex);
    size_t bytes = (size_t)(lines_make(part, table->k, first, n, buffer->text) - buffer->text);
    pthread_mutex_lock(&table->mutex);
    buffer->n = bytes;
    buffer->lines = n;
    buffer->full = 1;
    part->left -= n;
    while (table->made < table->put && !table->parts[table->made % PARTS].left)
        table->made++;
    pthread_cond_broadcast(&table->changed);
}

static void *maker_run(void *argument)
{
    table *table = argument;
    pthread_mutex_lock(&table->mutex);
    for (;;) {
        while (!table->stop && !can_make(table) && !(table->ended && table->giving == table->put))
            pthread_cond_wait(&table->changed, &table->mutex);
        if (table->stop || !can_make(table))
            break;
        make_one(table);
    }
    pthread_mutex_unlock(&table->mutex);
    return NULL;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static int all_written(const table *table)
{
    return table->ended && table->giving == table->put && table->written == table->given;
}

static void *writer_run(void *argument)
{
    table *table = argument;
    fault *fault = &table->fault; /* read by others once `stop` is set */
    pthread_mutex_lock(&table->mutex);
    for (;;) {
        buffer *buffer = &table->buffers[table->written % table->buffers_n];
        while (!table->stop && !buffer->full && !all_written(table))
            pthread_cond_wait(&table->changed, &table->mutex);
        if (table->stop || !buffer->full)
            break;
        pthread_mutex_unlock(&table->mutex);
        int status = output_write(table->output, buffer->text, buffer->n, fault);
        pthread_mutex_lock(&table->mutex);
        buffer->full = 0;
        table->lines_written += buffer->lines;
        table->written++;
        table->stop |= status != CLI_OK;
        pthread_cond_broadcast(&table->changed);
    }
    pthread_mutex_unlock(&table->mutex);
    return NULL;
}

/* ---- the caller's side --------------------------------------------------------------------------------- */

static int buffers_make(table *table)
{
    size_t line = (table->k ? COHORT_KMER_MOST + 4 : 20) + 22;
    for (unsigned i = 0; i < table->buffers_n; i++)
        if (!(table->buffers[i].text = malloc(CHUNK * line + TAIL_BYTES)))
            return 0;
    return 1;
}

static void stop_and_free(table *table)
{
    for (unsigned i = 0; i < table->makers_n; i++)
        pthread_join(table->makers[i], NULL);
    if (table->writer_started)
        pthread_join(table->writer, NULL);
    for (unsigned i = 0; i < table->buffers_n; i++)
        free(table->buffers[i].text);
    pthread_cond_destroy(&table->changed);
    pthread_mutex_destroy(&table->mutex);
    free(table);
}

int table_start(table **out, output *output, unsigned k, uint64_t lines, unsigned threads, fault *fault)
{
    *out = NULL;
    table *table = calloc(1, sizeof *table);
    if (!table)
        return fault_set(fault, CLI_FAILED, "no memory to write counts");
    uint64_t makers = lines / CHUNK + 1;
    makers = makers < threads ? makers : threads;
    makers = makers < 1 ? 1 : makers < MAKERS_MAX ? makers : MAKERS_MAX;
    table->output = output;
    table->k = k;
    table->lines = lines;
    table->buffers_n = (unsigned)makers + 3;
    pthread_mutex_init(&table->mutex, NULL);
    pthread_cond_init(&table->changed, NULL);
    int good = buffers_make(table);
    while (good && table->makers_n < makers) {
        good = !pthread_create(&table->makers[table->makers_n], NULL, maker_run, table);
        table->makers_n += (unsigned)good;
    }
    if (good)
        good = table->writer_started = !pthread_create(&table->writer, NULL, writer_run, table);
    if (!good) {
        pthread_mutex_lock(&table->mutex);
        table->stop = 1;
        pthread_cond_broadcast(&table->changed);
        pthread_mutex_unlock(&table->mutex);
        stop_and_free(table);
        return fault_set(fault, CLI_FAILED, "no memory or threads to write counts");
    }
    *out = table;
    return CLI_OK;
}

/* With the mutex held: until something changes, or for a tenth of a second, and then tells how far it is. */
static void wait_and_tell(table *table)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&table->changed, &table->mutex, &until) == ETIMEDOUT)
        progress_items("writing", table->lines_written, table->lines);
}

static int status_of(table *table, fault *fault)
{
    if (!table->stop)
        return CLI_OK;
    *fault = table->fault;
    return fault->status;
}

int table_wait(table *table, size_t parts, fault *fault)
{
    pthread_mutex_lock(&table->mutex);
    while (!table->stop && table->put - table->made > parts)
        wait_and_tell(table);
    int status = status_of(table, fault);
    pthread_mutex_unlock(&table->mutex);
    return status;
}

int table_put(table *table, const table_part *what, fault *fault)
{
    size_t n = 0;
    for (size_t i = 0; i < what->runs_n; i++)
        n += what->runs[i].n;
    if (!n)
        return CLI_OK;
    if (table_wait(table, PARTS - 1, fault))
        return fault->status;
    pthread_mutex_lock(&table->mutex);
    table->parts[table->put++ % PARTS] = (part){*what, n, 0, n};
    pthread_cond_broadcast(&table->changed);
    pthread_mutex_unlock(&table->mutex);
    return CLI_OK;
}

int table_end(table *table, fault *fault)
{
    if (!table)
        return CLI_OK;
    pthread_mutex_lock(&table->mutex);
    table->ended = 1;
    pthread_cond_broadcast(&table->changed);
    while (!table->stop && !all_written(table))
        wait_and_tell(table);
    int status = status_of(table, fault);
    pthread_mutex_unlock(&table->mutex);
    stop_and_free(table);
    progress_clear();
    return status;
}
