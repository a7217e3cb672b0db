/* test_group_calls.c: calls of group-by that fail: what is wrong with them is told, and nothing has changed;
 * and memory that ends in the middle of an add or a merge. */
#include "groups.h"

/* What belongs to another context works there, and not here. */
static void refuses_strangers(struct test *t, cohort_group *g, const uint32_t *k, const float *v)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL}};
    cohort_context_options options = test_context_options(t);
    cohort_context *other = NULL, *on = t->context;
    OK(t, cohort_context_create(&options, &other));
    cohort_frame *frame = two_columns(t, other, 2, k, COHORT_F32, v);
    cohort_group *there = simple(t, other, 1, a, 0);
    CHECK(t, !cohort_group_add(there, frame));
    FAILS(t, on, cohort_group_add(g, frame), COHORT_OTHER_CONTEXT, "frame", NULL);
    FAILS(t, on, cohort_group_merge(g, there), COHORT_OTHER_CONTEXT, "from", NULL);
    FAILS(t, on, cohort_group_merge_partial(g, frame), COHORT_OTHER_CONTEXT, "partial", NULL);
    cohort_frame_release(frame);
    cohort_group_destroy(there);
    cohort_context_destroy(other);
}

static void refuses(struct test *t)
{
    static const char *const key[] = {"key"}, *const missing[] = {"nothing"};
    cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL}},
                     any[] = {{COHORT_AGGREGATE_ANY, 0, "v", NULL}};
    cohort_aggregate none[] = {{COHORT_AGGREGATE_MEAN, 0, "w", NULL}};
    cohort_context *on = t->context;
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    uint32_t k[2] = {1, 2};
    float v[2] = {1, 2};
    int32_t w[2] = {1, 2};
    cohort_frame *f = two_columns(t, on, 2, k, COHORT_F32, v), *h = two_columns(t, on, 2, k, COHORT_I32, w),
                 *out = NULL;
    cohort_group *g = NULL, *other = NULL;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "keys", "0");
    o.keys = 4097;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "keys", "4097");
    o.keys = 1;
    o.aggregates = 4097;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "aggregates", "4097");
    o.aggregates = 0;
    o.reproducible = 2;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "reproducible", "2");
    o.reproducible = 0;
    o.reserved = 7;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "reserved", "7");
    o.reserved = 0;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_NULL, "key", NULL);
    o.key = key;
    o.aggregates = 1;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_NULL, "aggregate", NULL);
    a[0].op = 99;
    o.aggregate = a;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "aggregate[0]", "99");
    a[0].op = COHORT_AGGREGATE_SUM;
    a[0].reserved = 5;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "aggregate[0]", "5");
    a[0].reserved = 0;
    a[0].column = NULL;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_NULL, "aggregate[0] (sum)", NULL);
    a[0].column = "v";
    FAILS(t, on, cohort_group_create(on, &o, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, NULL, cohort_group_create(NULL, &o, &g), COHORT_NULL, "context", NULL);
    OK(t, cohort_group_create(on, &o, &g));
    FAILS(t, on, cohort_group_finish(g, 0, &out), COHORT_RANGE, "cohort_group_finish", "1 key");
    FAILS(t, on, cohort_group_partial(g, &out), COHORT_RANGE, "cohort_group_partial", "1 key");
    FAILS(t, on, cohort_group_finish(g, 2, &out), COHORT_RANGE, "flags", "2");
    FAILS(t, on, cohort_group_add(g, NULL), COHORT_NULL, "frame", NULL);
    OK(t, cohort_group_add(g, f));
    FAILS(t, on, cohort_group_add(g, h), COHORT_RANGE, "'v'", "(int32)");
    EQUAL(t, cohort_group_count(g), 2);
    o.aggregate = none;
    OK(t, cohort_group_create(on, &o, &other));
    FAILS(t, on, cohort_group_add(other, f), COHORT_RANGE, "mean", "'w'");
    FAILS(t, on, cohort_group_merge(g, other), COHORT_RANGE, "from", NULL);
    cohort_group_destroy(other);
    o.aggregate = any;
    OK(t, cohort_group_create(on, &o, &other));
    FAILS(t, on, cohort_group_add(other, f), COHORT_UNSUPPORTED, "any of column 'v'", "(float32)");
    OK(t, cohort_group_add(other, h)); /* the type of the frame that was refused is forgotten */
    cohort_group_destroy(other);
    o.key = missing;
    o.aggregate = a;
    OK(t, cohort_group_create(on, &o, &other));
    FAILS(t, on, cohort_group_add(other, f), COHORT_RANGE, "key", "'nothing'");
    FAILS(t, on, cohort_group_merge_partial(g, f), COHORT_CORRUPT, "'v'", NULL);
    FAILS(t, on, cohort_group_merge_partial(g, NULL), COHORT_NULL, "partial", NULL);
    refuses_strangers(t, g, k, v);
    FAILS(t, NULL, cohort_group_merge(NULL, g), COHORT_NULL, "into", NULL);
    cohort_group_destroy(other);
    cohort_group_destroy(g);
    cohort_group_destroy(NULL);
    EQUAL(t, cohort_group_count(NULL), 0);
    cohort_frame_release(f);
    cohort_frame_release(h);
}

