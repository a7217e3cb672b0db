/* cohort count: batches of keys from the pipeline into a map that counts, the map's pairs ranked, the
 * ranking written.
 *
 * While the caller's thread counts one batch the pipeline's threads make the next ones. Outputs are opened
 * before the work, so that a path that cannot be written is told at once. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "count_options.h"
#include "device_ranking.h"
#include "output.h"
#include "pipeline.h"
#include "progress.h"
#include "ranking.h"
#include "spectrum.h"
#include "table.h"

const char count_help[] =
    "usage: cohort count (--kmer K [--canonical] | --u32 | --u64) [OPTION]... FILE...\n"
    "\n"
    "Counts the k-mers of FASTA and FASTQ files, plain or gzip, or integers. '-' is standard input.\n"
    "Prints KMER<TAB>COUNT, by falling count and then rising k-mer.\n"
    "\n"
    "  --kmer K          k-mers of K letters, 1 to 32; letters other than ACGT break a k-mer\n"
    "  --canonical       a k-mer and its reverse complement are one, the smaller\n"
    "  --u32, --u64      the files hold little-endian integers of 4 or 8 bytes\n"
    "  --min C           drop what occurs less than C times\n"
    "  --top N           print the first N lines only\n"
    "  --out FILE        write there instead of to standard output; '-' is standard output\n"
    "  --spectrum FILE   how many k-mers occur how often: FILE.svg a drawing, FILE.txt text, FILE.tsv a\n"
    "                    table, '-' text on standard output (with --out); may be repeated\n"
    "  --stats           tell on standard error what was counted, how long it took, and how the map looks\n"
    "  --device D        cpu, cuda, cuda:N, or auto (a GPU if there is one)\n"
    "  --threads N       CPU threads, 1 to 1024 (default: one a core)\n"
    "  --size-hint N     distinct k-mers expected; 40M means 40 million. The map grows if there are more\n"
    "\n"
    "examples:\n"
    "  cohort count --kmer 21 --canonical --top 10 reads_1.fq.gz reads_2.fq.gz\n"
    "  cohort count --kmer 31 --min 2 --out kmers.tsv --spectrum kmers.svg --stats genome.fa\n"
    "  zcat reads.fq.gz | cohort count --kmer 15 - > kmers.tsv\n"
    "  cohort count --u64 --top 20 ids.bin\n"
    "\n"
    "Exit status: 0; 2 if an argument or a file is wrong; 1 if memory, disk or device gave out.\n";

typedef struct job {
    count_options options;
    char title[48];
    const char *what; /* "k-mers" or "numbers" */
    output *table;
    output *spectra[8];
    cohort_context *context;
    cohort_map *map;
    unsigned threads;
    int sorts; /* the device is a GPU */
    device_ranking *on_device;
    ranking ranking; /* also of what is on the device: its spectrum and its size */
    uint64_t total, distinct;
    cohort_map_stats map_stats;
    pipeline_stats pipeline;
    double started, opened_at, counted_at, exported_at, ranked_at;
    double counting; /* seconds in the map */
} job;

/* ---- opening ------------------------------------------------------------------------------------------- */

static int outputs_open(job *job, fault *fault)
{
    const count_options *options = &job->options;
    int status = output_open(&job->table, options->out ? options->out : "-", "--out", fault);
    for (size_t i = 0; i < options->spectra.n && !status; i++)
        status = output_open(&job->spectra[i], options->spectra.text[i], "--spectrum", fault);
    return status;
}

/* How many pairs the map begins with room for: no more than there are k-mers, nor than an eighth of the
 * free memory holds at 20 bytes a pair. */
static uint64_t capacity_of(const count_options *options, uint64_t memory_free)
{
    if (options->size_hint)
        return options->size_hint;
    const uint64_t least = 1 << 16, most = 1 << 26, unknown = 1 << 22;
    uint64_t wanted = options->input_known ? options->distinct : unknown, room = memory_free / 160;
    wanted = wanted < most ? wanted : most;
    wanted = wanted < room ? wanted : room;
    if (options->kmers && options->k < 16 && wanted > UINT64_C(1) << 2 * options->k)
        wanted = UINT64_C(1) << 2 * options->k;
    return wanted > least ? wanted : least;
}

