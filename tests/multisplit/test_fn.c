/* test_fn.c: functions of keys: the user's own, compiled at run time and kept on disk; division by
 * reciprocals. */
#define _GNU_SOURCE /* memmem */
#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/context.h"
#include "cuda/device.h"
#include "split.h"

/* ---- functions from one text --------------------------------------------------------------------------- */

struct modulus {
    uint32_t m, add;
};

COHORT_DEFINE_FN(shifted, uint32_t, {
    const uint32_t *s = (const uint32_t *)state; /* m, add */
    return (key + s[1]) % s[0];
})
COHORT_DEFINE_FN(folded, uint64_t, {
    uint64_t folded = key;
    for (int i = 32; i > 4; i /= 2)
        folded ^= folded >> i;
    return (uint32_t)(folded & 15);
})
COHORT_DEFINE_FN(stateless, uint32_t, { return key > 1000 ? 1 : 0; })

static uint64_t below(struct test *t, struct column *keys)
{
    for (uint64_t i = 0; i < keys->count; i++)
        column_put(keys, i, test_random(t) >> test_below(t, 64));
    return keys->count;
}

/* A folder of the case's own for what is compiled. */
struct cache {
    char root[64], folder[96];
    char *before; /* XDG_CACHE_HOME */
};

static struct cache cache_new(struct test *t)
{
    struct cache c = {"/tmp/cohort-test-XXXXXX", "", NULL};
    const char *before = getenv("XDG_CACHE_HOME");
    REQUIRE(t, mkdtemp(c.root));
    snprintf(c.folder, sizeof c.folder, "%s/cohort", c.root);
    c.before = before ? strdup(before) : NULL;
    setenv("XDG_CACHE_HOME", c.root, 1);
    return c;
}

/* Calls `with` with each file; returns how many there are. */
static int each_file(const struct cache *c, void (*with)(const char *path))
{
    DIR *folder = opendir(c->folder);
    int count = 0;
    struct dirent *e;
    while (folder && (e = readdir(folder))) {
        char path[400];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", c->folder, e->d_name);
        count++;
        if (with)
            with(path);
    }
    if (folder)
        closedir(folder);
    return count;
}

static void delete_file(const char *path)
{
    unlink(path);
}

