/* cpu/join.c: right rows by groups, pairs of matches, and rows that were not met.
 *
 * Groups are made by counting: how many rows each has, where they begin, and then every row to its place,
 * in order. Pairs are counted by blocks of left rows and summed up; a range of pairs finds its block by a
 * search of the sums and its row by walking the block. So each thread writes a range of the page by
 * itself, however unlike the rows are. */
#include <string.h>

#include "backend/join.h"
#include "cpu.h"
#include "join.h"

#define PAIR_GRAIN (1u << 14)
#define ROW_GRAIN  (1u << 13) /* a multiple of JOIN_BLOCK and of JOIN_SPAN */

/* ---- right rows by groups ------------------------------------------------------------------------------ */

/* start[g + 1] = rows of group g. */
static void count_groups(const uint32_t *groups, struct join_index *x)
{
    memset(x->start, 0, (x->groups + 1) * sizeof *x->start);
    x->repeated[0] = x->repeated[1] = ~0ull;
    for (uint64_t i = 0; i < x->rows; i++) {
        if (groups[i] == JOIN_NONE)
            continue;
        if (x->start[groups[i] + 1]++ && x->repeated[1] == ~0ull)
            x->repeated[1] = i;
    }
}

/* One row a group: a thread takes a range of groups and goes through all rows, so no entry has two
 * writers. */
struct single {
    const uint32_t *groups;
    struct join_index *index;
    uint64_t ranges;
    unsigned repeats; /* atomic: some group came twice */
};

static void single_block(struct single *j, uint64_t begin, uint32_t count, uint32_t low, uint32_t span)
{
    uint32_t own[JOIN_BLOCK], at[JOIN_BLOCK], n = 0, *row = j->index->row;
    for (uint32_t i = 0; i < count; i++) {
        own[n] = j->groups[begin + i];
        at[n] = (uint32_t)(begin + i);
        n += own[n] - low < span;
    }
    for (uint32_t i = 0; i < n; i++)
        __builtin_prefetch(&row[own[i]], 1);
    for (uint32_t i = 0; i < n; i++) {
        if (row[own[i]] != JOIN_NONE)
            __atomic_store_n(&j->repeats, 1, __ATOMIC_RELAXED);
        row[own[i]] = at[i];
    }
}

static void single_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct single *j = arg;
    struct join_index *x = j->index;
    uint64_t low = x->groups / j->ranges * begin;
    uint64_t high = end == j->ranges ? x->groups : x->groups / j->ranges * end;
    (void)worker;
    memset(x->row + low, 0xff, (high - low) * sizeof *x->row);
    for (uint64_t at = 0; at < x->rows && !__atomic_load_n(&j->repeats, __ATOMIC_RELAXED); at += JOIN_BLOCK)
        single_block(j, at, x->rows - at < JOIN_BLOCK ? (uint32_t)(x->rows - at) : JOIN_BLOCK, (uint32_t)low,
                     (uint32_t)(high - low));
}

static cohort_status cpu_join_single(cohort_context *context, const uint32_t *groups, struct join_index *x)
{
    uint64_t threads = cpu_device(context)->threads;
    struct single j = {groups, x, x->rows <= ROW_GRAIN || x->groups < threads ? 1 : threads, 0};
    cpu_parallel(context, j.ranges, 1, single_part, &j);
    x->unique = !j.repeats;
    return COHORT_OK;
}

static cohort_status cpu_join_group(cohort_context *context, const uint32_t *groups, struct join_index *x)
{
    (void)context;
    count_groups(groups, x);
    /* start[g + 1] becomes where group g begins, and, row by row, where it ends. */
    for (uint64_t g = 0, sum = 0; g < x->groups; g++) {
        uint64_t count = x->start[g + 1];
        x->start[g + 1] = (uint32_t)sum;
        sum += count;
    }
    for (uint64_t i = 0; i < x->rows; i++)
        if (groups[i] != JOIN_NONE)
            x->row[x->start[groups[i] + 1]++] = (uint32_t)i;
    x->repeated[0] = x->row[x->start[groups[x->repeated[1]]]];
    return COHORT_OK;
}

static cohort_status cpu_join_repeated(cohort_context *context, const uint32_t *groups, uint64_t n,
                                       const uint64_t *first, uint64_t out[2])
{
    (void)context;
    out[0] = out[1] = ~0ull;
    for (uint64_t i = 0; i < n; i++)
        if (groups[i] != JOIN_NONE && first[groups[i]] != i) {
            out[0] = first[groups[i]];
            out[1] = i;
            break;
        }
    return COHORT_OK;
}

/* ---- left rows ----------------------------------------------------------------------------------------- */

