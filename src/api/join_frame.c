/* join_frame.c: pairs as columns: their row numbers in workspace, and what both sides have there. */
#include "join.h"

/* Both sides, the pairs that are asked for, and their rows. */
struct asked {
    cohort_matches *matches;
    cohort_frame *side[2]; /* NULL: not wanted */
    uint64_t first, n;
    uint32_t bytes; /* of a row number */
    void *taken;    /* of the pool of the matches' `host` */
};

static cohort_status check_side(const struct asked *a, int right)
{
    static const char *const names[] = {"left", "right"};
    const cohort_frame *frame = a->side[right];
    cohort_context *context = a->matches->context;
    const uint64_t rows = right ? a->matches->join->index.rows : a->matches->probe.n;
    if (!frame)
        return COHORT_OK;
    if (frame->context != context)
        return context_fail(context, COHORT_OTHER_CONTEXT,
                            "cohort_join_frame: %s belongs to another context than matches", names[right]);
    if (frame->rows != rows)
        return context_fail(
            context, COHORT_RANGE, "cohort_join_frame: %s has %llu %s; the %s side of the join has %llu",
            names[right], COUNTED(frame->rows, "row", "rows"), names[right], (unsigned long long)rows);
    return COHORT_OK;
}

static cohort_status check(const struct asked *a)
{
    cohort_status s = check_side(a, 0);
    if (!s)
        s = check_side(a, 1);
    if (!s && !a->side[0] && !a->side[1])
        s = context_fail(a->matches->context, COHORT_NULL,
                         "cohort_join_frame: left and right are NULL; one of them must be a frame");
    if (!s && a->n > INT64_MAX / 64)
        s = context_fail(a->matches->context, COHORT_OVERFLOW, "cohort_join_frame: n is %llu",
                         (unsigned long long)a->n);
    return s;
}

/* Of side 0 or 1. */
static void *rows_of(const struct asked *a, int side)
{
    return (char *)a->taken + (side && a->side[0] ? a->n * a->bytes : 0);
}

static cohort_status number(struct asked *a)
{
    cohort_context *host = a->matches->host;
    const uint64_t sides = (a->side[0] != NULL) + (uint64_t)(a->side[1] != NULL);
    cohort_status s = pool_take(host, sides * a->n * a->bytes, &a->taken);
    const struct join_page page = {&a->matches->probe,
                                   a->first,
                                   a->n,
                                   a->bytes,
                                   a->side[0] ? rows_of(a, 0) : NULL,
                                   a->side[1] ? rows_of(a, 1) : NULL};
    return s || !a->n ? s : host->backend->join->pairs(host, &page);
}

/* The side's columns at its rows; where the join lies in the host's memory, and the frame does not, the
 * numbers are copied. */
static cohort_status fetch(const struct asked *a, int side, cohort_frame **out)
{
    cohort_context *context = a->matches->context, *host = a->matches->host;
    const uint64_t bytes = a->n * a->bytes;
    void *own = NULL;
    if (context == host)
        return frame_gather(a->side[side], a->n, a->bytes, rows_of(a, side), out);
    cohort_status s = pool_take(context, bytes, &own);
    if (!s)
        s = context_copy(context, own, rows_of(a, side), bytes);
    if (!s)
        s = frame_gather(a->side[side], a->n, a->bytes, own, out);
    pool_give(context, own);
    return s;
}

static cohort_status make(struct asked *a, const char *suffix, cohort_frame **out)
{
    cohort_frame *part[2] = {NULL, NULL};
    cohort_status s = staged_status(a->matches->context, a->matches->host, number(a));
    for (int side = 0; !s && side < 2; side++)
        if (a->side[side])
            s = fetch(a, side, &part[side]);
    pool_give(a->matches->host, a->taken);
    if (!s && part[0] && part[1])
        s = frame_beside(part[0], part[1], suffix, out);
    else if (!s)
        *out = cohort_frame_retain(part[0] ? part[0] : part[1]);
    cohort_frame_release(part[0]);
    cohort_frame_release(part[1]);
    return s;
}

cohort_status cohort_join_frame(cohort_matches *matches, uint64_t first, uint64_t n, cohort_frame *left,
                                cohort_frame *right, const char *suffix, cohort_frame **out)
{
    CALL_ON(matches);
    const char *call = "cohort_join_frame";
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "matches", matches);
    if (!s)
        s = frame_need(matches->context, call, "out", out);
    if (s)
        return s;
    const uint64_t total = matches->probe.total, rows = matches->join->index.rows;
    struct asked a = {.matches = matches, .side = {left, right}};
    a.first = first < total ? first : total;
    a.n = n < total - a.first ? n : total - a.first;
    a.bytes = matches->probe.n < UINT32_MAX && rows < UINT32_MAX ? 4 : 8;
    s = check(&a);
    if (!s)
        s = make(&a, suffix, out);
    return s ? s : context_wait(matches->context);
}