/* A first table that nobody asked for is a guess: where there is no memory for it, half of it is tried,
 * and so on. What is found is halved once more, since there are other things that memory is for; the map
 * grows if it must. */
static cohort_status map_make(job *job, cohort_map_options *map, int guessed)
{
    const uint64_t least = 1 << 12, first = map->capacity;
    cohort_status status = cohort_map_create(job->context, map, &job->map);
    while (status == COHORT_NO_MEMORY && guessed && map->capacity > least) {
        map->capacity /= 2;
        status = cohort_map_create(job->context, map, &job->map);
    }
    if (status || map->capacity == first)
        return status;
    cohort_map_destroy(job->map);
    map->capacity /= 2;
    return cohort_map_create(job->context, map, &job->map);
}

static int map_open(job *job, fault *fault)
{
    const count_options *options = &job->options;
    if (context_open(&job->context, options->device, options->threads, &progress_library,
                     1u << COHORT_WIDTH_64_64, fault))
        return fault->status;
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_status status = cohort_context_get_info(job->context, &info);
    if (status)
        return fault_library(fault, status, job->context, "cannot ask the device");
    job->sorts = strcmp(info.backend, "cpu") != 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    job->threads = (unsigned)(options->threads               ? options->threads
                              : !strcmp(info.backend, "cpu") ? info.threads
                                                             : (uint64_t)(cores > 1 ? cores : 1));
    cohort_map_options map = COHORT_MAP_OPTIONS_INIT;
    map.width = COHORT_WIDTH_64_64;
    map.capacity = capacity_of(options, info.memory_free);
    map.max_load = options->size_hint ? 0.8 : 0; /* who names a size wants a table of that size */
    status = map_make(job, &map, !options->size_hint);
    if (status && options->size_hint) /* too much for any map, or for the memory of this machine */
        return fault_set(fault, status == COHORT_OVERFLOW ? CLI_BAD_INPUT : CLI_FAILED,
                         "--size-hint %llu: cannot make the map: %s", (unsigned long long)options->size_hint,
                         cohort_message(job->context));
    if (status)
        return fault_library(fault, status, job->context, "cannot make the map");
    return CLI_OK;
}

/* ---- counting ------------------------------------------------------------------------------------------ */

static int batches_count(job *job, pipeline *pipeline, fault *fault)
{
    for (;;) {
        batch *batch;
        pipeline_state state = pipeline_next(pipeline, &batch, fault);
        if (state == PIPELINE_END)
            return CLI_OK;
        if (state == PIPELINE_FAULT)
            return fault->status;
        if (state == PIPELINE_BATCH) {
            double start = seconds_now();
            cohort_status status =
                cohort_map_apply(job->map, COHORT_OP_COUNT, batch->n, batch->keys, NULL, NULL);
            job->counting += seconds_now() - start;
            job->total += batch->n;
            pipeline_give_back(pipeline, batch);
            if (status)
                return fault_library(fault, status, job->context, "cannot count");
        }
        pipeline_get_stats(pipeline, &job->pipeline);
        progress_bytes("counting", job->pipeline.bytes,
                       job->options.input_known ? job->options.input_bytes : 0);
    }
}

/* A GPU wants much at once. On a CPU all batches together should stay in the caches, each with enough for
 * every thread. */
static size_t batch_keys(const job *job)
{
    const size_t most = (size_t)4 << 20;
    size_t keys = PIPELINE_LEAST;
    while (keys < most && (job->sorts || keys < ((size_t)64 << 10) * job->threads))
        keys *= 2;
    return keys;
}

static int files_count(job *job, fault *fault)
{
    const count_options *options = &job->options;
    pipeline *pipeline;
    pipeline_options what = {options->kmers ? KEYS_KMERS
                             : options->u32 ? KEYS_U32
                                            : KEYS_U64,
                             (unsigned)options->k,
                             options->canonical,
                             options->files,
                             options->files_n,
                             1 + job->threads / 8,
                             batch_keys(job)};
    if (pipeline_start(&pipeline, &what, fault))
        return fault->status;
    int status = batches_count(job, pipeline, fault);
    if (!status)
        pipeline_get_stats(pipeline, &job->pipeline);
    pipeline_stop(pipeline);
    job->counted_at = seconds_now();
    return status;
}

