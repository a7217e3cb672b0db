/* test_keys_resident.c: keys that stay in a GPU's memory: factors of several adds whose layout widens,
 * counts, distinct keys in order. No column goes to the host, and what fails is as if it had not been. */
#include "model.h"
#include "watched.h"

#define ROWS  3000u
#define ADDS  4
#define SMALL 512u /* bytes: what the host may ask for */

/* Two columns: of the first the range widens from add to add, so that the words are packed anew, and in the
 * end, if `wide`, do not fit. */
struct adds {
    uint64_t n;
    uint32_t *a[ADDS], *due[ADDS];
    int64_t *b[ADDS];
    uint8_t *valid;
    uint64_t keys;
    cohort_frame *frame[ADDS];
};

static void *room(uint64_t bytes)
{
    void *memory = calloc(bytes + 8, 1);
    if (!memory)
        abort();
    return memory;
}

/* Keys by a walk over all rows before. */
static void number(struct adds *w)
{
    uint64_t all = 0;
    struct {
        int64_t a, b;
    } *known = room(ADDS * w->n * sizeof *known);
    w->keys = 0;
    for (uint32_t k = 0; k < ADDS; k++)
        for (uint64_t i = 0; i < w->n; i++, all++) {
            uint64_t at = 0;
            int valid = w->valid[i / 8] >> (i & 7) & 1;
            int64_t a = valid ? (int64_t)w->a[k][i] : -1, b = w->b[k][i];
            while (at < w->keys && (known[at].a != a || known[at].b != b))
                at++;
            known[at].a = a;
            known[at].b = b;
            w->keys += at == w->keys;
            w->due[k][i] = (uint32_t)at;
        }
    free(known);
}

static void adds_open(struct test *t, struct adds *w, cohort_context *context, uint64_t n, uint64_t distinct,
                      int wide)
{
    *w = (struct adds){.n = n};
    w->valid = room(n / 8);
    for (uint64_t i = 0; i < n; i++)
        w->valid[i / 8] |= (uint8_t)((test_below(t, 9) != 0) << (i & 7));
    for (uint32_t k = 0; k < ADDS; k++) {
        w->a[k] = room(n * 4);
        w->b[k] = room(n * 8);
        w->due[k] = room(n * 4);
        for (uint64_t i = 0; i < n; i++) {
            w->a[k][i] = (uint32_t)test_below(t, distinct) << 8 * (wide ? k : 0);
            w->b[k][i] = (int64_t)test_below(t, 3) - (1ll << (wide ? 15 * k : k));
        }
        cohort_array arrays[2] = {{"a", COHORT_U32, 0, w->a[k], w->valid},
                                  {"b", COHORT_I64, 0, w->b[k], NULL}};
        OK(t, cohort_frame_create(context, n, 2, arrays, &w->frame[k]));
    }
    number(w);
}

static void adds_close(struct adds *w)
{
    for (uint32_t k = 0; k < ADDS; k++) {
        cohort_frame_release(w->frame[k]);
        free(w->a[k]);
        free(w->b[k]);
        free(w->due[k]);
    }
    free(w->valid);
}

/* ---- factors ------------------------------------------------------------------------------------------- */

static void check_ids(struct test *t, const struct adds *w, uint32_t k, struct column *ids)
{
    column_fetch(ids);
    for (uint64_t i = 0; i < w->n; i++)
        REQUIREF(t, ((uint32_t *)ids->data)[i] == w->due[k][i], "add %u, row %llu: id %u, not %u", k,
                 (unsigned long long)i, ((uint32_t *)ids->data)[i], w->due[k][i]);
}

static void factors(struct test *t)
{
    t->memory = TEST_DEVICE;
    for (int wide = 0; wide < 2; wide++) {
        struct adds w;
        cohort_factor *factor = NULL;
        adds_open(t, &w, t->context, ROWS / 2, 40, wide);
        OK(t, cohort_factor_create(t->context, 2, NULL, &factor));
        for (uint32_t k = 0; k < 2 * ADDS; k++) {
            struct column *ids = column_new(t, w.n, 4);
            void *to = column_send(ids);
            watched_begin(t->context, 0);
            cohort_status s = k < ADDS ? cohort_factor_add(factor, w.frame[k], to)
                                       : cohort_factor_find(factor, w.frame[k - ADDS], to);
            watched_end();
            REQUIREF(t, !s, "%s", cohort_message(t->context));
            CHECKF(t, watched.most <= SMALL, "%llu bytes went to the host", (unsigned long long)watched.most);
            CHECK(t, watched.launches);
            check_ids(t, &w, k % ADDS, ids);
        }
        EQUAL(t, cohort_factor_count(factor), w.keys);
        cohort_factor_destroy(factor);
        adds_close(&w);
        column_drop(t, NULL);
    }
}

/* ---- distinct keys ------------------------------------------------------------------------------------- */

