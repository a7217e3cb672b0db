/* threads.c: the rounds of a search on the host's threads, with a CPU context of the library. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relax.h"
#include "search.h"

enum { FEW = 4096 }; /* entries that one thread does sooner than it calls others */

typedef struct team {
    cohort_context *context;
    unsigned threads;
    struct sssp_relax round;
    co_u64 end, taken; /* of the frontier */
} team;

/* Parts are taken as they come: nodes differ in their edges. */
static void relax_share(void *arg, unsigned share, unsigned shares)
{
    team *t = arg;
    co_u64 part = t->end / shares / 8 + 64, from;
    (void)share;
    while ((from = co_add64(&t->taken, part)) < t->end)
        sssp_relax_part(&t->round, from, from + part < t->end ? from + part : t->end, t->end);
}

static int relax(void *self, const struct sssp_relax *round)
{
    team *t = self;
    co_u32 bucket;
    if (sssp_passes(round))
        return 0;
    t->round = *round;
    t->taken = 0;
    if (!round->offsets && round->delta && sssp_live(round)) {
        round->state->end = sssp_sorted_end(round);
        round->state->bucket = round->keys[0] / round->delta;
    }
    t->end = sssp_end(round, &bucket);
    team_run(t->end < FEW ? 1 : t->threads, relax_share, t);
    sssp_settle(round, t->end, bucket);
    return 0;
}

static int fetch(void *self, struct sssp_state *to, const struct sssp_state *from)
{
    (void)self;
    *to = *from;
    return 0;
}

static void close_team(void *self)
{
    team *t = self;
    if (t)
        cohort_context_destroy(t->context);
    free(t);
}

int threads_open(machine *m, unsigned threads, char why[256])
{
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    team *t = calloc(1, sizeof *t);
    *m = (machine){NULL, "CPU", t, relax, fetch, NULL, close_team};
    options.device = "cpu";
    options.threads = threads;
    if (!t || cohort_context_create(&options, &t->context) || cohort_context_get_info(t->context, &info)) {
        snprintf(why, 256, "%.200s", t ? cohort_message(NULL) : "no memory");
        return -1;
    }
    m->context = t->context;
    t->threads = (unsigned)info.threads;
    return 0;
}
