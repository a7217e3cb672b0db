/* Fuzzer of partial results of groups from strangers (cohort_group_merge_partial): hostile Arrow structs
 * under the names that a partial result has (arrow_input.h), or a true one of which some bytes were changed.
 *
 * What is taken goes on: the result, sorted too, and a partial result of it. What is refused leaves the
 * object with the groups that it had. */
#include <stdio.h>

#include "arrow_input.h"

enum { KEYS = 2, AGGREGATES = 3, COLUMNS = KEYS + AGGREGATES };

/* ---- options ------------------------------------------------------------------------------------------- */

static const char *const key_formats[] = {"i", "l", "u", "vu", "b", "g", "d:10,2", "w:16", "c", "Z"};
static const char *const value_formats[] = {"l",  "C",    "g",      "f",    "b", "u",
                                            "vz", "w:16", "d:10,2", "tsu:", "e", "w:3"};

struct question {
    uint32_t keys, aggregates;
    const char *key[KEYS];
    cohort_aggregate aggregate[AGGREGATES];
    const char *format[KEYS + 1]; /* of the keys, and of `v` */
    uint32_t reproducible;
};

static void ask(struct input *in, struct question *q)
{
    static const char *const names[KEYS] = {"a", "b"};
    memset(q, 0, sizeof *q);
    q->keys = 1 + take(in) % KEYS;
    q->aggregates = take(in) % (AGGREGATES + 1);
    q->reproducible = take(in) & 1;
    for (uint32_t i = 0; i < q->keys; i++) {
        q->key[i] = names[i];
        q->format[i] = key_formats[take(in) % (sizeof key_formats / sizeof *key_formats)];
    }
    q->format[q->keys] = value_formats[take(in) % (sizeof value_formats / sizeof *value_formats)];
    for (uint32_t i = 0; i < q->aggregates; i++) {
        q->aggregate[i].op = (cohort_aggregate_op)(1 + take(in) % COHORT_AGGREGATE_NUNIQUE);
        q->aggregate[i].column = q->aggregate[i].op == COHORT_AGGREGATE_ROWS ? NULL : "v";
    }
}

static cohort_group *group_of(cohort_context *context, const struct question *q, const uint8_t *nulls_equal)
{
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_group *g = NULL;
    o.keys = q->keys;
    o.key = q->key;
    o.nulls_equal = nulls_equal;
    o.aggregates = q->aggregates;
    o.aggregate = q->aggregate;
    o.reproducible = q->reproducible;
    if (cohort_group_create(context, &o, &g))
        abort();
    return g;
}

/* A frame of structs of the input; NULL: they were refused. */
static cohort_frame *frame_of(cohort_context *context, struct input *in, uint32_t columns,
                              const char *const *format, const char *const *name, int is_spoilt)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_frame *frame = NULL;
    open_schema(&schema, (int)columns);
    open_array(&array, (int)columns, take(in) % 24);
    for (uint32_t i = 0; i < columns; i++) {
        if (is_spoilt && take(in) % 8 == 7) {
            column(in, schema.children[i], array.children[i], array.length);
        } else {
            one(in, format[i], schema.children[i], array.children[i], array.length);
            if (is_spoilt)
                spoil(in, schema.children[i], array.children[i]);
        }
        schema.children[i]->name = name[i];
    }
    if (cohort_frame_import(context, &schema, &array, &frame))
        array.release(&array);
    return frame;
}

static cohort_frame *rows_of(cohort_context *context, struct input *in, const struct question *q)
{
    const char *name[KEYS + 1] = {"a", "b", "v"};
    name[q->keys] = "v";
    return frame_of(context, in, q->keys + 1, q->format, name, 0);
}

/* ---- a partial result, changed ------------------------------------------------------------------------- */

/* A copy of exactly so many bytes, of which some are changed. */
static void *changed(struct input *in, const void *from, size_t bytes)
{
    unsigned char *memory = keep(bytes);
    if (from)
        memcpy(memory, from, bytes);
    for (unsigned i = take(in) % 4; i && bytes; i--) {
        const size_t at = (take(in) | take(in) << 8) % bytes;
        memory[at] = (unsigned char)take(in);
    }
    return memory;
}

/* The buffers of an exported column, one after the other. The last offset stays: it is the size of what
 * offsets point into. */
static void change_buffers(struct input *in, const char *format, const struct ArrowArray *from,
                           struct ArrowArray *a)
{
    const size_t n = (size_t)from->length;
    a->buffers = keep((size_t)(from->n_buffers + 1) * sizeof *a->buffers);
    if (from->buffers[0])
        a->buffers[0] = changed(in, from->buffers[0], (n + 7) / 8);
    if (strchr("uzUZ", format[0])) {
        const size_t step = format[0] == 'u' || format[0] == 'z' ? 4 : 8;
        uint64_t last = 0;
        unsigned char *offsets;
        memcpy(&last, (const char *)from->buffers[1] + n * step, step);
        offsets = changed(in, from->buffers[1], (n + 1) * step);
        memcpy(offsets + n * step, &last, step);
        a->buffers[1] = offsets;
        a->buffers[2] = changed(in, from->buffers[2], (size_t)last);
    } else if (format[0] == 'v') {
        const int64_t heaps = from->n_buffers - 3;
        const int64_t *sizes = from->buffers[from->n_buffers - 1];
        int64_t *own = keep((size_t)(heaps + 1) * sizeof *own);
        a->buffers[1] = changed(in, from->buffers[1], n * 16);
        for (int64_t h = 0; h < heaps; h++) {
            own[h] = sizes[h];
            a->buffers[2 + h] = changed(in, from->buffers[2 + h], (size_t)sizes[h]);
        }
        a->buffers[2 + heaps] = own;
    } else {
        a->buffers[1] = changed(in, from->buffers[1], format[0] == 'b' ? (n + 7) / 8 : n * width(format));
    }
}