/* Memory ends at some place of an add or a merge: the object goes on from where it was. */
static void no_memory(struct test *t)
{
    for (uint64_t limit = 1;; limit += 1 + limit / 5) {
        struct ledger ledger = {.limit = limit};
        cohort_context_options options = test_context_options(t);
        cohort_context *context = NULL;
        struct plan p;
        struct due d;
        struct model m;
        int whole = 0;
        options.alloc = test_allocator(t, &ledger);
        if (!cohort_context_create(&options, &context)) {
            memset(&p, 0, sizeof p);
            p.keys = 2, p.values = 2, p.frames = 3;
            p.format[0] = "vu", p.format[1] = "l", p.format[2] = "i", p.format[3] = "u";
            for (uint32_t c = 0; c < 4; c++)
                snprintf(p.name[c], sizeof p.name[c], "%c%u", c < 2 ? 'k' : 'v', c);
            p.key[0] = p.name[0], p.key[1] = p.name[1];
            add_aggregates(t, &p);
            for (uint32_t i = 0; i < p.frames; i++) {
                struct model_plan plan = {.rows = 100 + 150 * i, .distinct = 20, .nulls = 10, .wild = 0};
                model_open(&p.model[i], plan.rows, 4);
                for (uint32_t c = 0; c < 4; c++, plan.wild = c != 2)
                    model_fill(t, &p.model[i], c, p.name[c], p.format[c], &plan);
                p.frame[i] = model_frame(t, &p.model[i], context);
            }
            cohort_group *g = group_of(t, context, &p), *part = group_of(t, context, &p);
            uint32_t done = 0;
            cohort_frame *out = NULL;
            for (int tries = 0; g && part && done < p.frames && tries < 3; tries++) {
                cohort_status s = COHORT_OK;
                for (; !s && done < p.frames; done += !s) {
                    if (done != 1)
                        s = cohort_group_add(g, p.frame[done]);
                    else if (!cohort_group_count(part))
                        s = cohort_group_add(part, p.frame[done]);
                    if (!s && done == 1)
                        s = cohort_group_merge(g, part);
                }
                CHECKF(t, !s || s == COHORT_NO_MEMORY, "%d: %s", s, cohort_message(context));
                whole = done == p.frames;
                ledger.limit = tries ? 0 : ledger.limit * 2; /* what failed is done again with more memory */
            }
            if (g && part && done == p.frames && !cohort_group_finish(g, 0, &out)) {
                walk(&p, &d);
                struct test own = *t;
                own.context = context;
                model_of_frame(&own, &m, out);
                check_result(t, &p, &d, &m);
                model_close(&m);
                due_close(&d);
            }
            whole = whole && limit > 1u << 22;
            cohort_frame_release(out);
            cohort_group_destroy(g);
            cohort_group_destroy(part);
            plan_close(&p);
            cohort_context_destroy(context);
        }
        test_ledger_check(t, &ledger);
        if (whole || limit > 1u << 27)
            break;
    }
}

const struct test_case test_cases[] = {
    {"refuses", refuses, 0},
    {"no memory", no_memory, TEST_ON_CPU | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