/* ---- putting in order ---------------------------------------------------------------------------------- */

static int no_host_memory(uint64_t n, fault *fault)
{
    return fault_set(fault, CLI_FAILED, "no memory to take %llu counts out of the map",
                     (unsigned long long)n);
}

static int pairs_rank(job *job, uint64_t *keys, uint64_t *counts, fault *fault)
{
    job->exported_at = seconds_now();
    return ranking_make(&job->ranking, keys, counts, job->distinct, job->options.min, job->options.top,
                        job->threads, fault);
}

/* Out of the map, which is gone after, and into order on the host. */
static int rank_on_host(job *job, fault *fault)
{
    uint64_t n = job->distinct;
    uint64_t *keys = malloc((n + 1) * sizeof *keys), *counts = malloc((n + 1) * sizeof *counts);
    cohort_status status = COHORT_OK;
    if (keys && counts)
        status = cohort_map_export(job->map, n, keys, counts, &n);
    if (!keys || !counts || status) {
        free(keys);
        free(counts);
        return status ? fault_library(fault, status, job->context, "cannot take the counts out of the map")
                      : no_host_memory(n, fault);
    }
    cohort_map_destroy(job->map);
    job->map = NULL;
    return pairs_rank(job, keys, counts, fault);
}

/* There was no room on the device to sort what has been taken out. */
static int rank_after_device(job *job, fault *fault)
{
    uint64_t n = job->distinct;
    uint64_t *keys = malloc((n + 1) * sizeof *keys), *counts = malloc((n + 1) * sizeof *counts);
    cohort_status status = COHORT_OK;
    if (keys && counts)
        status = device_ranking_copy(job->on_device, keys, counts);
    device_ranking_free(job->on_device);
    job->on_device = NULL;
    if (keys && counts && !status)
        return pairs_rank(job, keys, counts, fault);
    free(keys);
    free(counts);
    return status ? fault_library(fault, status, job->context, "cannot copy the counts")
                  : no_host_memory(n, fault);
}

/* A GPU sorts in its own memory, if there is room. */
static int rank_where_best(job *job, fault *fault)
{
    cohort_status status = COHORT_NO_MEMORY;
    if (job->sorts)
        status = device_ranking_take(&job->on_device, job->context, &job->map);
    if (status == COHORT_NO_MEMORY)
        return rank_on_host(job, fault);
    job->exported_at = seconds_now();
    if (!status)
        status = device_ranking_sort(job->on_device, job->options.kmers ? 2 * (unsigned)job->options.k
                                                     : job->options.u32 ? 32
                                                                        : 64);
    if (status == COHORT_NO_MEMORY)
        return rank_after_device(job, fault);
    return status ? fault_library(fault, status, job->context, "cannot sort the counts") : CLI_OK;
}

