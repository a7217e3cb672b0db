/* fuzz_streams.c: any bytes loaded by a function, in pieces of a size that they name, and from a file. The
 * first byte says which kind it is and how large the pieces are. What one way loads the other loads, too, but
 * for bytes behind the end, which a function is not asked for; a function that fails is COHORT_IO. */
#include "file_input.h"

struct stream {
    const unsigned char *data;
    size_t bytes, place, most;
    int fails; /* where it ends */
};

static int get(void *user, void *into, size_t room, size_t *got)
{
    struct stream *s = user;
    size_t n = room < s->most ? room : s->most;
    if (n > s->bytes - s->place)
        n = s->bytes - s->place;
    if (!n && s->fails)
        return 1;
    memcpy(into, s->data + s->place, n);
    s->place += n;
    *got = n;
    return 0;
}

enum { MAP, MULTIMAP, SETS, KINDS };
static int kind;
static cohort_status by_path;

static void end(void *object)
{
    if (kind == MAP)
        cohort_map_destroy(object);
    else if (kind == MULTIMAP)
        cohort_multimap_destroy(object);
    else
        cohort_sets_destroy(object);
}

static void load_path(const char *path)
{
    void *object = NULL;
    if (kind == MAP)
        by_path = cohort_map_load(fuzz_context(), path, (cohort_map **)&object);
    else if (kind == MULTIMAP)
        by_path = cohort_multimap_load(fuzz_context(), path, (cohort_multimap **)&object);
    else
        by_path = cohort_sets_load(fuzz_context(), path, (cohort_sets **)&object);
    end(object);
}

static cohort_status load_stream(struct stream *s)
{
    const cohort_input input = {get, s};
    void *object = NULL;
    cohort_status status;
    if (kind == MAP)
        status = cohort_map_load_from(fuzz_context(), &input, (cohort_map **)&object);
    else if (kind == MULTIMAP)
        status = cohort_multimap_load_from(fuzz_context(), &input, (cohort_multimap **)&object);
    else
        status = cohort_sets_load_from(fuzz_context(), &input, (cohort_sets **)&object);
    if (!status != (object != NULL) || status == COHORT_NULL || status == COHORT_BAD_STRUCT)
        abort();
    end(object);
    return status;
}

static void both(const unsigned char *data, size_t size, size_t most)
{
    struct stream ends = {data, size, 0, most, 0}, fails = {data, size, 0, most, 1};
    fuzz_file(data, size, load_path);
    cohort_status status = load_stream(&ends), failed = load_stream(&fails);
    if (status == COHORT_IO || (!by_path && (status || ends.place != size)) ||
        (!status && by_path && (by_path != COHORT_CORRUPT || ends.place == size)) ||
        failed != (status == COHORT_TRUNCATED ? COHORT_IO : status))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        enum file_kind kind;
        unsigned sections;
    } kinds[KINDS] = {{FILE_MAP, 3}, {FILE_MULTIMAP, 4}, {FILE_SETS, 3}};
    if (!size)
        return 0;
    unsigned char *sealed = malloc(size);
    if (!sealed)
        abort();
    memcpy(sealed, data + 1, size - 1);
    kind = *data % KINDS;
    both(sealed, size - 1, 1 + *data / KINDS);
    fuzz_seal(sealed, size - 1, kinds[kind].kind, kinds[kind].sections);
    both(sealed, size - 1, 1 + *data / KINDS);
    free(sealed);
    cohort_trim(fuzz_context());
    return 0;
}
