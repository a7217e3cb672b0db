/* flat.c: see flat.h. */
#include "flat.h"

static void end_array(struct ArrowArray *a)
{
    a->release = NULL;
}

static void end_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

void flat_texts(struct test *t, cohort_context *context, uint64_t n, const uint64_t *key, uint32_t bytes,
                struct flat *f)
{
    *f = (struct flat){NULL, malloc(n * bytes + 1), calloc(n + 1, 4)};
    if (!f->texts || !f->offsets)
        abort();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t word = key[i] * 0x9e3779b97f4a7c15ull;
        for (uint32_t k = 0; k < bytes; k++)
            f->texts[i * bytes + k] = (char)('0' + (word >> 6 * (k & 7) & 63));
        f->offsets[i + 1] = (uint32_t)((i + 1) * bytes);
    }
    const void *buffers[3] = {NULL, f->offsets, f->texts}, *none[1] = {NULL};
    struct ArrowSchema name = {.format = "u", .name = "a", .release = end_schema}, *names = &name;
    struct ArrowArray column = {.length = (int64_t)n, .n_buffers = 3, .release = end_array},
                      *columns = &column;
    struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 1, .release = end_schema};
    struct ArrowArray array = {.length = (int64_t)n, .n_buffers = 1, .n_children = 1, .release = end_array};
    column.buffers = buffers;
    array.buffers = none;
    schema.children = &names;
    array.children = &columns;
    OK(t, cohort_frame_import(context, &schema, &array, &f->frame));
}

void flat_words(struct test *t, cohort_context *context, uint64_t n, const uint64_t *key, uint32_t columns,
                uint32_t bytes, uint64_t step, struct flat *f)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    cohort_array array[8] = {COHORT_ARRAY_INIT};
    *f = (struct flat){NULL, NULL, NULL};
    for (uint32_t c = 0; c < columns; c++) {
        char *to = malloc(n * bytes + 1);
        if (!to)
            abort();
        for (uint64_t i = 0; i < n; i++) {
            uint64_t word = step ? key[i] * step : test_mix(key[i] * 16 + c + 1);
            if (bytes == 4 && !step)
                word = (uint32_t)(key[i] + 1) * 2654435761u; /* 2^32 different ones */
            memcpy(to + i * bytes, &word, bytes);
        }
        array[c] = (cohort_array){names[c], bytes == 4 ? COHORT_U32 : COHORT_U64, 0, to, NULL};
    }
    OK(t, cohort_frame_create(context, n, columns, array, &f->frame));
    for (uint32_t c = 0; c < columns; c++)
        free((void *)(uintptr_t)array[c].values);
}

void flat_close(struct flat *f)
{
    cohort_frame_release(f->frame);
    free(f->texts);
    free(f->offsets);
}