static cohort_frame *change(cohort_context *context, struct input *in, cohort_frame *partial)
{
    struct ArrowSchema schema, own_schema;
    struct ArrowArray array, own;
    cohort_frame *frame = NULL;
    if (cohort_frame_export(partial, &schema, &array))
        abort();
    const int columns = (int)schema.n_children;
    open_schema(&own_schema, columns);
    open_array(&own, columns, array.length);
    for (int i = 0; i < columns; i++) {
        const char *format = schema.children[i]->format;
        char *text = keep(strlen(format) + 1), *name = keep(strlen(schema.children[i]->name) + 1);
        strcpy(text, format);
        strcpy(name, schema.children[i]->name);
        if (take(in) == 9 && *name)
            name[take(in) % strlen(name)] = (char)take(in);
        own_schema.children[i]->format = text;
        own_schema.children[i]->name = name;
        own_schema.children[i]->release = release_schema;
        own.children[i]->release = release_array;
        own.children[i]->length = array.children[i]->length;
        own.children[i]->n_buffers = array.children[i]->n_buffers;
        own.children[i]->null_count = -1;
        change_buffers(in, text, array.children[i], own.children[i]);
    }
    schema.release(&schema);
    array.release(&array);
    if (cohort_frame_import(context, &own_schema, &own, &frame))
        own.release(&own);
    return frame;
}

/* Structs of the input with the names, and mostly the types, of a true partial result. */
static cohort_frame *forge(cohort_context *context, struct input *in, cohort_frame *partial)
{
    const char *format[COLUMNS], *name[COLUMNS];
    const uint32_t columns = cohort_frame_columns(partial);
    for (uint32_t i = 0; i < columns; i++) {
        cohort_column_info info = COHORT_COLUMN_INFO_INIT;
        if (cohort_frame_get_column(partial, i, &info))
            abort();
        format[i] = info.format;
        name[i] = info.name;
    }
    return frame_of(context, in, columns, format, name, 1);
}

/* ---- what is done with it ------------------------------------------------------------------------------ */

/* All that can be asked of the object. */
static void go_on(cohort_group *g, cohort_group *fresh)
{
    cohort_frame *out = NULL;
    for (uint32_t flags = 0; flags <= COHORT_SORTED; flags++) {
        const cohort_status s = cohort_group_finish(g, flags, &out);
        if (!s != !!out || (!s && cohort_frame_rows(out) != cohort_group_count(g)))
            abort();
        cohort_frame_release(out);
    }
    if (cohort_group_partial(g, &out))
        return;
    cohort_status s = cohort_group_merge_partial(fresh, out);
    if (s && s != COHORT_OVERFLOW)
        abort(); /* what it makes it takes */
    if (!s && cohort_group_count(fresh) > cohort_group_count(g))
        abort();
    cohort_frame_release(out);
}

static void merge(cohort_context *context, struct input *in, const struct question *q, cohort_frame *rows)
{
    const uint8_t nulls_equal[KEYS] = {(uint8_t)(take(in) & 1), (uint8_t)(take(in) & 1)};
    cohort_group *from = group_of(context, q, NULL), *into = group_of(context, q, nulls_equal),
                 *fresh = group_of(context, q, nulls_equal);
    cohort_frame *partial = NULL, *strange = NULL;
    if (!cohort_group_add(from, rows) && !cohort_group_partial(from, &partial)) {
        strange = take(in) & 1 ? change(context, in, partial) : forge(context, in, partial);
        if (take(in) & 1 && cohort_group_add(into, rows))
            abort();
        const uint64_t before = cohort_group_count(into);
        if (strange && cohort_group_merge_partial(into, strange) && cohort_group_count(into) != before)
            abort();
        go_on(into, fresh);
    }
    cohort_frame_release(partial);
    cohort_frame_release(strange);
    cohort_group_destroy(from);
    cohort_group_destroy(into);
    cohort_group_destroy(fresh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static cohort_context *context;
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    struct input in = {data, data + n};
    struct question q;
    options.device = "cpu";
    options.threads = 1;
    if (!context && cohort_context_create(&options, &context))
        abort();
    arrays.out = arrays.back = 0;
    ask(&in, &q);
    cohort_frame *rows = rows_of(context, &in, &q);
    if (rows)
        merge(context, &in, &q, rows);
    cohort_frame_release(rows);
    if (arrays.out != arrays.back)
        abort();
    free_owned();
    return 0;
}
