/* Two radix sorts, both stable: by the key, and then by the count, the greatest first. Only bits that can
 * differ are looked at: those of a k-mer, and those of the greatest count. A part's equal counts stand
 * together, so its runs are found by doubling steps. */
#include <stdlib.h>
#include <string.h>

#include "device_ranking.h"
#include "table.h"

#define PART_PAIRS ((size_t)1 << 20) /* a multiple of what a thread makes of it at a time */
#define HOST_PARTS 3u

struct device_ranking {
    cohort_context *context;
    uint64_t n;
    void *keys, *counts; /* in the context's memory */
};

static cohort_status pair_alloc(cohort_context *context, uint64_t n, void **keys, void **counts)
{
    *keys = *counts = NULL;
    cohort_status status = cohort_alloc(context, (n + 1) * 8, keys);
    return status ? status : cohort_alloc(context, (n + 1) * 8, counts);
}

cohort_status device_ranking_take(device_ranking **out, cohort_context *context, cohort_map **map)
{
    *out = NULL;
    device_ranking *ranking = calloc(1, sizeof *ranking);
    if (!ranking)
        return COHORT_NO_MEMORY;
    ranking->context = context;
    cohort_status status = cohort_map_size(*map, &ranking->n);
    if (!status)
        status = pair_alloc(context, ranking->n, &ranking->keys, &ranking->counts);
    if (!status)
        status = cohort_map_export(*map, ranking->n, ranking->keys, ranking->counts, &ranking->n);
    if (status) {
        device_ranking_free(ranking);
        return status;
    }
    cohort_map_destroy(*map);
    *map = NULL;
    *out = ranking;
    return COHORT_OK;
}

static unsigned bits_of(uint64_t number)
{
    unsigned bits = 1;
    while (number >>= 1)
        bits++;
    return bits;
}

/* Sorts n pairs by their keys, the low `bits` of them, into other arrays. */
static cohort_status pairs_sort(cohort_context *context, uint64_t n, int descending, unsigned bits,
                                const void *keys, const void *values, void *keys_out, void *values_out)
{
    cohort_payload column = {values, values_out, 8, 0};
    cohort_sort_desc sort = COHORT_SORT_INIT;
    sort.n = n;
    sort.type = COHORT_U64;
    sort.descending = descending != 0;
    sort.high_bit = bits;
    sort.keys = keys;
    sort.keys_out = keys_out;
    sort.payloads = 1;
    sort.payload = &column;
    return cohort_sort(context, &sort);
}

cohort_status device_ranking_sort(device_ranking *ranking, unsigned key_bits)
{
    cohort_context *context = ranking->context;
    void *keys = NULL, *counts = NULL;
    uint64_t greatest = 0;
    if (!ranking->n)
        return COHORT_OK;
    cohort_status status = pair_alloc(context, ranking->n, &keys, &counts);
    if (!status)
        status = cohort_reduce(context, COHORT_OP_MAX, ranking->n, COHORT_U64, ranking->counts, &greatest);
    if (!status)
        status = pairs_sort(context, ranking->n, 0, key_bits, ranking->keys, ranking->counts, keys, counts);
    if (!status)
        status = pairs_sort(context, ranking->n, 1, bits_of(greatest), counts, keys, ranking->counts,
                            ranking->keys);
    cohort_free(context, keys);
    cohort_free(context, counts);
    return status ? status : cohort_wait(context);
}

uint64_t device_ranking_size(const device_ranking *ranking)
{
    return ranking->n;
}

/* How many of the n counts at the beginning are the first one; n is at least 1. */
static size_t equal_at_first(const uint64_t *counts, size_t n)
{
    size_t low = 0, step = 1; /* counts[low] is equal */
    while (step < n - low && counts[low + step] == counts[0]) {
        low += step;
        step *= 2;
    }
    for (; step; step /= 2)
        while (step < n - low && counts[low + step] == counts[0])
            low += step;
    return low + 1;
}

