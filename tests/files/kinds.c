/* kinds.c: see kinds.h. */
#include "kinds.h"

static cohort_status load_map(cohort_context *context, const char *path, void **out)
{
    cohort_map *map = NULL;
    cohort_status status = cohort_map_load(context, path, &map);
    *out = map;
    return status;
}

static cohort_status load_multimap(cohort_context *context, const char *path, void **out)
{
    cohort_multimap *multimap = NULL;
    cohort_status status = cohort_multimap_load(context, path, &multimap);
    *out = multimap;
    return status;
}

static void destroy_map(void *map)
{
    cohort_map_destroy(map);
}

static void destroy_multimap(void *multimap)
{
    cohort_multimap_destroy(multimap);
}

const struct kind map_kind = {"map", FILE_MAP, load_map, destroy_map};
const struct kind multimap_kind = {"multimap", FILE_MULTIMAP, load_multimap, destroy_multimap};

int kind_refuses(struct test *t, const struct kind *kind, const char *path, cohort_status due,
                 const char *word)
{
    void *object = &object;
    cohort_status got = kind->load(t->context, path, &object);
    if (!CHECKF(t, got == due, "%s: %s, not %s (%s)", kind->name, cohort_status_name(got),
                cohort_status_name(due), got ? cohort_message(t->context) : ""))
        return 0;
    const char *message = cohort_message(t->context);
    return CHECK(t, !object) &&
           CHECKF(t, strstr(message, path) && (!word || strstr(message, word)),
                  "the message \"%s\" does not name the file and \"%s\"", message, word ? word : "");
}

cohort_multimap *small_multimap(struct test *t, cohort_width width, uint64_t keys, uint64_t each)
{
    uint64_t n = keys * each;
    struct column *k = column_new(t, n, key_bytes(width)), *v = column_new(t, n, value_bytes(width));
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = NULL;
    options.width = width;
    options.seed = 42;
    options.max_load = 0.5;
    for (uint64_t i = 0; i < n; i++) {
        column_put(k, i, UINT64_MAX - i % (keys ? keys : 1));
        column_put(v, i, i);
    }
    OK(t, cohort_multimap_build(t->context, &options, n, column_send(k), column_send(v), NULL, &m));
    return m;
}
