/* map_file.c: maps in files. Three sections: the options (8 numbers, of LINES 9), the keys, the values (no
 * bytes where the width has none). Pairs are in no order. */
#include "io/map_file.h"

#include "core/context.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH, PROBE, CAPACITY, SEED, MAX_LOAD, FIXED, GROUP, PAIRS, OLD_FIELDS, LAYOUT = OLD_FIELDS, FIELDS };
static const char *const names[FIELDS] = {"width", "probe", "capacity", "seed",  "max_load",
                                          "fixed", "group", "pairs",    "layout"};

static uint64_t key_bytes(cohort_width width)
{
    return width <= COHORT_WIDTH_32_32 ? 4 : width <= COHORT_WIDTH_64_64 ? 8 : 16;
}

static uint64_t value_bytes(cohort_width width)
{
    return width >= COHORT_WIDTH_64_64                                  ? 8
           : width == COHORT_WIDTH_32_32 || width == COHORT_WIDTH_64_32 ? 4
                                                                        : 0;
}

cohort_status map_file_write(cohort_context *context, const struct file_stream *to,
                             const struct map_file *map)
{
    const cohort_map_options *o = &map->options;
    uint64_t load;
    memcpy(&load, &o->max_load, 8);
    const uint64_t numbers[FIELDS] = {o->width, o->probe, o->capacity, o->seed,  load,
                                      o->fixed, o->group, map->pairs,  o->layout};
    const unsigned fields = o->layout ? FIELDS : OLD_FIELDS; /* of pages: as it has always been */
    const struct file_section sections[3] = {{numbers, fields * sizeof *numbers},
                                             {map->keys, map->pairs * key_bytes(o->width)},
                                             {map->values, map->pairs * value_bytes(o->width)}};
    return file_write(context, to, FILE_MAP, 3, sections);
}

/* The options, each within what a map may have. */
static cohort_status read_options(struct file_reader *f, struct map_file *out)
{
    uint64_t v[FIELDS] = {0};
    const unsigned fields = f->bytes[0] == 8 * FIELDS ? FIELDS : OLD_FIELDS;
    cohort_status status = file_read_options(f, fields, v);
    if (status)
        return status;
    cohort_map_options *o = &out->options;
    memcpy(&o->max_load, &v[MAX_LOAD], 8);
    const int good[FIELDS] = {
        v[WIDTH] >= COHORT_WIDTH_32_0 &&
            v[WIDTH] <= (fields == FIELDS ? COHORT_WIDTH_128_64 : COHORT_WIDTH_64_64),
        v[PROBE] <= COHORT_PROBE_LINEAR,
        v[CAPACITY] >= 1,
        1,
        o->max_load >= 0 && o->max_load <= 1,
        v[FIXED] <= 1,
        v[GROUP] <= 32 && (v[GROUP] & (v[GROUP] - 1)) == 0 &&
            (v[GROUP] <= 1 || (v[WIDTH] == COHORT_WIDTH_32_32 && v[PROBE] == COHORT_PROBE_LINEAR)),
        v[PAIRS] <= UINT64_MAX / 16,
        fields == OLD_FIELDS || (v[LAYOUT] == COHORT_LAYOUT_LINES && !v[PROBE] && !v[GROUP])};
    for (int i = 0; i < FIELDS; i++)
        if (!good[i])
            return file_corrupt(f, 0, "the option %s is 0x%llx", names[i], (unsigned long long)v[i]);
    o->width = (cohort_width)v[WIDTH];
    o->probe = (cohort_probe)v[PROBE];
    o->capacity = v[CAPACITY];
    o->seed = v[SEED];
    o->fixed = (uint32_t)v[FIXED];
    o->group = (uint32_t)v[GROUP];
    o->layout = (cohort_layout)v[LAYOUT];
    out->pairs = v[PAIRS];
    return COHORT_OK;
}

static cohort_status read_map(struct file_reader *f, struct map_file *out)
{
    cohort_status status = read_options(f, out);
    if (status)
        return status;
    for (unsigned i = 1; i <= 2; i++) {
        uint64_t each = i == 1 ? key_bytes(out->options.width) : value_bytes(out->options.width);
        if (f->bytes[i] != out->pairs * each)
            return file_corrupt(f, i, "%llu bytes of %s for %llu pairs", (unsigned long long)f->bytes[i],
                                i == 1 ? "keys" : "values", (unsigned long long)out->pairs);
    }
    status = file_read(f, &out->keys);
    if (!status)
        status = file_read(f, &out->values);
    return status ? status : file_end(f);
}

cohort_status map_file_read(cohort_context *context, const struct file_stream *from, struct map_file *out)
{
    struct file_reader f;
    memset(out, 0, sizeof *out);
    out->options.size = sizeof out->options;
    cohort_status status = file_open(&f, context, from, FILE_MAP, 3);
    if (status)
        return status;
    status = read_map(&f, out);
    file_close(&f);
    if (status) {
        free(out->keys);
        free(out->values);
        out->keys = out->values = NULL;
    }
    return status;
}
