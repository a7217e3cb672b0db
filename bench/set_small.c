/* set_small.c: batches of 1 to 100,000 pairs of small sets, one set against each of many tiny ones, and sets
 * of every density. */
#include "set.h"

#include <stdlib.h>
#include <string.h>

/* ---- batches of small operations ----------------------------------------------------------------------- */

int set_small_sets(const set_bench *s, cohort_sets **sets, fault *fault)
{
    uint64_t n = 0, *offsets = malloc((SET_SMALL + 1) * sizeof *offsets);
    uint32_t *members = malloc((uint64_t)SET_SMALL * SET_SMALL_MOST * sizeof *members);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_status made = COHORT_NO_MEMORY;
    for (uint64_t set = 0; set < SET_SMALL && offsets && members; set++) {
        offsets[set] = n;
        n += set_small_fill(set, members + n);
        offsets[set + 1] = n;
    }
    source.n = n;
    source.sets = SET_SMALL;
    source.members = members;
    source.offsets = offsets;
    if (offsets && members)
        made = cohort_sets_build(s->b->dev.context, &source, sets);
    free(offsets);
    free(members);
    return made ? bench_fault(s->b, made, "bench set: small sets", fault) : CLI_OK;
}

/* Many tiny sets, and behind them one that is asked against each. */
int set_tiny_sets(const set_bench *s, cohort_sets **sets, fault *fault)
{
    uint64_t n = 0, count = s->sizes.tiny, *offsets = malloc((count + 2) * sizeof *offsets);
    uint32_t *members = malloc((count * SET_TINY_MOST + SET_TINY_ASKED) * sizeof *members);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_status made = COHORT_NO_MEMORY;
    for (uint64_t set = 0; set < count && offsets && members; set++) {
        offsets[set] = n;
        n += set_tiny_fill(set, members + n);
    }
    for (uint64_t i = 0; i < SET_TINY_ASKED && offsets && members; i++)
        members[n + i] = members[i * (n / SET_TINY_ASKED)];
    source.n = n + SET_TINY_ASKED;
    source.sets = count + 1;
    source.members = members;
    source.offsets = offsets;
    if (offsets && members) {
        offsets[count] = n;
        offsets[count + 1] = source.n;
        made = cohort_sets_build(s->b->dev.context, &source, sets);
    }
    free(offsets);
    free(members);
    return made ? bench_fault(s->b, made, "bench set: tiny sets", fault) : CLI_OK;
}

static int set_each(const set_bench *s, fault *fault)
{
    /* of each row 9 bytes of members and 8 of its set are read, and 8 are written */
    bench_row like = {
        .scale = 1e-6, .unit = "M/s", .limit = s->b->dev.limits.copy_bytes / 25, .limit_name = "B/25"};
    set_asked a = {.experiment = "small",
                   .keys = "1,000 members and each set of 2.3",
                   .suffix = " each",
                   .op = COHORT_SETS_AND,
                   .rows = s->sizes.tiny + 1,
                   .arity = 1,
                   .each = 1,
                   .items = (double)(s->sizes.tiny + 1),
                   .repeat = 1,
                   .counts = 1,
                   .like = &like};
    int status = set_tiny_sets(s, &a.sets, fault);
    if (status)
        return status;
    a.members = malloc(sizeof *a.members);
    if (a.members)
        *a.members = s->sizes.tiny;
    status = set_measure_query(s, &a, fault);
    cohort_sets_destroy(a.sets);
    return status;
}