static void cache_end(struct cache *c)
{
    each_file(c, delete_file);
    rmdir(c->folder);
    rmdir(c->root);
    if (c->before)
        setenv("XDG_CACHE_HOME", c->before, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    free(c->before);
}

/* ---- ids ----------------------------------------------------------------------------------------------- */

/* On a GPU ids are computed by the program; `where` is the context that does it. */
static cohort_status ids_of(struct test *t, cohort_context *where, const cohort_fn *fn, struct column *keys,
                            struct column *ids)
{
    struct split_fn f = {.kind = SPLIT_USER};
    void *state = NULL;
    if (fn->count) {
        OK(t, cohort_alloc(where, fn->count, &state));
        OK(t, cohort_copy(where, state, fn->data, fn->count));
    }
    f.data = state;
    const void *k = column_send(keys);
    void *out = column_send(ids);
    OK(t, cohort_wait(t->context));
    cohort_status status = gpu_user_ids(where, &f, fn, keys->count, k, (uint32_t)keys->width, out);
    cohort_status waited = cohort_wait(where);
    if (state)
        OK(t, cohort_free(where, state));
    if (status == COHORT_UNSUPPORTED && strstr(cohort_message(where), "cannot be"))
        test_skip(t, "%s", cohort_message(where));
    return status ? status : waited;
}

static void check_ids(struct test *t, cohort_context *where, cohort_fn fn, unsigned key_bytes, uint64_t n)
{
    struct column *mark = t->columns, *keys = column_new(t, n, key_bytes), *ids = column_new(t, n, 4);
    uint32_t *due = malloc(n * 4 + 1);
    REQUIRE(t, due);
    below(t, keys);
    fn.host(n, keys->data, key_bytes, fn.data, due);
    cohort_status status = ids_of(t, where, &fn, keys, ids);
    REQUIREF(t, !status, "%s of %llu keys: %s: %s", fn.name, (unsigned long long)n,
             cohort_status_name(status), cohort_message(where));
    column_fetch(ids);
    for (uint64_t i = 0; i < n; i++)
        REQUIREF(t, column_get(ids, i) == due[i], "%s: id %llu of %llu is %llu, not %u", fn.name,
                 (unsigned long long)i, (unsigned long long)n, (unsigned long long)column_get(ids, i),
                 due[i]);
    free(due);
    column_drop(t, mark);
}

static void ids(struct test *t)
{
    struct cache cache = cache_new(t);
    struct modulus state = {10, 3};
    t->memory = TEST_DEVICE;
    for (uint64_t n = 0; n <= test_size(t, 1 << 20, 3000); n = n < 4 ? n + 1 : 3 * n + 1) {
        check_ids(t, t->context, COHORT_FN(shifted, &state, sizeof state), 4, n);
        check_ids(t, t->context, COHORT_FN(folded, NULL, 0), 8, n);
        check_ids(t, t->context, COHORT_FN(stateless, NULL, 0), 4, n);
        state.add++;
    }
    EQUAL(t, each_file(&cache, NULL), 3);
    cache_end(&cache);
}

/* ---- what is kept -------------------------------------------------------------------------------------- */

static void truncate_file(const char *path)
{
    struct stat s;
    if (!stat(path, &s) && truncate(path, s.st_size / 2))
        return;
}

static void empty_file(const char *path)
{
    if (truncate(path, 0))
        return;
}

/* Turns a bit in the middle of the file, which is in the image. */
static void spoil_file(const char *path)
{
    FILE *f = fopen(path, "r+b");
    struct stat s;
    if (f && !stat(path, &s)) {
        fseek(f, s.st_size / 2, SEEK_SET);
        int c = fgetc(f);
        fseek(f, s.st_size / 2, SEEK_SET);
        fputc(c ^ 4, f);
    }
    if (f)
        fclose(f);
}

/* A compiler that must not be asked any more. */
static jit_compile real_compiler;
static int times_compiled;
static enum jit_result counted_compiler(const struct jit_program *p, struct jit_image *image, char **log)
{
    times_compiled++;
    return real_compiler(p, image, log);
}

/* A context of its own whose driver's compiler is counted. */
static struct cuda_driver counted;
static void check_in_new_context(struct test *t, uint64_t compilations)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *context;
    struct modulus state = {7, 1};
    OK(t, cohort_context_create(&options, &context));
    const struct cuda_driver *before = gpu_of(context)->driver;
    counted = *before;
    real_compiler = counted.compile;
    counted.compile = counted_compiler;
    gpu_of(context)->driver = &counted;
    times_compiled = 0;
    for (int i = 0; i < 3; i++)
        check_ids(t, context, COHORT_FN(shifted, &state, sizeof state), 4, 100);
    EQUAL(t, times_compiled, compilations);
    CHECK(t, !cohort_message(NULL)[0] || !strstr(cohort_message(NULL), "path"));
    gpu_of(context)->driver = before;
    cohort_context_destroy(context);
}

/* Compiled once; from then on from the disk; what is broken there is compiled anew, and nothing is said. */
static void kept_on_disk(struct test *t)
{
    static void (*const breakers[])(const char *) = {truncate_file, empty_file, spoil_file, delete_file};
    struct cache cache = cache_new(t);
    t->memory = TEST_DEVICE;
    check_in_new_context(t, 1);
    EQUAL(t, each_file(&cache, NULL), 1);
    check_in_new_context(t, 0);
    for (int i = 0; i < 4; i++) {
        each_file(&cache, breakers[i]);
        check_in_new_context(t, 1);
        check_in_new_context(t, 0);
        EQUAL(t, each_file(&cache, NULL), 1);
    }
    cache_end(&cache);
}

/* No folder can be made there: it works without. */
static void no_disk(struct test *t)
{
    struct cache cache = cache_new(t);
    t->memory = TEST_DEVICE;
    setenv("XDG_CACHE_HOME", "/dev/null/nowhere", 1);
    check_in_new_context(t, 1);
    check_in_new_context(t, 1);
    setenv("XDG_CACHE_HOME", cache.root, 1);
    cache_end(&cache);
}

/* ---- sources that do not do ---------------------------------------------------------------------------- */

