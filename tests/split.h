/* split.h: functions of keys with their naive answers, and multisplits that are made, done and judged. */
#ifndef TEST_SPLIT_H
#define TEST_SPLIT_H

#include "test.h"

#define SPLIT_NO_ID UINT64_MAX

/* ---- functions of keys --------------------------------------------------------------------------------- */

enum key_pattern {
    KEYS_RANDOM,
    KEYS_SORTED,
    KEYS_FALLING,
    KEYS_EQUAL,
    KEYS_SKEWED, /* nine of ten are one */
    KEYS_FEW,
    KEYS_EDGES,
    KEYS_CYCLIC, /* 0, 1, 2, .. : one after the other to the next bucket */
    KEY_PATTERNS
};

/* Keys below `range` (0: all), mostly. */
void split_keys(struct test *, struct column *keys, enum key_pattern, uint64_t range);

/* A function to m ids (0: a predicate) of one kind with numbers that make sense for these keys. */
struct split_model {
    cohort_fn fn;     /* as calls get it, */
    const void *data; /* with the data in host memory */
    uint64_t m;
    unsigned key_bytes;
    int can_fail; /* some ids may be m or more */
};

struct split_model split_model(struct test *, cohort_fn_kind, uint64_t m, const struct column *keys,
                               int bad_ids);

/* What id the function gives the i-th key; SPLIT_NO_ID for none (or none below m). */
uint64_t split_model_id(const struct split_model *, uint64_t key, uint64_t i);

/* Keys for which a model of the kind is worth having: what range of them. */
uint64_t split_key_range(struct test *, cohort_fn_kind, uint64_t m);

const char *split_kind_name(cohort_fn_kind);

/* ---- payload ------------------------------------------------------------------------------------------- */

/* Column c's entry i, from which c and, with 4 bytes or more, i can be told. */
void payload_fill(struct column *, unsigned c);
void payload_entry(unsigned char *entry, uint64_t width, unsigned c, uint64_t i);
int payload_is(const struct column *, uint64_t at, unsigned c, uint64_t i);
uint64_t payload_index(const struct column *, uint64_t at, unsigned c); /* of 4 bytes or more, i below 2^32 */

/* Whether entries [from, count) of `now` are as in `before`, bytes of which there are as many. */
int unharmed(const struct column *now, const void *before, uint64_t from);
void *snapshot(struct test *, const struct column *); /* to be freed */

/* ---- multisplits --------------------------------------------------------------------------------------- */

enum split_where { SPLIT_NOT, SPLIT_HERE, SPLIT_THERE }; /* not wanted; in the arrays' memory; in the other */

struct split_plan {
    uint64_t n, m;
    unsigned key_bytes;
    cohort_fn_kind kind;
    enum key_pattern pattern;
    int bad_ids;
    unsigned columns;
    unsigned char width[COHORT_PAYLOADS_MOST];
    int keys_out;
    unsigned permutation_bytes; /* 0: none */
    unsigned rank_bytes;        /* 0: none */
    uint64_t segments;          /* 0: none */
    enum split_where offsets, counts;
    int unordered;
    cohort_split_method method;
    int in_place;
    int workspace; /* the caller's, of the exact size */
};

/* Stable, with keys and offsets, 4-byte keys, hashed, all else none. */
struct split_plan split_plan(uint64_t n, uint64_t m);

/* Anything that is allowed. */
struct split_plan split_random_plan(struct test *, uint64_t most_n);

/* Does it and judges it. */
void split_do(struct test *, const struct split_plan *);

/* The same with a model and keys that the case has made. */
void split_do_with(struct test *, const struct split_plan *, struct column *keys, const struct split_model *);

/* By what the header says of the methods: does this device offer the plan's? */
int split_offered(const struct test *, const struct split_plan *);

#endif
