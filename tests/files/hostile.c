/* hostile.c: files of maps' tables that are refused. */
#include "hostile.h"

int refuses(struct test *t, const char *path, cohort_status due, const char *word)
{
    cohort_map *map = (cohort_map *)t;
    cohort_status got = cohort_map_map(t->context, path, &map);
    if (!CHECKF(t, got == due, "%s, not %s (%s)", cohort_status_name(got), cohort_status_name(due),
                got ? cohort_message(t->context) : word))
        return 0;
    const char *message = cohort_message(t->context);
    return CHECK(t, !map) &&
           CHECKF(t, strstr(message, path) && (!word || strstr(message, word)),
                  "the message \"%s\" does not name the file and \"%s\"", message, word ? word : "");
}

struct bytes sample(struct test *t, const struct folder *f, uint32_t fixed)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map = NULL;
    struct column *mark = t->columns;
    const unsigned wide = (unsigned)key_bytes(t->width), value = (unsigned)value_bytes(t->width);
    options.width = t->width;
    options.layout = t->layout;
    options.layout = t->layout;
    options.capacity = 5;
    options.fixed = fixed;
    OK(t, cohort_map_create(t->context, &options, &map));
    struct column *keys = column_new(t, 5, wide), *values = column_new(t, 5, value ? value : 4);
    for (uint64_t i = 0; i < 5; i++) {
        column_put(keys, i, UINT64_MAX - i);
        column_put(values, i, i);
    }
    const void *sent = column_send(keys);
    OK(t, cohort_map_insert(map, 5, sent, value ? column_send(values) : NULL, NULL));
    OK(t, cohort_map_erase(map, 1, (const char *)sent + 3 * wide, NULL));
    OK(t, cohort_map_save_table(map, f->file));
    cohort_map_destroy(map);
    column_drop(t, mark);
    return contents(t, f->file);
}

void hostile_number(struct test *t, const struct folder *f, struct bytes *b, unsigned field, uint64_t value,
                    cohort_status due, const char *word)
{
    unsigned char *at = b->data + NUMBERS + 8 * field;
    const uint64_t was = file_get(at);
    file_put(at, value);
    seal(t, f->file, b, SECTIONS);
    refuses(t, f->file, due, word);
    file_put(at, was);
}

void hostile_bytes(struct test *t, const struct folder *f, struct bytes *b, uint64_t at, const void *bytes,
                   uint64_t count, const char *word)
{
    unsigned char was[64];
    REQUIRE(t, count <= sizeof was && at + count <= b->count);
    memcpy(was, b->data + at, count);
    memcpy(b->data + at, bytes, count);
    seal(t, f->file, b, SECTIONS);
    refuses(t, f->file, COHORT_CORRUPT, word);
    memcpy(b->data + at, was, count);
}
