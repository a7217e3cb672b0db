/* worlds.c: see worlds.h. */
#include "worlds.h"

#include "api/frame.h"

static const char *const texts[] = {"u", "z", "w:16", "w:21", "d:38,10"};
static const char *const numbers[] = {"i", "L", "w:3", "s", "b"};

void world_fill(struct test *t, struct world *w, uint64_t rows, uint64_t distinct)
{
    *w = (struct world){.keys = 1 + (uint32_t)test_below(t, WORLD_KEYS),
                        .reproducible = (uint32_t)test_below(t, 2)};
    for (uint32_t c = 0; c < w->keys; c++) {
        int is_text = !c || test_below(t, 2);
        w->format[c] = is_text ? texts[test_below(t, 5)] : numbers[test_below(t, 5)];
        w->nulls_equal[c] = test_below(t, 3) != 0;
    }
    for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
        struct model_plan plan = {.rows = rows, .distinct = distinct, .dictionaries = 2};
        static const uint32_t nulls[] = {0, 20, 100};
        plan.rows = test_below(t, 4) ? rows : test_below(t, 30);
        model_open(&w->model[k], plan.rows, w->keys + 2);
        for (uint32_t c = 0; c < w->keys + 2; c++) {
            char name[16];
            const char *format = c < w->keys ? w->format[c] : c == w->keys ? "i" : "u";
            plan.nulls = nulls[test_below(t, 10) ? test_below(t, 2) : 2];
            plan.dictionaries = strchr("uzwd", format[0]) && strcmp(format, "w:3") ? 2 : 1;
            snprintf(name, sizeof name, c < w->keys ? "k%u" : c == w->keys ? "v" : "s", c);
            model_fill(t, &w->model[k], c, name, model_another_layout(t, format), &plan);
        }
    }
}

void world_open(struct test *t, struct world *w, cohort_context *context)
{
    cohort_context_options o = COHORT_CONTEXT_OPTIONS_INIT;
    o.device = "cpu";
    w->context = context;
    OK(t, cohort_context_create(&o, &w->cpu));
    for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
        w->frame[k] = model_frame(t, &w->model[k], context);
        w->cpu_frame[k] = model_frame(t, &w->model[k], w->cpu);
    }
}

void world_close(struct world *w)
{
    for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
        cohort_frame_release(w->frame[k]);
        cohort_frame_release(w->cpu_frame[k]);
        model_close(&w->model[k]);
    }
    cohort_context_destroy(w->cpu);
}

int world_has_numbers(const struct world *w)
{
    int has = 0;
    for (uint32_t c = 0; c < w->keys; c++)
        for (uint32_t i = 0; i < 5; i++)
            has |= !strcmp(w->format[c], numbers[i]) && w->model[0].column[c].index[0];
    return has;
}

uint64_t world_ordered_bytes(const cohort_frame *out, uint32_t keys)
{
    uint64_t most = WATCHED_SMALL;
    for (uint32_t i = 0; out && i < keys; i++) {
        const struct table_column *c = out->field[i].column;
        const struct table_column *values = c->is_dictionary && c->pieces ? c->dictionaries[0] : NULL;
        if (values && values->rows > c->rows && most < c->rows * c->index.bytes)
            most = c->rows * c->index.bytes;
    }
    return most;
}

void world_same(struct test *t, cohort_frame *a, cohort_frame *due)
{
    struct model x, y;
    model_of_frame(t, &x, a);
    model_of_frame(t, &y, due);
    model_same(t, &x, &y);
    for (uint32_t c = 0; c < x.columns && c < y.columns; c++)
        CHECKF(t, !strcmp(x.column[c].name, y.column[c].name), "column %u is %s, not %s", c, x.column[c].name,
               y.column[c].name);
    model_close(&x);
    model_close(&y);
}
