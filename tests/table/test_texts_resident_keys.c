/* test_texts_resident_keys.c: factors, distinct keys, members and joins of keys that are dictionaries of
 * texts (worlds.h), on a GPU, against the same calls on a CPU, which test_keys.c and test_join.c judge. No
 * copy of the rows' size goes to the host, but for an order of fewer rows than a dictionary has values. */
#include "worlds.h"

/* ---- keys ---------------------------------------------------------------------------------------------- */

static cohort_frame *keys_of(struct test *t, const struct world *w, cohort_frame *frame)
{
    static const uint32_t columns[] = {0, 1, 2};
    cohort_frame *keys = NULL;
    OK(t, cohort_frame_select(frame, w->keys, columns, NULL, &keys));
    return keys;
}

static void same_ids(struct test *t, struct column *ids, const uint32_t *due, uint64_t n)
{
    column_fetch(ids);
    for (uint64_t i = 0; i < n; i++)
        REQUIREF(t, ((uint32_t *)ids->data)[i] == due[i], "row %llu: %u, not %u", (unsigned long long)i,
                 ((uint32_t *)ids->data)[i], due[i]);
}

/* Adds of all frames, then finds; half of the rounds find one frame before its add. */
static void factor_both(struct test *t, const struct world *w, cohort_frame *const *keys,
                        cohort_frame *const *cpu_keys)
{
    cohort_factor *f = NULL, *due = NULL;
    OK(t, cohort_factor_create(t->context, w->keys, w->nulls_equal, &f));
    OK(t, cohort_factor_create(w->cpu, w->keys, w->nulls_equal, &due));
    for (uint32_t step = 0; step < 2 * WORLD_FRAMES; step++) {
        uint32_t k = step % 2 && step < WORLD_FRAMES ? step + 1 : step / 2;
        int adds = !(step % 2);
        uint64_t n = w->model[k % WORLD_FRAMES].rows;
        struct column *ids = column_new(t, n, 4);
        uint32_t *right = malloc(n * 4 + 4);
        void *to = column_send(ids);
        watched_begin(t->context, 0);
        watched_check(t, adds ? cohort_factor_add(f, keys[k % WORLD_FRAMES], to)
                              : cohort_factor_find(f, keys[k % WORLD_FRAMES], to));
        OK(t, adds ? cohort_factor_add(due, cpu_keys[k % WORLD_FRAMES], right)
                   : cohort_factor_find(due, cpu_keys[k % WORLD_FRAMES], right));
        same_ids(t, ids, right, n);
        EQUAL(t, cohort_factor_count(f), cohort_factor_count(due));
        free(right);
    }
    cohort_factor_destroy(f);
    cohort_factor_destroy(due);
}

static void members_both(struct test *t, const struct world *w, cohort_frame *const *keys,
                         cohort_frame *const *cpu_keys)
{
    uint64_t n = w->model[1].rows, bytes = (n + 7) / 8;
    struct column *rows = column_new(t, n, 4), *bits = column_new(t, bytes, 1);
    uint32_t *due_rows = malloc(n * 4 + 4);
    uint8_t *due_bits = malloc(bytes + 1);
    void *rows_to = column_send(rows), *bits_to = column_send(bits);
    watched_begin(t->context, 0);
    cohort_status s = cohort_index_in(keys[1], keys[0], w->nulls_equal, 4, rows_to);
    if (!s)
        s = cohort_is_in(keys[1], keys[0], w->nulls_equal, bits_to);
    watched_check(t, s);
    OK(t, cohort_index_in(cpu_keys[1], cpu_keys[0], w->nulls_equal, 4, due_rows));
    OK(t, cohort_is_in(cpu_keys[1], cpu_keys[0], w->nulls_equal, due_bits));
    same_ids(t, rows, due_rows, n);
    column_fetch(bits);
    CHECK(t, !bytes || !memcmp(bits->data, due_bits, bytes));
    free(due_rows);
    free(due_bits);
}