static void refused(struct test *t)
{
    struct cache cache = cache_new(t);
    t->memory = TEST_DEVICE;
    struct column *keys = column_new(t, 10, 4), *ids = column_new(t, 10, 4);
    cohort_context *c = t->context;
    cohort_fn fn = COHORT_FN(stateless, NULL, 0);
    CHECK(t, !strcmp(cohort_fn_log(c), ""));
    CHECK(t, !strcmp(cohort_fn_log(NULL), ""));
    fn.source = "COHORT_FN_DEVICE uint32_t stateless(uint32_t key, const void *state)\n{\n    return "
                "nonsense(key;\n}\n";
    FAILS(t, c, ids_of(t, c, &fn, keys, ids), COHORT_RANGE, "fn->source", "does not compile");
    CHECKF(t, strstr(cohort_fn_log(c), "error"), "the log is \"%.300s\"", cohort_fn_log(c));
    CHECKF(t, strstr(cohort_fn_log(c), "stateless:3") || strstr(cohort_fn_log(c), "stateless(3)"),
           "the log does not tell the line: \"%.300s\"", cohort_fn_log(c));
    fn.source = "COHORT_FN_DEVICE uint32_t another(uint32_t key, const void *state) { return key; }";
    FAILS(t, c, ids_of(t, c, &fn, keys, ids), COHORT_RANGE, "stateless", NULL);
    CHECK(t, strstr(cohort_fn_log(c), "stateless"));
    fn.source = NULL;
    FAILS(t, c, ids_of(t, c, &fn, keys, ids), COHORT_UNSUPPORTED, "fn->source", "NULL");
    EQUAL(t, each_file(&cache, NULL), 0);
    check_ids(t, c, COHORT_FN(stateless, NULL, 0), 4, 10);
    cache_end(&cache);
}

/* Sources may define things beside the function, include <stdint.h>, use the hash. */
static void sources(struct test *t)
{
    struct cache cache = cache_new(t);
    t->memory = TEST_DEVICE;
    struct column *keys = column_new(t, 200, 8), *ids = column_new(t, 200, 4);
    below(t, keys);
    cohort_fn fn = {.size = sizeof fn, .kind = COHORT_FN_USER, .name = "by_hash"};
    fn.source = "#include <stdint.h>\n"
                "typedef struct { uint64_t seed; uint8_t shift; } settings;\n"
                "COHORT_FN_DEVICE uint32_t mixed(uint64_t key, const settings *s) { return "
                "(uint32_t)(co_hash(key, s->seed)"
                " >> s->shift); }\n"
                "COHORT_FN_DEVICE uint32_t by_hash(uint64_t key, const void *state)\n"
                "{ return mixed(key, (const settings *)state); } // the last line has no end";
    struct {
        uint64_t seed;
        uint8_t shift;
    } settings = {77, 40};
    fn.data = &settings;
    fn.count = sizeof settings;
    OK(t, ids_of(t, t->context, &fn, keys, ids));
    column_fetch(ids);
    for (uint64_t i = 0; i < 200; i++)
        EQUAL(t, column_get(ids, i), test_mix(column_get(keys, i) ^ 77) >> 40);
    cache_end(&cache);
}

/* ---- NVIDIA's compiler, which needs no GPU ------------------------------------------------------------- */

/* A call whose function `compile` is to compile, and does not: said, nothing is written, and the next call
 * has the simulator's own compiler, if there is one. What that call came to. */
static cohort_status check_not_compiled(struct test *t, jit_compile compile, cohort_status due,
                                        const char *word, const char *value)
{
    struct cache cache = cache_new(t);
    uint32_t keys[10] = {1, 2000}, out[10], untouched[10];
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    const struct cuda_driver *before = gpu_of(t->context)->driver;
    const cohort_fn fn = COHORT_FN(stateless, NULL, 0);
    counted = *before;
    counted.compile = compile;
    gpu_of(t->context)->driver = &counted;
    memset(out, 0x5c, sizeof out);
    memcpy(untouched, out, sizeof out);
    d.n = 10;
    d.buckets = 2;
    d.fn = &fn;
    d.keys = keys;
    d.keys_out = out;
    for (int i = 0; i < 2; i++)
        FAILS(t, t->context, cohort_multisplit(t->context, &d), due, word, value);
    CHECK(t, !memcmp(out, untouched, sizeof out));
    EQUAL(t, each_file(&cache, NULL), 0);
    gpu_of(t->context)->driver = before;
    cohort_status status = cohort_multisplit(t->context, &d);
    CHECK(t, status || out[9] == 2000);
    cache_end(&cache);
    return status;
}