/* How many right rows `at` stands for. */
static inline uint64_t length_of(const struct join_index *x, uint32_t at)
{
    if (at == JOIN_NONE)
        return 0;
    return x->unique ? 1 : x->start[at + 1] - x->start[at];
}

/* How many pairs come of a left row that has `length` matches. */
static inline uint64_t pairs_of(enum join_rule rule, uint64_t length)
{
    return rule == JOIN_INNER   ? length
           : rule == JOIN_OUTER ? length + !length
           : rule == JOIN_SEMI  ? length != 0
                                : !length;
}

static void mark(const struct join_index *x, uint32_t at)
{
    uint32_t *word = &x->met[at / 32], bit = 1u << at % 32;
    if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

/* Groups become right rows. These lie anywhere: they are asked for before any is used. */
static void look_up_rows(const struct join_index *x, uint32_t *at, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        __builtin_prefetch(&x->row[at[i] == JOIN_NONE ? 0 : at[i]]);
    for (uint64_t i = 0; i < count && x->groups; i++) {
        const uint32_t is_there = 0u - (at[i] != JOIN_NONE);
        at[i] = x->row[at[i] & is_there] | ~is_there;
    }
}

/* Pairs of left rows that have a match each, or none. */
static uint64_t count_single(const struct join_probe *p, uint32_t *at, uint64_t count)
{
    uint64_t hits = 0;
    if (p->index->row)
        look_up_rows(p->index, at, count);
    for (uint64_t i = 0; i < count; i++)
        hits += at[i] != JOIN_NONE;
    return hits * pairs_of(p->rule, 1) + (count - hits) * pairs_of(p->rule, 0);
}

static uint64_t count_runs(const struct join_probe *p, const uint32_t *at, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += pairs_of(p->rule, length_of(p->index, at[i]));
    return sum;
}

static void count_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct join_probe *p = arg;
    (void)worker;
    for (uint64_t i = begin, count; i < end; i += count) {
        uint32_t *at = p->at + i;
        count = end - i < JOIN_BLOCK ? end - i : JOIN_BLOCK;
        p->before[i / JOIN_BLOCK + 1] =
            p->index->unique ? count_single(p, at, count) : count_runs(p, at, count);
        for (uint64_t k = 0; p->marks && k < count; k++)
            if (length_of(p->index, at[k]))
                mark(p->index, at[k]);
    }
}

/* a[i] becomes the sum of a[0 .. i]. */
static void add_up(uint64_t *a, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++)
        a[i] += a[i - 1];
}

static cohort_status cpu_join_count(cohort_context *context, struct join_probe *p)
{
    p->before[0] = 0;
    cohort_status s = COHORT_OK;
    if (p->marks) /* they last: a probe that is ended leaves none */
        cpu_parallel(context, p->n, ROW_GRAIN, count_part, p);
    else
        s = cpu_parallel_told(context, "join", p->n, ROW_GRAIN, count_part, p);
    if (!s)
        add_up(p->before, join_blocks(p->n) + 1);
    p->total = s ? 0 : p->before[join_blocks(p->n)];
    return s;
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

/* The last of n blocks that begins at `wanted` or before; before[n] > wanted. */
static uint64_t block_of(const uint64_t *before, uint64_t n, uint64_t wanted)
{
    uint64_t low = 0, high = n; /* before[low] <= wanted < before[high] */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (before[middle] <= wanted)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static inline void put(void *rows, uint32_t bytes, uint64_t i, uint64_t row)
{
    if (!rows)
        return;
    if (bytes == 4)
        ((uint32_t *)rows)[i] = (uint32_t)row;
    else
        ((uint64_t *)rows)[i] = row;
}

/* The k-th match of what stands at a left row, of an index that is not unique; none: all ones. */
static inline uint64_t match_of(const struct join_probe *p, uint32_t at, uint64_t k, uint64_t length)
{
    const struct join_index *x = p->index;
    return length ? x->row[x->start[at] + k] : ~0ull;
}

/* Pairs begin .. end of the page where a left row has one match at most, and `row` is the left row of the
 * first: without a branch on whether it has one. What a row without a pair writes, the next one overwrites;
 * nothing is written behind the last one. */
static inline __attribute__((always_inline)) void put_single(const struct join_page *page, uint32_t bytes,
                                                             uint64_t row, uint64_t begin, uint64_t end)
{
    const struct join_probe *p = page->probe;
    const uint64_t if_hit = pairs_of(p->rule, 1), if_miss = pairs_of(p->rule, 0);
    for (uint64_t to = begin; to < end; row++) {
        const uint32_t at = p->at[row];
        put(page->left, bytes, to, row);
        put(page->right, bytes, to, at == JOIN_NONE ? ~0ull : at);
        to += at == JOIN_NONE ? if_miss : if_hit;
    }
}

/* The same where it may have any number of matches; `skip` pairs of the first row are not asked for. */
static void put_runs(const struct join_page *page, uint64_t row, uint64_t skip, uint64_t begin, uint64_t end)
{
    const struct join_probe *p = page->probe;
    for (uint64_t to = begin; to < end; row++) {
        uint64_t length = length_of(p->index, p->at[row]), pairs = pairs_of(p->rule, length);
        for (; skip < pairs && to < end; skip++, to++) {
            put(page->left, page->bytes, to, row);
            put(page->right, page->bytes, to, match_of(p, p->at[row], skip, length));
        }
        skip = skip > pairs ? skip - pairs : 0;
    }
}

/* Pairs begin .. end of the page. */
static void pairs_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct join_page *page = arg;
    const struct join_probe *p = page->probe;
    uint64_t wanted = page->first + begin, block = block_of(p->before, join_blocks(p->n), wanted);
    uint64_t row = block * JOIN_BLOCK, skip = wanted - p->before[block];
    (void)worker;
    for (; p->index->unique && skip; row++)
        skip -= pairs_of(p->rule, length_of(p->index, p->at[row]));
    if (!p->index->unique)
        put_runs(page, row, skip, begin, end);
    else if (page->bytes == 4)
        put_single(page, 4, row, begin, end);
    else
        put_single(page, 8, row, begin, end);
}

static cohort_status cpu_join_pairs(cohort_context *context, const struct join_page *page)
{
    return cpu_parallel_told(context, "join", page->count, PAIR_GRAIN, pairs_part, (void *)(uintptr_t)page);
}

/* ---- right rows that were not met ---------------------------------------------------------------------- */

static void set_row(struct join_rest *r, uint64_t row)
{
    __atomic_fetch_or(&r->met[row / 64], 1ull << row % 64, __ATOMIC_RELAXED);
}

static void met_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct join_rest *r = arg;
    const struct join_index *x = r->index;
    (void)worker;
    for (uint64_t at = begin; at < end; at++) {
        if (!(x->met[at / 32] >> at % 32 & 1))
            continue;
        if (x->unique)
            set_row(r, at);
        for (uint64_t i = x->unique ? 0 : x->start[at]; !x->unique && i < x->start[at + 1]; i++)
            set_row(r, x->row[i]);
    }
}