static int counts_rank(job *job, fault *fault)
{
    cohort_status status = cohort_map_size(job->map, &job->distinct);
    if (!status && job->options.stats) {
        job->map_stats = (cohort_map_stats)COHORT_MAP_STATS_INIT;
        status = cohort_map_get_stats(job->map, &job->map_stats);
    }
    if (status)
        return fault_library(fault, status, job->context, "cannot tell the map's size");
    int ranked = rank_where_best(job, fault);
    job->ranked_at = seconds_now();
    return ranked;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static int runs_write(job *job, unsigned k, fault *fault)
{
    const table_part all = {job->ranking.keys, job->ranking.runs, job->ranking.runs_n};
    table *table;
    if (table_start(&table, job->table, k, job->ranking.n, job->threads, fault))
        return fault->status;
    table_put(table, &all, fault);
    return table_end(table, fault);
}

static int table_write(job *job, fault *fault)
{
    const count_options *options = &job->options;
    unsigned k = options->kmers ? (unsigned)options->k : 0;
    int status = job->on_device ? device_ranking_write(job->on_device, job->table, k, options->min,
                                                       options->top, options->stats || options->spectra.n,
                                                       job->threads, &job->ranking, fault)
                                : runs_write(job, k, fault);
    return status ? status : output_close(job->table, fault);
}

static int spectra_write(job *job, fault *fault)
{
    spectrum spectrum = {job->ranking.spectrum, job->ranking.spectrum_n, job->title, job->what};
    for (size_t i = 0; i < job->options.spectra.n; i++) {
        spectrum_form form;
        spectrum_form_of(job->options.spectra.text[i], &form);
        if (spectrum_write(&spectrum, form, job->spectra[i], fault) || output_close(job->spectra[i], fault))
            return fault->status;
    }
    return CLI_OK;
}

static void stats_print(const job *job)
{
    char number[TEXT_NUMBER_BYTES];
    const cohort_map_stats *map = &job->map_stats;
    spectrum spectrum = {job->ranking.spectrum, job->ranking.spectrum_n, job->title, job->what};
    spectrum_summary summary;
    spectrum_summarise(&spectrum, &summary);
    double end = seconds_now(), counting = job->counted_at - job->opened_at;
    fprintf(stderr, "%-20s %15s\n", job->what, text_grouped(number, job->total));
    fprintf(stderr, "%-20s %15s\n", "distinct", text_grouped(number, job->distinct));
    fprintf(stderr, "%-20s %15s\n", "once", text_grouped(number, summary.once));
    fprintf(stderr, "%-20s %15s\n", "most frequent", text_grouped(number, summary.most));
    fprintf(stderr, "%-20s %15s\n", "written", text_grouped(number, job->ranking.n));
    if (job->options.kmers)
        fprintf(stderr, "%-20s %15s\n", "sequences", text_grouped(number, job->pipeline.sequences));
    fprintf(stderr, "%-20s %15s\n", "read", text_bytes(number, job->pipeline.bytes));
    fprintf(stderr, "seconds in all       %15.3f\n", end - job->started);
    fprintf(stderr, "  opening            %15.3f\n", job->opened_at - job->started);
    fprintf(stderr, "  reading, counting  %15.3f  %.1f M %s/s\n", counting,
            counting > 0 ? (double)job->total / counting * 1e-6 : 0, job->what);
    fprintf(stderr, "    the map          %15.3f  beside it:\n", job->counting);
    fprintf(stderr, "    reading          %15.3f\n", job->pipeline.read_seconds);
    if (job->options.kmers)
        fprintf(stderr, "    parsing          %15.3f\n    making k-mers    %15.3f\n",
                job->pipeline.parse_seconds, job->pipeline.extract_seconds);
    fprintf(stderr, "  taking out         %15.3f\n", job->exported_at - job->counted_at);
    fprintf(stderr, "  sorting            %15.3f\n", job->ranked_at - job->exported_at);
    fprintf(stderr, "  writing            %15.3f\n", end - job->ranked_at);
    fprintf(stderr, "%-20s %15s\n", "table", text_bytes(number, map->table_bytes));
    fprintf(stderr, "%-20s %15s\n", "  slots", text_grouped(number, map->slots));
    fprintf(stderr, "  load               %15.3f\n", map->load);
    fprintf(stderr, "  probe length       %15.3f  at most %llu\n", map->probe_mean,
            (unsigned long long)map->probe_max);
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int work(job *job, fault *fault)
{
    int status = outputs_open(job, fault);
    if (!status)
        status = map_open(job, fault);
    job->opened_at = seconds_now();
    if (!status)
        status = files_count(job, fault);
    if (!status)
        status = counts_rank(job, fault);
    if (!status)
        status = table_write(job, fault);
    if (!status)
        status = spectra_write(job, fault);
    progress_clear();
    if (!status && job->options.stats)
        stats_print(job);
    return status;
}

int count_main(int argc, char **argv, fault *fault)
{
    job job;
    memset(&job, 0, sizeof job);
    job.started = seconds_now();
    int status = count_options_read(&job.options, argc, argv, fault);
    if (status)
        return status;
    if (job.options.kmers)
        snprintf(job.title, sizeof job.title, "%s%u-mers", job.options.canonical ? "canonical " : "",
                 (unsigned)job.options.k);
    else
        snprintf(job.title, sizeof job.title, "%d-bit numbers", job.options.u32 ? 32 : 64);
    job.what = job.options.kmers ? "k-mers" : "numbers";
    outputs_guard_signals();
    status = work(&job, fault);
    ranking_free(&job.ranking);
    device_ranking_free(job.on_device);
    cohort_map_destroy(job.map);
    cohort_context_destroy(job.context);
    return status;
}
