/* multimap_file.c: multimaps in files. Four sections: the options (5 numbers), the keys, the offsets, the
 * values. Keys are in no order, nor are the values of one key. */
#include "io/multimap_file.h"

#include "core/context.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH, SEED, MAX_LOAD, KEYS, VALUES, FIELDS };
static const char *const names[FIELDS] = {"width", "seed", "max_load", "keys", "values"};

static uint64_t key_bytes(cohort_width width)
{
    return width == COHORT_WIDTH_32_32 ? 4 : 8;
}

static uint64_t value_bytes(cohort_width width)
{
    return width == COHORT_WIDTH_64_64 ? 8 : 4;
}

cohort_status multimap_file_write(cohort_context *context, const struct file_stream *to,
                                  const struct multimap_file *m)
{
    uint64_t load;
    memcpy(&load, &m->options.max_load, 8);
    const uint64_t numbers[FIELDS] = {m->options.width, m->options.seed, load, m->keys_count,
                                      m->values_count};
    const struct file_section sections[4] = {{numbers, sizeof numbers},
                                             {m->keys, m->keys_count * key_bytes(m->options.width)},
                                             {m->offsets, (m->keys_count + 1) * 8},
                                             {m->values, m->values_count * value_bytes(m->options.width)}};
    return file_write(context, to, FILE_MULTIMAP, 4, sections);
}

static cohort_status read_options(struct file_reader *f, struct multimap_file *out)
{
    uint64_t v[FIELDS];
    cohort_status status = file_read_options(f, FIELDS, v);
    if (status)
        return status;
    cohort_multimap_options *o = &out->options;
    memcpy(&o->max_load, &v[MAX_LOAD], 8);
    const int good[FIELDS] = {
        v[WIDTH] == COHORT_WIDTH_32_32 || v[WIDTH] == COHORT_WIDTH_64_32 || v[WIDTH] == COHORT_WIDTH_64_64, 1,
        o->max_load >= 0.1 && o->max_load <= 0.95, v[KEYS] <= v[VALUES], v[VALUES] < UINT64_MAX / 8};
    for (int i = 0; i < FIELDS; i++)
        if (!good[i])
            return file_corrupt(f, 0, "the option %s is 0x%llx", names[i], (unsigned long long)v[i]);
    o->width = (cohort_width)v[WIDTH];
    o->seed = v[SEED];
    out->keys_count = v[KEYS];
    out->values_count = v[VALUES];
    return COHORT_OK;
}

/* Each key has a value at least, and all values have a key. */
static cohort_status check_offsets(struct file_reader *f, const struct multimap_file *m)
{
    for (uint64_t i = 0; i <= m->keys_count; i++)
        if (i == 0 ? m->offsets[0] != 0 : m->offsets[i] <= m->offsets[i - 1])
            return file_corrupt(f, 2, "offset %llu is %llu", (unsigned long long)i,
                                (unsigned long long)m->offsets[i]);
    if (m->offsets[m->keys_count] != m->values_count)
        return file_corrupt(f, 2, "the last offset is %llu, not %llu",
                            (unsigned long long)m->offsets[m->keys_count],
                            (unsigned long long)m->values_count);
    return COHORT_OK;
}

static cohort_status read_multimap(struct file_reader *f, struct multimap_file *out)
{
    static const char *const sections[4] = {"options", "keys", "offsets", "values"};
    cohort_status status = read_options(f, out);
    if (status)
        return status;
    const uint64_t due[4] = {8 * FIELDS, out->keys_count * key_bytes(out->options.width),
                             (out->keys_count + 1) * 8, out->values_count * value_bytes(out->options.width)};
    for (unsigned i = 1; i < 4; i++)
        if (f->bytes[i] != due[i])
            return file_corrupt(f, i, "%llu bytes of %s, not %llu", (unsigned long long)f->bytes[i],
                                sections[i], (unsigned long long)due[i]);
    void *offsets = NULL;
    status = file_read(f, &out->keys);
    if (!status)
        status = file_read(f, &offsets);
    out->offsets = offsets;
    if (!status)
        status = check_offsets(f, out);
    if (!status)
        status = file_read(f, &out->values);
    return status ? status : file_end(f);
}

cohort_status multimap_file_read(cohort_context *context, const struct file_stream *from,
                                 struct multimap_file *out)
{
    struct file_reader f;
    memset(out, 0, sizeof *out);
    out->options.size = sizeof out->options;
    cohort_status status = file_open(&f, context, from, FILE_MULTIMAP, 4);
    if (status)
        return status;
    status = read_multimap(&f, out);
    file_close(&f);
    if (status)
        multimap_file_free(out);
    return status;
}

void multimap_file_free(struct multimap_file *m)
{
    free(m->keys);
    free(m->offsets);
    free(m->values);
    m->keys = m->values = NULL;
    m->offsets = NULL;
}