static void rest_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct join_rest *r = arg;
    (void)worker;
    for (uint64_t span = begin / JOIN_SPAN; span * JOIN_SPAN < end; span++) {
        uint64_t left = r->index->rows - span * JOIN_SPAN, sum = left < JOIN_SPAN ? left : JOIN_SPAN;
        for (uint64_t w = span * (JOIN_SPAN / 64); w < (span + 1) * (JOIN_SPAN / 64); w++)
            sum -= (unsigned)__builtin_popcountll(r->met[w]);
        r->before[span + 1] = sum;
    }
}

static cohort_status cpu_join_rest(cohort_context *context, struct join_rest *r)
{
    uint64_t spans = join_spans(r->index->rows);
    memset(r->met, 0, spans * (JOIN_SPAN / 8));
    r->before[0] = 0;
    cpu_parallel(context, r->index->unique ? r->index->rows : r->index->groups, ROW_GRAIN, met_part, r);
    cpu_parallel(context, r->index->rows, ROW_GRAIN, rest_part, r);
    add_up(r->before, spans + 1);
    r->total = r->before[spans];
    return COHORT_OK;
}

static cohort_status cpu_join_rest_rows(cohort_context *context, const struct join_rest *r, uint64_t first,
                                        uint64_t count, uint32_t bytes, void *rows)
{
    uint64_t span = block_of(r->before, join_spans(r->index->rows), first);
    uint64_t skip = first - r->before[span], done = 0;
    (void)context;
    for (uint64_t word = span * (JOIN_SPAN / 64); done < count; word++) {
        uint64_t last = r->index->rows - word * 64;
        uint64_t bits = ~r->met[word] & (last < 64 ? (1ull << last) - 1 : ~0ull);
        uint64_t here = (unsigned)__builtin_popcountll(bits);
        if (skip >= here) {
            skip -= here;
            continue;
        }
        for (; bits && done < count; bits &= bits - 1) {
            if (skip)
                skip--;
            else
                put(rows, bytes, done++, word * 64 + (unsigned)__builtin_ctzll(bits));
        }
    }
    return COHORT_OK;
}

const struct join_backend cpu_join_backend = {
    .dense = cpu_join_dense,
    .single = cpu_join_single,
    .group = cpu_join_group,
    .repeated = cpu_join_repeated,
    .count = cpu_join_count,
    .pairs = cpu_join_pairs,
    .rest = cpu_join_rest,
    .rest_rows = cpu_join_rest_rows,
};