static void counts(struct test *t)
{
    for (uint64_t distinct = 1; distinct < 2 * ROWS; distinct *= 40) {
        struct adds w;
        adds_open(t, &w, t->context, ROWS / 2, distinct, 1);
        for (uint32_t way = 0; way < 4; way++) {
            cohort_frame *out = NULL;
            struct model m;
            uint64_t keys = 0, sum = 0;
            watched_begin(t->context, 0);
            cohort_status s = way & 1 ? cohort_value_counts(w.frame[1], way & 2 ? COHORT_SORTED : 0, &out)
                                      : cohort_unique(w.frame[1], way & 2 ? COHORT_SORTED : 0, &out);
            watched_end();
            REQUIREF(t, !s, "%s", cohort_message(t->context));
            CHECKF(t, watched.most <= SMALL, "%llu bytes went to the host", (unsigned long long)watched.most);
            model_of_frame(t, &m, out);
            for (uint64_t i = 0; i < w.n; i++) {
                int is_new = 1;
                for (uint64_t j = 0; is_new && j < i; j++)
                    is_new = w.due[1][i] != w.due[1][j];
                keys += (uint64_t)is_new;
            }
            EQUAL(t, m.rows, keys);
            for (uint64_t i = 0, count = 0; way & 1 && i < m.rows; i++, sum += count)
                memcpy(&count, m.column[2].cell[i].bytes, 8);
            EQUAL(t, sum, way & 1 ? w.n : 0);
            for (uint64_t i = 1; way & 2 && i < m.rows; i++) {
                int order = cell_order("I", m.column[0].cell[i - 1], m.column[0].cell[i]);
                CHECK(t, (order ? order : cell_order("l", m.column[1].cell[i - 1], m.column[1].cell[i])) < 0);
            }
            model_close(&m);
            cohort_frame_release(out);
        }
        adds_close(&w);
    }
}

/* ---- what fails ---------------------------------------------------------------------------------------- */

static cohort_status add_once(cohort_factor *factor, const struct adds *w, uint32_t k, struct column *ids)
{
    return cohort_factor_add(factor, w->frame[k], column_send(ids));
}

/* Each launch of the third add fails; the add that follows gives the ids that are due, whatever was in. */
static void launches(struct test *t)
{
    for (int wide = 0; wide < 2; wide++)
        for (uint64_t refused = 1, whole = 0; !whole; refused++) {
            struct adds w;
            cohort_factor *factor = NULL;
            adds_open(t, &w, t->context, 150, 30, wide);
            OK(t, cohort_factor_create(t->context, 2, NULL, &factor));
            for (uint32_t k = 0; k < ADDS; k++) {
                struct column *ids = column_new(t, w.n, 4);
                cohort_status s = COHORT_OK;
                if (k == 2) {
                    watched_begin(t->context, refused);
                    s = add_once(factor, &w, k, ids);
                    watched_end();
                    whole = watched.launches < refused;
                    CHECKF(t, (s == COHORT_OK) == (int)whole, "launch %llu of %llu: %d",
                           (unsigned long long)refused, (unsigned long long)watched.launches, s);
                    OK(t, cohort_factor_find(factor, w.frame[0], column_send(ids)));
                    check_ids(t, &w, 0, ids);
                }
                OK(t, add_once(factor, &w, k, ids));
                check_ids(t, &w, k, ids);
            }
            EQUAL(t, cohort_factor_count(factor), w.keys);
            cohort_factor_destroy(factor);
            adds_close(&w);
            column_drop(t, NULL);
        }
}

static cohort_status everything(cohort_context *context, const struct adds *w, uint64_t *keys, uint64_t *rows)
{
    cohort_factor *factor = NULL;
    cohort_frame *unique = NULL, *counted = NULL;
    cohort_status s = cohort_factor_create(context, 2, NULL, &factor);
    for (uint32_t k = 0; !s && k < ADDS; k++)
        s = cohort_factor_add(factor, w->frame[k], NULL);
    *keys = cohort_factor_count(factor);
    if (!s)
        s = cohort_unique(w->frame[0], COHORT_SORTED, &unique);
    if (!s)
        s = cohort_value_counts(w->frame[0], 0, &counted);
    *rows = counted ? cohort_frame_rows(counted) : 0;
    if (!s && cohort_frame_rows(unique) != *rows)
        s = COHORT_CORRUPT;
    cohort_factor_destroy(factor);
    cohort_frame_release(unique);
    cohort_frame_release(counted);
    return s;
}

/* Each allocation of all these calls is refused once. */
static void refused(struct test *t)
{
    uint64_t due = 0;
    for (uint64_t k = 0, whole = 0; !whole; k++) {
        struct ledger ledger = {0};
        struct refuser refuser = {test_allocator(t, &ledger), 0, 0};
        cohort_context_options o = test_context_options(t);
        cohort_context *context = NULL;
        struct adds w;
        uint64_t keys = 0, rows = 0;
        o.alloc = refuser_of(&refuser);
        OK(t, cohort_context_create(&o, &context));
        adds_open(t, &w, context, 150, 30, 1);
        refuser.calls = 0;
        refuser.refused = k;
        cohort_status s = everything(context, &w, &keys, &rows);
        whole = k && refuser.calls < k;
        CHECKF(t, !s || s == COHORT_NO_MEMORY, "allocation %llu: %s", (unsigned long long)k,
               cohort_message(context));
        CHECK(t, s || keys == w.keys);
        CHECK(t, k || !s);
        due = k ? due : rows;
        CHECK(t, s || !k || rows);
        adds_close(&w);
        cohort_context_destroy(context);
        test_ledger_check(t, &ledger);
    }
    CHECK(t, due);
}

const struct test_case test_cases[] = {
    {"factors", factors, TEST_ON_SIM | TEST_ON_CUDA},
    {"counts", counts, TEST_ON_SIM | TEST_ON_CUDA},
    {"launches", launches, TEST_ON_SIM | TEST_ON_CUDA},
    {"refused", refused, TEST_ON_SIM | TEST_ON_CUDA | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