/* It cannot be opened. */
static void no_compiler(struct test *t)
{
    setenv("COHORT_NVRTC", "/dev/null", 1);
    cohort_status s = check_not_compiled(t, nvrtc_compile, COHORT_UNSUPPORTED, "needs NVRTC", "libnvrtc");
    CHECK(t, !s || s == COHORT_UNSUPPORTED);
    unsetenv("COHORT_NVRTC");
}

/* A driver that has none. */
static void never_a_compiler(struct test *t)
{
    cohort_status s =
        check_not_compiled(t, NULL, COHORT_UNSUPPORTED, "desc.fn", "sim driver has no compiler");
    CHECK(t, !s || s == COHORT_UNSUPPORTED);
}

static enum jit_result compile_without_memory(const struct jit_program *program, struct jit_image *image,
                                              char **log)
{
    (void)program;
    *image = (struct jit_image){NULL, 0};
    *log = NULL;
    return JIT_NO_MEMORY;
}

/* It gets no memory. */
static void no_memory_to_compile(struct test *t)
{
    OK(t,
       check_not_compiled(t, compile_without_memory, COHORT_NO_MEMORY, "no memory to compile", "stateless"));
}

static enum jit_result by_nvrtc(const char *body, unsigned architecture, struct jit_image *image, char **log)
{
    char text[1000];
    struct jit_program p = {text, architecture, 13000};
    snprintf(
        text, sizeof text,
        "#include \"fn.h\"\n#line 1 \"half\"\nCOHORT_FN_DEVICE uint32_t half(uint32_t key, const void "
        "*state)\n{\n%s\n}\n"
        "#define USER_FN half\n#define USER_KEY co_u32\n#define USER_BITS 32\n#define USER_KERNEL fn_half\n"
        "#include \"fn_user.h\"\n",
        body);
    *image = (struct jit_image){NULL, 0};
    return nvrtc_compile(&p, image, log);
}

static int holds(const struct jit_image *image, const char *word)
{
    return image->data && memmem(image->data, image->bytes, word, strlen(word)) != NULL;
}

/* NVRTC starts the driver, where there is one, when it first compiles, and the driver keeps files of its own
 * open. Where there is none, whatever is open afterwards is a leak. */
static void leave_out_the_drivers_files(struct test *t)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver)
        return;
    dlclose(driver);
    test_count_files(t);
}

/* Machine code for what it knows, PTX for what is newer or lies between, and else what is wrong with which
 * line. No GPU has architecture 85: the newest one before it is 80. */
static void nvrtc(struct test *t)
{
    struct jit_image image;
    char *log;
    if (by_nvrtc("return key / 2;", 90, &image, &log) == JIT_NO_COMPILER)
        test_skip(t, "%s", log);
    leave_out_the_drivers_files(t);
    CHECKF(t, holds(&image, "\177ELF") && holds(&image, "fn_half"), "no machine code: %s", log ? log : "");
    free(image.data);
    free(log);
    EQUAL(t, by_nvrtc("return (uint32_t)(co_hash(key, 1) >> 32);", 999, &image, &log), JIT_OK);
    CHECKF(t, holds(&image, ".entry fn_half"), "no PTX: %s", log ? log : "");
    free(image.data);
    free(log);
    EQUAL(t, by_nvrtc("return key / 2;", 85, &image, &log), JIT_OK);
    CHECKF(t, holds(&image, ".target sm_80"), "no PTX for 80: %s", log ? log : "");
    free(image.data);
    free(log);
    EQUAL(t, by_nvrtc("return nonsense(key;", 90, &image, &log), JIT_REFUSED);
    CHECK(t, !image.data);
    CHECKF(t, log && strstr(log, "half(3)") && strstr(log, "error"), "the log is \"%.300s\"", log ? log : "");
    free(log);
}

/* ---- division ------------------------------------------------------------------------------------------ */

