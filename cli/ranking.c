/* Nearly all counts are small, so keys are first thrown into one run per count below LOW by a counting sort,
 * after which a key's place tells its count and eight bytes a key are left to sort; the few keys above are
 * sorted as pairs. Within a run the keys go up: a radix sort from the highest digit that differs, whose first
 * step is done by all threads together where a run is long. With --top, runs past the last one needed are not
 * even moved, and of that one the smallest keys are selected first.
 *
 * The keys' old array is the radix sort's second one, so the peak is three words a key. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"
#include "ranking.h"

#define LOW         65536u /* counts from here on are sorted as pairs */
#define LONG_RUN    131072u
#define SPLIT_BITS  11u
#define SPLIT       (1u << SPLIT_BITS)
#define SMALL       32u
#define THREADS_MAX 64u

typedef struct pair {
    uint64_t key, count;
} pair;

typedef struct work {
    uint64_t *keys, *counts, *sorted;
    size_t n;
    size_t *histograms; /* LOW for each thread; later where its next key of each count goes */
    unsigned threads;
    uint64_t lowest; /* the least count that is moved */
    pair *high;
    size_t high_n;
} work;

/* ---- sorting keys -------------------------------------------------------------------------------------- */

static void insertion_sort(uint64_t *keys, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        size_t j = i;
        for (; j && keys[j - 1] > key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

static unsigned highest_bit(uint64_t word)
{
    unsigned bit = 0;
    while (word >>= 1)
        bit++;
    return bit;
}

/* How far to shift so that `bits` bits remain, from the highest bit of `differ` down. */
static unsigned digit_shift(uint64_t differ, unsigned bits)
{
    unsigned top = highest_bit(differ);
    return top + 1 > bits ? top + 1 - bits : 0;
}

/* Sorts what is in `from` into `to` if `across`, else in place; both have n keys. */
static void radix_sort(uint64_t *from, uint64_t *to, size_t n, int across)
{
    uint64_t differ = 0;
    if (n > SMALL)
        for (size_t i = 1; i < n; i++)
            differ |= from[i] ^ from[0];
    if (!differ) {
        if (n <= SMALL)
            insertion_sort(from, n);
        if (across)
            memcpy(to, from, n * sizeof *to);
        return;
    }
    unsigned shift = digit_shift(differ, 8);
    size_t ends[256] = {0};
    for (size_t i = 0; i < n; i++)
        ends[from[i] >> shift & 255]++;
    for (size_t digit = 0, sum = 0; digit < 256; digit++) {
        size_t count = ends[digit];
        ends[digit] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[ends[from[i] >> shift & 255]++] = from[i];
    for (size_t digit = 0, first = 0; digit < 256; first = ends[digit++])
        if (ends[digit] > first)
            radix_sort(to + first, from + first, ends[digit] - first, !across);
}

/* Moves the `wanted` smallest keys to the front. The keys are distinct. */
static void select_smallest(uint64_t *keys, size_t n, size_t wanted)
{
    size_t first = 0, last = n;
    while (last - first > SMALL && wanted > first && wanted < last) {
        uint64_t a = keys[first], b = keys[first + (last - first) / 2], c = keys[last - 1];
        uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        size_t i = first, j = last - 1;
        for (;;) {
            while (keys[i] < pivot)
                i++;
            while (keys[j] > pivot)
                j--;
            if (i >= j)
                break;
            uint64_t key = keys[i];
            keys[i++] = keys[j];
            keys[j--] = key;
        }
        /* keys[first .. i) <= pivot <= keys[i .. last) */
        if (wanted <= i)
            last = i;
        else
            first = i;
    }
    if (last - first <= SMALL)
        insertion_sort(keys + first, last - first);
}

/* ---- runs by count ------------------------------------------------------------------------------------- */

static void count_share(void *user, unsigned share, unsigned shares)
{
    work *work = user;
    size_t *histogram = work->histograms + (size_t)share * LOW;
    size_t last = parallel_first(work->n, share + 1, shares);
    for (size_t i = parallel_first(work->n, share, shares); i < last; i++)
        histogram[work->counts[i] < LOW ? work->counts[i] : 0]++;
}

static void move_share(void *user, unsigned share, unsigned shares)
{
    work *work = user;
    size_t *next = work->histograms + (size_t)share * LOW;
    size_t last = parallel_first(work->n, share + 1, shares);
    for (size_t i = parallel_first(work->n, share, shares); i < last; i++) {
        uint64_t count = work->counts[i];
        if (count >= work->lowest && count < LOW)
            work->sorted[next[count]++] = work->keys[i];
    }
}

static int pair_order(const void *left, const void *right)
{
    const pair *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static size_t count_total(const work *work, size_t count)
{
    size_t total = 0;
    for (unsigned i = 0; i < work->threads; i++)
        total += work->histograms[(size_t)i * LOW + count];
    return total;
}

static int high_make(work *work)
{
    work->high_n = count_total(work, 0);
    work->high = malloc((work->high_n + 1) * sizeof *work->high);
    if (!work->high)
        return 0;
    for (size_t i = 0, j = 0; i < work->n && j < work->high_n; i++)
        if (work->counts[i] >= LOW)
            work->high[j++] = (pair){work->keys[i], work->counts[i]};
    qsort(work->high, work->high_n, sizeof *work->high, pair_order);
    return 1;
}

static void spectrum_fill(ranking *out, const work *work)
{
    for (size_t count = 1; count < LOW; count++) {
        size_t number = count_total(work, count);
        if (number)
            out->spectrum[out->spectrum_n++] = (spectrum_entry){count, number};
    }
    for (size_t i = work->high_n; i-- > 0;) {
        spectrum_entry *last = out->spectrum + out->spectrum_n;
        if (i + 1 < work->high_n && work->high[i].count == work->high[i + 1].count)
            last[-1].number++;
        else
            out->spectrum[out->spectrum_n++] = (spectrum_entry){work->high[i].count, 1};
    }
}

/* Walks the spectrum downwards and lays out the runs that are kept; *whole is how many keys the last one has
 * in all. */
static void runs_lay_out(ranking *out, uint64_t min, uint64_t top, size_t *whole)
{
    for (size_t i = out->spectrum_n; i-- > 0 && out->spectrum[i].times >= min && out->n < top;) {
        uint64_t number = out->spectrum[i].number, left = top - out->n;
        size_t n = (size_t)(number < left ? number : left);
        out->runs[out->runs_n++] = (ranking_run){out->spectrum[i].times, out->n, n};
        out->n += n;
        *whole = (size_t)number;
    }
}

/* Turns each thread's histogram into the places where its keys go. */
static void places_make(const ranking *out, work *work)
{
    for (size_t i = 0; i < out->runs_n; i++) {
        if (out->runs[i].count >= LOW)
            continue;
        size_t place = out->runs[i].first;
        for (unsigned thread = 0; thread < work->threads; thread++) {
            size_t *slot = work->histograms + (size_t)thread * LOW + out->runs[i].count;
            size_t count = *slot;
            *slot = place;
            place += count;
        }
    }
}

/* ---- sorting runs -------------------------------------------------------------------------------------- */

/* A stretch that one thread sorts: keys in `from` go to the same place of the output. */
typedef struct task {
    size_t first, n;
    int across;
} task;

typedef struct sorting {
    uint64_t *keys, *other;
    task *tasks;
    size_t tasks_n;
    atomic_size_t next;
    /* The long run that is being split. */
    size_t first, n;
    unsigned shift;
    _Atomic uint64_t differ;
    size_t *histograms; /* SPLIT for each thread */
} sorting;

static void differ_share(void *user, unsigned share, unsigned shares)
{
    sorting *sorting = user;
    const uint64_t *keys = sorting->keys + sorting->first;
    size_t last = parallel_first(sorting->n, share + 1, shares);
    uint64_t differ = 0;
    for (size_t i = parallel_first(sorting->n, share, shares); i < last; i++)
        differ |= keys[i] ^ keys[0];
    atomic_fetch_or(&sorting->differ, differ);
}

static void split_count_share(void *user, unsigned share, unsigned shares)
{
    sorting *sorting = user;
    const uint64_t *keys = sorting->keys + sorting->first;
    size_t *histogram = sorting->histograms + (size_t)share * SPLIT;
    size_t last = parallel_first(sorting->n, share + 1, shares);
    memset(histogram, 0, SPLIT * sizeof *histogram);
    for (size_t i = parallel_first(sorting->n, share, shares); i < last; i++)
        histogram[keys[i] >> sorting->shift & (SPLIT - 1)]++;
}

static void split_move_share(void *user, unsigned share, unsigned shares)
{
    sorting *sorting = user;
    const uint64_t *keys = sorting->keys + sorting->first;
    uint64_t *to = sorting->other + sorting->first;
    size_t *next = sorting->histograms + (size_t)share * SPLIT;
    size_t last = parallel_first(sorting->n, share + 1, shares);
    for (size_t i = parallel_first(sorting->n, share, shares); i < last; i++)
        to[next[keys[i] >> sorting->shift & (SPLIT - 1)]++] = keys[i];
}

static void run_split(sorting *sorting, const ranking_run *run, unsigned threads)
{
    sorting->first = run->first;
    sorting->n = run->n;
    atomic_store(&sorting->differ, 0);
    parallel_run(threads, differ_share, sorting);
    sorting->shift = digit_shift(atomic_load(&sorting->differ), SPLIT_BITS);
    parallel_run(threads, split_count_share, sorting);
    size_t place = 0;
    for (size_t digit = 0; digit < SPLIT; digit++) {
        size_t first = place;
        for (unsigned thread = 0; thread < threads; thread++) {
            size_t *slot = sorting->histograms + (size_t)thread * SPLIT + digit;
            size_t count = *slot;
            *slot = place;
            place += count;
        }
        if (place > first)
            sorting->tasks[sorting->tasks_n++] = (task){run->first + first, place - first, 1};
    }
    parallel_run(threads, split_move_share, sorting);
}

static void tasks_share(void *user, unsigned share, unsigned shares)
{
    (void)share;
    (void)shares;
    sorting *sorting = user;
    size_t i;
    while ((i = atomic_fetch_add(&sorting->next, 1)) < sorting->tasks_n) {
        const task *task = &sorting->tasks[i];
        uint64_t *keys = sorting->keys + task->first, *other = sorting->other + task->first;
        if (task->across)
            radix_sort(other, keys, task->n, 1);
        else
            radix_sort(keys, other, task->n, 0);
    }
}

static int runs_sort(ranking *out, uint64_t *other, unsigned threads)
{
    size_t most = out->runs_n;
    for (size_t i = 0; i < out->runs_n; i++)
        most += out->runs[i].n > LONG_RUN ? SPLIT : 0;
    sorting sorting = {.keys = out->keys, .other = other};
    sorting.tasks = malloc((most + 1) * sizeof *sorting.tasks);
    sorting.histograms = malloc((size_t)threads * SPLIT * sizeof *sorting.histograms);
    int good = sorting.tasks && sorting.histograms;
    for (size_t i = 0; good && i < out->runs_n; i++) {
        const ranking_run *run = &out->runs[i];
        if (run->count < LOW && run->n > LONG_RUN)
            run_split(&sorting, run, threads);
        else if (run->count < LOW && run->n > 1)
            sorting.tasks[sorting.tasks_n++] = (task){run->first, run->n, 0};
    }
    if (good)
        parallel_run(out->n > LONG_RUN ? threads : 1, tasks_share, &sorting);
    free(sorting.tasks);
    free(sorting.histograms);
    return good;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static int rank(ranking *out, work *work, uint64_t min, uint64_t top)
{
    work->histograms = calloc((size_t)work->threads * LOW, sizeof *work->histograms);
    if (!work->histograms)
        return 0;
    parallel_run(work->threads, count_share, work);
    if (!high_make(work))
        return 0;
    out->spectrum = malloc((LOW + work->high_n) * sizeof *out->spectrum);
    if (!out->spectrum)
        return 0;
    spectrum_fill(out, work);
    out->runs = malloc((out->spectrum_n + 1) * sizeof *out->runs);
    if (!out->runs)
        return 0;
    size_t whole = 0;
    runs_lay_out(out, min, top, &whole);
    if (!out->runs_n)
        return 1;
    ranking_run *last = &out->runs[out->runs_n - 1];
    work->lowest = last->count;
    work->sorted = out->keys = malloc((last->first + whole) * sizeof *out->keys);
    if (!out->keys)
        return 0;
    places_make(out, work);
    for (size_t i = 0; i < out->n && i < work->high_n; i++)
        out->keys[i] = work->high[i].key;
    parallel_run(work->threads, move_share, work);
    free(work->counts);
    work->counts = NULL;
    if (last->n < whole && last->count < LOW)
        select_smallest(out->keys + last->first, whole, last->n);
    return runs_sort(out, work->keys, work->threads);
}

int ranking_make(ranking *out, uint64_t *keys, uint64_t *counts, size_t n, uint64_t min, uint64_t top,
                 unsigned threads, fault *fault)
{
    memset(out, 0, sizeof *out);
    work work = {.keys = keys, .counts = counts, .n = n};
    work.threads = n < LONG_RUN || threads < 1 ? 1 : threads < THREADS_MAX ? threads : THREADS_MAX;
    int good = rank(out, &work, min, top);
    free(work.keys);
    free(work.counts);
    free(work.histograms);
    free(work.high);
    if (good)
        return CLI_OK;
    ranking_free(out);
    return fault_set(fault, CLI_FAILED, "no memory to sort %zu keys", n);
}

void ranking_free(ranking *ranking)
{
    free(ranking->keys);
    free(ranking->runs);
    free(ranking->spectrum);
    memset(ranking, 0, sizeof *ranking);
}
