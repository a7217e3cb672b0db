/* search.h: shortest paths from one node to all others, by delta-stepping (Meyer and Sanders, 2003) as on
 * GPUs (Davidson, Baxter, Garland, Owens, 2014), with a multisplit where those sorted; by the same with a
 * radix sort; and by Bellman and Ford's method. */
#ifndef SSSP_SEARCH_H
#define SSSP_SEARCH_H

#include <cohort.h>

#include "graph.h"

struct sssp_relax;
struct sssp_sizes;
struct sssp_state;

/* What does the rounds: the host's threads, or a GPU. The functions return 0, or -1. */
typedef struct machine {
    cohort_context *context;
    const char *name;
    void *self;
    /* One round, in the order of the context's calls: relax.h. */
    int (*relax)(void *self, const struct sssp_relax *round);
    /* Waits, and brings the state to the host. */
    int (*fetch)(void *self, struct sssp_state *to, const struct sssp_state *from);
    /* Does `work`, which enqueues the rounds that sssp_choose has named, again and again while state->more,
     * without the host between, and before it kills what lies between the pool's entries and the end of its
     * size; tells how long it took. NULL: it cannot. */
    int (*repeat)(void *self, int (*work)(void *arg, unsigned which), void *arg,
                  const struct sssp_sizes *sizes, double *seconds);
    void (*close)(void *self);
} machine;

/* Return 0, or -1 with a line in `why`. */
int threads_open(machine *m, unsigned threads, char why[256]);
int cuda_open(machine *m, const char *device, char why[256]); /* cuda.cu; only if SSSP_CUDA is defined */

typedef enum bucketing {
    BUCKETING_MULTISPLIT,
    BUCKETING_SORT,
    /* delta a power of two, not resident: among entries of the last step the dead would be lost */
    BUCKETING_STEPS,
    BUCKETING_NONE,
    BUCKETINGS
} bucketing;

enum { SEARCH_BUCKETS = 256 };

typedef struct search_plan {
    bucketing how;
    uint32_t source;
    uint32_t delta;   /* how wide a bucket is */
    uint32_t buckets; /* of MULTISPLIT, 2 to SEARCH_BUCKETS */
    int resident;     /* the host waits for the whole search, not for each round */
} search_plan;

typedef struct search_result {
    double seconds; /* from the first round to the last distance; the graph is in place */
    uint64_t rounds;
    uint64_t entries; /* put in */
    uint64_t moved;   /* entries that multisplits or sorts went over */
} search_result;

/* A graph in the machine's memory, with room for searches. */
typedef struct search search;
int search_open(search **out, const machine *m, const graph *g, char why[256]);
int search_run(search *s, const search_plan *plan, search_result *result, char why[256]);
int search_distances(search *s, uint32_t *distance, char why[256]);
void search_close(search *s);

#endif