static void distinct_both(struct test *t, cohort_frame *keys, cohort_frame *cpu_keys)
{
    for (uint32_t way = 0; way < 5; way++) {
        cohort_frame *a = NULL, *b = NULL;
        const uint32_t flags = way & 2 ? COHORT_SORTED : 0;
        void *ids = column_send(column_new(t, cohort_frame_rows(keys), 4));
        uint32_t *cpu_ids = malloc(cohort_frame_rows(keys) * 4 + 4);
        watched_begin(t->context, 0);
        cohort_status s = way == 4  ? cohort_factorize(keys, NULL, ids, &a)
                          : way & 1 ? cohort_value_counts(keys, flags, &a)
                                    : cohort_unique(keys, flags, &a);
        watched_within(t, s, flags ? world_ordered_bytes(a, cohort_frame_columns(keys)) : WATCHED_SMALL);
        OK(t, way == 4  ? cohort_factorize(cpu_keys, NULL, cpu_ids, &b)
              : way & 1 ? cohort_value_counts(cpu_keys, flags, &b)
                        : cohort_unique(cpu_keys, flags, &b));
        world_same(t, a, b);
        cohort_frame_release(a);
        cohort_frame_release(b);
        free(cpu_ids);
    }
}

static void keys(struct test *t)
{
    t->memory = TEST_DEVICE;
    for (uint64_t round = 0; round < test_scale(t, 10, 25, 80); round++) {
        struct world w;
        cohort_frame *own[WORLD_FRAMES], *cpu[WORLD_FRAMES];
        world_fill(t, &w, round % 3 ? 90 : 1500, round % 4 ? 1 + test_below(t, 50) : 900);
        world_open(t, &w, t->context);
        for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
            own[k] = keys_of(t, &w, w.frame[k]);
            cpu[k] = keys_of(t, &w, w.cpu_frame[k]);
        }
        factor_both(t, &w, own, cpu);
        members_both(t, &w, own, cpu);
        distinct_both(t, own[0], cpu[0]);
        for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
            cohort_frame_release(own[k]);
            cohort_frame_release(cpu[k]);
        }
        world_close(&w);
        column_drop(t, NULL);
    }
}

/* ---- joins --------------------------------------------------------------------------------------------- */

struct answer {
    uint64_t total, *left, *right;
};

static void read_pairs(struct test *t, cohort_matches *m, struct answer *a)
{
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    a->total = cohort_join_size(m);
    a->left = malloc(a->total * 8 + 8);
    a->right = malloc(a->total * 8 + 8);
    page.left = a->left;
    page.right = a->right;
    page.bytes = 8;
    page.capacity = a->total;
    OK(t, cohort_join_pairs(m, &page));
    EQUAL(t, page.written, a->total);
}

static void joins(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 10, 25, 80); round++) {
        if (!test_drawn(t, round, test_size(t, 1, 3)))
            continue;
        struct world w;
        cohort_frame *own[WORLD_FRAMES], *cpu[WORLD_FRAMES];
        cohort_join *join = NULL, *due = NULL;
        cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
        world_fill(t, &w, round % 3 ? 90 : 1200, round % 4 ? 1 + test_below(t, 50) : 900);
        world_open(t, &w, t->context);
        options.nulls_equal = w.nulls_equal;
        for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
            own[k] = keys_of(t, &w, w.frame[k]);
            cpu[k] = keys_of(t, &w, w.cpu_frame[k]);
        }
        watched_begin(t->context, 0);
        watched_check(t, cohort_join_build(own[0], &options, &join));
        OK(t, cohort_join_build(cpu[0], &options, &due));
        CHECK(t, cohort_join_is_resident(join));
        for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
            cohort_matches *m = NULL, *n = NULL;
            struct answer a, b;
            watched_begin(t->context, 0);
            watched_check(t, cohort_join_probe(join, own[k], NULL, &m));
            OK(t, cohort_join_probe(due, cpu[k], NULL, &n));
            read_pairs(t, m, &a);
            read_pairs(t, n, &b);
            EQUAL(t, a.total, b.total);
            CHECK(t, a.total != b.total ||
                         (!memcmp(a.left, b.left, a.total * 8) && !memcmp(a.right, b.right, a.total * 8)));
            free(a.left), free(a.right), free(b.left), free(b.right);
            cohort_matches_destroy(m);
            cohort_matches_destroy(n);
        }
        cohort_join_destroy(join);
        cohort_join_destroy(due);
        for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
            cohort_frame_release(own[k]);
            cohort_frame_release(cpu[k]);
        }
        world_close(&w);
    }
}

const struct test_case test_cases[] = {
    {"keys", keys, WORLD_ON},
    {"joins", joins, WORLD_ON},
    {NULL, NULL, 0},
};