static void check_divisor(struct test *t, uint64_t d)
{
    struct split_divisor by = split_divisor_of(d);
    uint64_t n[40];
    int count = 0;
    const uint64_t multiples[] = {1,
                                  2,
                                  3,
                                  UINT64_MAX / d,
                                  UINT64_MAX / d / 2,
                                  test_random(t) / d,
                                  UINT32_MAX / d,
                                  (test_random(t) >> 32) / d};
    for (int i = 0; i < 8; i++)
        for (int off = -1; off <= 1; off++)
            n[count++] = multiples[i] * d + (uint64_t)off;
    n[count++] = 0;
    n[count++] = UINT64_MAX;
    n[count++] = UINT32_MAX;
    n[count++] = 1ull << 63;
    n[count++] = test_random(t);
    n[count++] = test_random(t) >> 32;
    for (int i = 0; i < count; i++)
        REQUIREF(t, split_divide(n[i], &by) == n[i] / d, "%llu / %llu is %llu, not %llu",
                 (unsigned long long)n[i], (unsigned long long)d, (unsigned long long)split_divide(n[i], &by),
                 (unsigned long long)(n[i] / d));
}

/* The quotient does not fall as x rises, so it is right everywhere if it is at each multiple and just before:
 * of as many from the first, up to the last, and at some between. */
static void check_reciprocal(struct test *t, uint64_t d, uint64_t many)
{
    struct split_reciprocal by = split_reciprocal_of(d);
    uint64_t last = UINT32_MAX / d;
    for (uint64_t i = 0; i < 3 * many; i++) {
        uint64_t q = i < many ? i : i < 2 * many ? last - (i - many) : test_below(t, last + 1);
        if (q > last)
            continue;
        uint64_t end = q < last ? q * d + d - 1 : UINT32_MAX;
        REQUIREF(t, split_quotient(&by, (uint32_t)(q * d)) == q && split_quotient(&by, (uint32_t)end) == q,
                 "%llu or %llu over %llu is not %llu", (unsigned long long)(q * d), (unsigned long long)end,
                 (unsigned long long)d, (unsigned long long)q);
    }
}

/* Every divisor of few keys to a bucket at many multiples; those of all m up to 4,096, and others, at all. */
static void reciprocals(struct test *t)
{
    for (uint64_t d = 1; d <= 70000; d++)
        check_reciprocal(t, d, 8);
    for (uint64_t m = 1; m <= test_scale(t, 512, 4096, 4096); m++)
        for (uint64_t d = UINT32_MAX / m; d <= UINT32_MAX / m + 2; d++)
            check_reciprocal(t, d, UINT32_MAX / d + 1);
    for (uint64_t m = 65530; m <= 65537; m++)
        check_reciprocal(t, UINT32_MAX / m + 1, m);
    for (int bit = 0; bit <= 33; bit++)
        for (uint64_t off = 0; off < 5; off++)
            if ((1ull << bit) + off > 2)
                check_reciprocal(t, (1ull << bit) + off - 2, 4000);
    for (uint64_t i = test_scale(t, 1000, 10000, 100000); i > 0; i--)
        check_reciprocal(t, 1 + (test_random(t) >> (32 + test_below(t, 32))), 20);
}

static void divisors(struct test *t)
{
    for (uint64_t d = 1; d <= 70000; d++)
        check_divisor(t, d);
    for (int bit = 0; bit < 64; bit++)
        for (uint64_t off = 0; off < 5; off++)
            if ((1ull << bit) + off > 2)
                check_divisor(t, (1ull << bit) + off - 2);
    for (uint64_t i = test_scale(t, 100000, 1000000, 5000000); i > 0; i--)
        check_divisor(t, (test_random(t) >> test_below(t, 64)) | 1);
    check_divisor(t, UINT64_MAX);
    check_divisor(t, UINT64_MAX - 1);
}

#define GPU (TEST_ON_SIM | TEST_ON_CUDA)
const struct test_case test_cases[] = {
    {"ids", ids, GPU},
    {"kept_on_disk", kept_on_disk, GPU},
    {"no_disk", no_disk, GPU},
    {"refused", refused, GPU},
    {"sources", sources, GPU},
    {"no_compiler", no_compiler, TEST_ON_SIM},
    {"never_a_compiler", never_a_compiler, TEST_ON_SIM},
    {"no_memory_to_compile", no_memory_to_compile, TEST_ON_SIM},
    {"nvrtc", nvrtc, TEST_ON_CPU | TEST_NO_CONTEXT},
    {"divisors", divisors, TEST_ON_CPU | TEST_NO_CONTEXT},
    {"reciprocals", reciprocals, TEST_ON_CPU | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
