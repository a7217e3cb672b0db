/* frame.c: frames: references, what they are, and frames made of frames. */
#include "frame.h"

#include <string.h>

#include "options.h"
#include "reader.h"

cohort_status frame_need(const cohort_context *context, const char *call, const char *name,
                         const void *pointer)
{
    if (pointer)
        return COHORT_OK;
    return context_fail((cohort_context *)(uintptr_t)context, COHORT_NULL, "%s: %s is NULL", call, name);
}

/* ---- making and ending --------------------------------------------------------------------------------- */

cohort_frame *frame_new(cohort_context *context, uint64_t rows, uint32_t columns)
{
    cohort_frame *f = zeroed(1, sizeof *f + columns * sizeof f->field[0]);
    if (!f) {
        context_fail(context, COHORT_NO_MEMORY, "no memory for a frame of %u columns", columns);
        return NULL;
    }
    f->count = 1;
    f->context = context;
    f->rows = rows;
    f->columns = columns;
    return f;
}

cohort_status frame_put(cohort_frame *frame, uint32_t i, const char *name, struct table_column *column)
{
    struct frame_field *field = &frame->field[i];
    field->name = table_text_copy(field->own, sizeof field->own, name ? name : "");
    if (!field->name) {
        table_column_release(column);
        return context_fail(frame->context, COHORT_NO_MEMORY, "no memory for the name of column %u", i);
    }
    field->column = column;
    return COHORT_OK;
}

cohort_frame *cohort_frame_retain(cohort_frame *frame)
{
    if (frame)
        __atomic_add_fetch(&frame->count, 1, __ATOMIC_RELAXED);
    return frame;
}

void cohort_frame_release(cohort_frame *frame)
{
    if (!frame || __atomic_sub_fetch(&frame->count, 1, __ATOMIC_ACQ_REL))
        return;
    for (uint32_t i = 0; i < frame->columns; i++) {
        table_text_free(frame->field[i].name, frame->field[i].own);
        table_column_release(frame->field[i].column);
    }
    free(frame);
}

/* ---- what it is ---------------------------------------------------------------------------------------- */

uint64_t cohort_frame_rows(const cohort_frame *frame)
{
    return frame ? frame->rows : 0;
}

uint32_t cohort_frame_columns(const cohort_frame *frame)
{
    return frame ? frame->columns : 0;
}

static cohort_status check_column(const cohort_frame *frame, const char *call, const char *name,
                                  uint32_t column)
{
    if (column < frame->columns)
        return COHORT_OK;
    return context_fail(frame->context, COHORT_RANGE, "%s: %s is %u; the frame has %llu %s", call, name,
                        column, COUNTED(frame->columns, "column", "columns"));
}

cohort_status cohort_frame_get_column(const cohort_frame *frame, uint32_t column, cohort_column_info *info)
{
    CALL_ON(frame);
    cohort_column_info copy;
    cohort_status s = frame_need(NULL, "cohort_frame_get_column", "frame", frame);
    if (!s)
        s = options_check(frame->context, "info", info, info ? info->size : 0, sizeof copy, sizeof copy,
                          &copy);
    if (!s)
        s = check_column(frame, "cohort_frame_get_column", "column", column);
    if (s)
        return s;
    const struct table_column *c = frame->field[column].column;
    copy.name = frame->field[column].name;
    copy.format = c->format;
    copy.nulls = c->nulls;
    copy.dictionary = (uint32_t)c->is_dictionary;
    copy.index_bytes = c->index.bytes;
    copy.chunks = c->pieces;
    options_return(info, info->size, sizeof copy, &copy);
    return COHORT_OK;
}

static int find(const cohort_frame *frame, const char *name, uint32_t *column)
{
    for (uint32_t i = 0; i < frame->columns; i++)
        if (!strcmp(frame->field[i].name, name)) {
            *column = i;
            return 1;
        }
    return 0;
}

cohort_status cohort_frame_find(const cohort_frame *frame, const char *name, uint32_t *column)
{
    CALL_ON(frame);
    cohort_status s = frame_need(NULL, "cohort_frame_find", "frame", frame);
    if (!s)
        s = frame_need(frame->context, "cohort_frame_find", "name", name);
    if (!s)
        s = frame_need(frame->context, "cohort_frame_find", "column", column);
    if (s || find(frame, name, column))
        return s;
    return context_fail(frame->context, COHORT_RANGE, "cohort_frame_find: no column is named '%.200s'", name);
}

/* ---- frames of frames ---------------------------------------------------------------------------------- */

/* A result of `call`: *out is NULL until it is there. */
static cohort_status begin(const char *call, const cohort_frame *frame, cohort_frame **out)
{
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "frame", frame);
    return s ? s : frame_need(frame->context, call, "out", out);
}

static cohort_status finish(cohort_frame *made, cohort_status s, cohort_frame **out)
{
    if (s)
        cohort_frame_release(made);
    else
        *out = made;
    return s;
}

cohort_status cohort_frame_select(cohort_frame *frame, uint32_t count, const uint32_t *columns,
                                  const char *const *names, cohort_frame **out)
{
    CALL_ON(frame);
    cohort_status s = begin("cohort_frame_select", frame, out);
    if (!s && count)
        s = frame_need(frame->context, "cohort_frame_select", "columns", columns);
    for (uint32_t i = 0; !s && i < count; i++)
        s = check_column(frame, "cohort_frame_select", "a column", columns[i]);
    if (s)
        return s;
    cohort_frame *made = frame_new(frame->context, frame->rows, count);
    if (!made)
        return COHORT_NO_MEMORY;
    for (uint32_t i = 0; !s && i < count; i++) {
        const struct frame_field *from = &frame->field[columns[i]];
        s = frame_put(made, i, names && names[i] ? names[i] : from->name, table_column_retain(from->column));
    }
    return finish(made, s, out);
}