int set_small(const set_bench *s, fault *fault)
{
    cohort_sets *sets = NULL;
    int status = set_small_sets(s, &sets, fault);
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    cohort_status told = status ? COHORT_OK : cohort_sets_get_info(sets, &info);
    if (told)
        status = bench_fault(s->b, told, "bench set: small sets", fault);
    /* of two sets their words and where their members begin are read, wherever they lie */
    bench_row like = set_row(s, "small", "", "", 0);
    bench_row_limit(&s->b->dev, &like, 'R', info.bytes);
    like.limit /= 4;
    strncat(like.limit_name, "/4", sizeof like.limit_name - strlen(like.limit_name) - 1);
    like.scale = 1e-6;
    snprintf(like.unit, sizeof like.unit, "M/s");
    const uint64_t least = s->b->dev.cpu ? 1 : 10;
    for (uint64_t rows = 1; rows <= SET_SMALL_BATCH && !status; rows *= 10) {
        uint64_t repeat = (s->b->dev.cpu ? SET_SMALL_BATCH : 10000) / rows;
        set_asked a = {.experiment = "small",
                       .keys = "small sets",
                       .sets = sets,
                       .op = COHORT_SETS_AND,
                       .rows = rows,
                       .arity = 2,
                       .items = (double)rows,
                       .repeat = (unsigned)(repeat < least  ? least
                                            : repeat < 1000 ? repeat
                                                            : 1000),
                       .counts = 1,
                       .makes = 1,
                       .like = &like};
        a.members = malloc(2 * rows * sizeof *a.members);
        for (uint64_t i = 0; i < 2 * rows && a.members; i++)
            a.members[i] = set_small_operand(i);
        status = set_measure_query(s, &a, fault);
    }
    cohort_sets_destroy(sets);
    return status ? status : set_each(s, fault);
}

/* ---- densities ----------------------------------------------------------------------------------------- */

static int density_measure(const set_bench *s, uint64_t each, fault *fault)
{
    uint64_t n = SET_UNIVERSE / each, offsets[3] = {0, n, 2 * n};
    uint32_t *members = malloc(2 * n * sizeof *members);
    cohort_sets *sets = NULL;
    char keys[40];
    set_work w = {.source = COHORT_SETS_SOURCE_INIT,
                  .query = COHORT_SETS_QUERY_INIT,
                  .target = COHORT_SETS_TARGET_INIT};
    if (!members)
        return set_no_memory(fault, 2 * n * 4);
    for (uint64_t i = 0; i < 2 * n; i++)
        members[i] = set_even_member(i / n, each, i % n);
    w.source.n = 2 * n;
    w.source.sets = 2;
    w.source.members = members;
    w.source.offsets = offsets;
    cohort_status made = cohort_sets_build(s->b->dev.context, &w.source, &sets);
    free(members);
    int status = made ? bench_fault(s->b, made, "bench set: sets drawn evenly", fault) : CLI_OK;
    snprintf(keys, sizeof keys, "1/%llu of 10,000,000", (unsigned long long)each);
    if (!status)
        status = set_measure_neighbours(s, "density", keys, sets, COHORT_SETS_AND, 1, (double)(2 * n), NULL,
                                        fault);
    uint64_t *pair = malloc(2 * sizeof *pair);
    if (pair) {
        pair[0] = 0;
        pair[1] = 1;
    }
    void *out = set_room(s, n * 4);
    if (!status && (!set_placed(s, &pair, 2 * sizeof *pair) || !out))
        status = set_no_memory(fault, n * 4);
    w.query.op = COHORT_SETS_AND;
    w.query.collections = &sets;
    w.query.collections_count = 1;
    w.query.rows = 1;
    w.query.arity = 2;
    w.query.members = pair;
    w.target.capacity = n;
    w.target.members = out;
    bench_row row = set_row(s, "density", "set and export", keys, 1);
    if (!status)
        status = set_measure(s, &row, set_work_export, &w, (double)(2 * n),
                             n > 500000 && s->b->dev.cpu ? 1 : 5, 1, fault);
    set_give(s, pair);
    set_give(s, out);
    cohort_sets_destroy(sets);
    return status;
}

int set_densities(const set_bench *s, fault *fault)
{
    int status = CLI_OK;
    for (int i = 0; i < SET_DENSITIES && !status; i++)
        status = density_measure(s, set_densities_each[i], fault);
    return status;
}