cohort_status device_ranking_copy(device_ranking *ranking, uint64_t *keys, uint64_t *counts)
{
    cohort_status status = cohort_copy(ranking->context, keys, ranking->keys, ranking->n * sizeof *keys);
    return status ? status
                  : cohort_copy(ranking->context, counts, ranking->counts, ranking->n * sizeof *counts);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Pairs on the host: those that are being copied, and those that are being made into text. */
typedef struct host_part {
    uint64_t *keys, *counts;
    ranking_run *runs;
    size_t runs_n;
} host_part;

static int parts_make(host_part parts[HOST_PARTS], size_t n)
{
    int good = 1;
    for (size_t i = 0; i < HOST_PARTS; i++) {
        parts[i].keys = malloc(n * sizeof *parts[i].keys);
        parts[i].counts = malloc(n * sizeof *parts[i].counts);
        parts[i].runs = malloc(n * sizeof *parts[i].runs);
        good &= parts[i].keys && parts[i].counts && parts[i].runs;
    }
    return good;
}

static void parts_free(host_part parts[HOST_PARTS])
{
    for (size_t i = 0; i < HOST_PARTS; i++) {
        free(parts[i].keys);
        free(parts[i].counts);
        free(parts[i].runs);
    }
}

/* The pairs [first, first + n), of their keys the first `wanted`. Places in the runs count from `first`. */
static int part_get(device_ranking *ranking, uint64_t first, size_t n, size_t wanted, host_part *part,
                    fault *fault)
{
    part->runs_n = 0;
    cohort_status status = cohort_copy(ranking->context, part->counts,
                                       (const uint64_t *)ranking->counts + first, n * sizeof *part->counts);
    if (!status && wanted)
        status = cohort_copy(ranking->context, part->keys, (const uint64_t *)ranking->keys + first,
                             wanted * sizeof *part->keys);
    if (status)
        return fault_library(fault, status, ranking->context, "cannot copy the counts");
    for (size_t i = 0, same; i < n; i += same) {
        same = equal_at_first(part->counts + i, n - i);
        part->runs[part->runs_n++] = (ranking_run){part->counts[i], i, same};
    }
    return CLI_OK;
}

/* The spectrum comes from its end. */
static int spectrum_add(ranking *out, size_t *room, const host_part *part, fault *fault)
{
    for (size_t i = 0; i < part->runs_n; i++) {
        const ranking_run *run = &part->runs[i];
        spectrum_entry *last = out->spectrum_n ? &out->spectrum[out->spectrum_n - 1] : NULL;
        if (last && last->times == run->count) {
            last->number += run->n;
            continue;
        }
        if (out->spectrum_n == *room) {
            *room = *room * 2 + 1024;
            spectrum_entry *more = realloc(out->spectrum, *room * sizeof *more);
            if (!more)
                return fault_set(fault, CLI_FAILED, "no memory for a spectrum of %zu counts", *room);
            out->spectrum = more;
        }
        out->spectrum[out->spectrum_n++] = (spectrum_entry){run->count, run->n};
    }
    return CLI_OK;
}

static void spectrum_turn(ranking *out)
{
    for (size_t i = 0, j = out->spectrum_n; i + 1 < j; i++) {
        spectrum_entry entry = out->spectrum[i];
        out->spectrum[i] = out->spectrum[--j];
        out->spectrum[j] = entry;
    }
}

/* Leaves the runs of counts from `min` on, and of these the first `most` lines; how many lines that is. */
static size_t part_cut(host_part *part, uint64_t min, uint64_t most)
{
    size_t lines = 0, i = 0;
    for (; i < part->runs_n && part->runs[i].count >= min && lines < most; i++) {
        uint64_t left = most - lines;
        part->runs[i].n = part->runs[i].n < left ? part->runs[i].n : (size_t)left;
        lines += part->runs[i].n;
    }
    part->runs_n = i;
    return lines;
}

/* One part after the other to the host while the ones before become text. */
static int parts_write(device_ranking *ranking, host_part *parts, table *table, uint64_t min, uint64_t top,
                       int spectrum, struct ranking *out, fault *fault)
{
    size_t room = 0, number = 0;
    for (uint64_t first = 0; first < ranking->n && (out->n < top || spectrum); first += PART_PAIRS) {
        host_part *part = &parts[number++ % HOST_PARTS];
        uint64_t left = top - out->n, all = ranking->n - first;
        size_t n = all < PART_PAIRS ? (size_t)all : PART_PAIRS, wanted = n < left ? n : (size_t)left;
        if (table_wait(table, HOST_PARTS - 1, fault) || part_get(ranking, first, n, wanted, part, fault) ||
            (spectrum && spectrum_add(out, &room, part, fault)))
            return fault->status;
        size_t lines = part_cut(part, min, left);
        const table_part what = {part->keys, part->runs, part->runs_n};
        out->n += lines;
        top = lines < n ? out->n : top; /* counts below `min` follow */
        if (table_put(table, &what, fault))
            return fault->status;
    }
    return CLI_OK;
}

int device_ranking_write(device_ranking *ranking, output *output, unsigned k, uint64_t min, uint64_t top,
                         int spectrum, unsigned threads, struct ranking *out, fault *fault)
{
    host_part parts[HOST_PARTS];
    table *table = NULL;
    struct fault ending = {0};
    memset(out, 0, sizeof *out);
    size_t n = ranking->n < PART_PAIRS ? (size_t)ranking->n + 1 : PART_PAIRS;
    int status = parts_make(parts, n) ? CLI_OK : fault_set(fault, CLI_FAILED, "no memory to write counts");
    if (!status)
        status = table_start(&table, output, k, ranking->n < top ? ranking->n : top, threads, fault);
    if (!status)
        status = parts_write(ranking, parts, table, min, top, spectrum, out, fault);
    if (table_end(table, &ending) && !status) {
        *fault = ending;
        status = fault->status;
    }
    spectrum_turn(out);
    parts_free(parts);
    return status;
}

void device_ranking_free(device_ranking *ranking)
{
    if (!ranking)
        return;
    cohort_free(ranking->context, ranking->keys);
    cohort_free(ranking->context, ranking->counts);
    free(ranking);
}