cohort_status cohort_frame_pick(cohort_frame *frame, uint32_t count, const char *const *names,
                                cohort_frame **out)
{
    CALL_ON(frame);
    cohort_status s = begin("cohort_frame_pick", frame, out);
    if (!s && count)
        s = frame_need(frame->context, "cohort_frame_pick", "names", names);
    cohort_frame *made = s ? NULL : frame_new(frame->context, frame->rows, count);
    if (!s && !made)
        s = COHORT_NO_MEMORY;
    for (uint32_t i = 0, at = 0; !s && i < count; i++) {
        if (!names[i] || !find(frame, names[i], &at))
            s = context_fail(frame->context, names[i] ? COHORT_RANGE : COHORT_NULL,
                             "cohort_frame_pick: names[%u] is '%.200s'; no column is named so", i,
                             names[i] ? names[i] : "NULL");
        else
            s = frame_put(made, i, names[i], table_column_retain(frame->field[at].column));
    }
    return finish(made, s, out);
}

/* On a CPU a frame is whole when there is one. On a GPU what makes it may still be under way. */
static cohort_status may_read(const cohort_frame *frame, cohort_context *context, const char *call)
{
    cohort_context *own = frame->context;
    const struct backend *backend = context->backend;
    if (own->backend != backend || backend->table->device_id(own) != backend->table->device_id(context))
        return context_fail(context, COHORT_UNSUPPORTED, "%s: context is on another device than frame", call);
    return backend->own_memory == MEMORY_HOST ? COHORT_OK : reader_check(context, own, NULL, call);
}

cohort_status cohort_frame_reader(const cohort_frame *frame, cohort_context *context, cohort_frame **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    static const char call[] = "cohort_frame_reader";
    cohort_status s = reader_need(call, "frame", frame, context, out);
    if (!s)
        s = may_read(frame, context, call);
    cohort_frame *made = s ? NULL : frame_new(context, frame->rows, frame->columns);
    if (!made)
        return s ? s : COHORT_NO_MEMORY;
    for (uint32_t i = 0; !s && i < frame->columns; i++)
        s = frame_put(made, i, frame->field[i].name, table_column_retain(frame->field[i].column));
    return finish(made, s, out);
}

cohort_status cohort_frame_slice(cohort_frame *frame, uint64_t first, uint64_t rows, cohort_frame **out)
{
    CALL_ON(frame);
    cohort_status s = begin("cohort_frame_slice", frame, out);
    if (s)
        return s;
    if (first > frame->rows || rows > frame->rows - first)
        return context_fail(frame->context, COHORT_RANGE,
                            "cohort_frame_slice: first is %llu and rows is %llu; the frame has %llu %s",
                            (unsigned long long)first, (unsigned long long)rows,
                            COUNTED(frame->rows, "row", "rows"));
    cohort_frame *made = frame_new(frame->context, rows, frame->columns);
    if (!made)
        return COHORT_NO_MEMORY;
    for (uint32_t i = 0; !s && i < frame->columns; i++) {
        struct table_column *column = NULL;
        s = table_column_slice(frame->context, frame->field[i].column, first, rows, &column);
        if (!s)
            s = frame_put(made, i, frame->field[i].name, column);
    }
    return finish(made, s, out);
}

/* The name of b's column i, with the suffix where `a` has it too; malloc. */
static char *name_beside(const cohort_frame *a, const char *name, const char *suffix)
{
    uint32_t at;
    int twice = find(a, name, &at);
    size_t length = strlen(name), more = twice ? strlen(suffix) : 0;
    char *made = malloc(length + more + 1);
    if (made) {
        memcpy(made, name, length);
        memcpy(made + length, suffix, more);
        made[length + more] = 0;
    }
    return made;
}

cohort_status frame_beside(const cohort_frame *a, const cohort_frame *b, const char *suffix,
                           cohort_frame **out)
{
    cohort_status s = COHORT_OK;
    cohort_frame *made = frame_new(a->context, a->rows, a->columns + b->columns);
    if (!made)
        return COHORT_NO_MEMORY;
    for (uint32_t i = 0; !s && i < a->columns; i++)
        s = frame_put(made, i, a->field[i].name, table_column_retain(a->field[i].column));
    for (uint32_t i = 0; !s && i < b->columns; i++) {
        char *name = name_beside(a, b->field[i].name, suffix ? suffix : "_right");
        s = name ? frame_put(made, a->columns + i, name, table_column_retain(b->field[i].column))
                 : context_fail(a->context, COHORT_NO_MEMORY, "no memory for the name of a column");
        free(name);
    }
    return finish(made, s, out);
}

cohort_status cohort_frame_beside(cohort_frame *a, cohort_frame *b, const char *suffix, cohort_frame **out)
{
    CALL_ON(a);
    cohort_status s = begin("cohort_frame_beside", a, out);
    if (!s)
        s = frame_need(a->context, "cohort_frame_beside", "b", b);
    if (s)
        return s;
    if (a->context != b->context)
        return context_fail(a->context, COHORT_OTHER_CONTEXT,
                            "cohort_frame_beside: b belongs to another context than a");
    if (a->rows != b->rows)
        return context_fail(a->context, COHORT_RANGE, "cohort_frame_beside: a has %llu %s, and b %llu",
                            COUNTED(a->rows, "row", "rows"), (unsigned long long)b->rows);
    return frame_beside(a, b, suffix, out);
}
