/* test_litmus.c: the litmus programs of tests/litmus/litmus.cu, on the simulated GPU and on a real one.
 *
 * Each program has the list of outcomes that its words allow. In the simulator all of them must turn up, and
 * no other; on a GPU no other. So nothing that a GPU has shown is impossible in the simulator. Both are the
 * same host code, on the driver's table; the simulator runs one instance a launch, a GPU thousands side by
 * side. */
#include "cuda/module.h"
#include "test.h"

extern const struct cuda_driver *sim_open(const char *rest, const char **why) __attribute__((weak));
extern const struct cohort_fatbin cohort_test_fatbins[] __attribute__((weak));

enum { REGISTERS = 4, STRIDE = 64, MAX_SEEN = 256 };

struct litmus_args { /* as in litmus.cu */
    uint32_t *words, *registers, *arrived;
    uint32_t instances, roles, stride, shift;
};

/* What a program is given: lanes of its roles, anywhere or in one block. Outcomes are its registers, or the
 * words it leaves. */
struct litmus {
    const char *name;
    uint32_t roles, registers;
    const char *allowed; /* "00 01": register 0, register 1 */
    enum { ANYWHERE, IN_BLOCK, WORDS } where;
    int architecture;
};

#define ALL2     "00 01 10 11"
#define NOT_10   "00 01 11"
#define NOT_00   "01 10 11"
#define NOT_1010 "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111"

static const struct litmus programs[] = {
    {"litmus_mp", 2, 2, ALL2, ANYWHERE, 0},
    {"litmus_mp_release", 2, 2, ALL2, ANYWHERE, 0},
    {"litmus_mp_acquire", 2, 2, ALL2, ANYWHERE, 0},
    {"litmus_mp_both", 2, 2, NOT_10, ANYWHERE, 0},
    {"litmus_mp_fences", 2, 2, NOT_10, ANYWHERE, 0},
    {"litmus_mp_fence_acquire", 2, 2, NOT_10, ANYWHERE, 0},
    {"litmus_mp_release_fence", 2, 2, NOT_10, ANYWHERE, 0},
    {"litmus_mp_plain", 2, 2, "00 11", ANYWHERE, 0},
    {"litmus_sb", 2, 2, ALL2, ANYWHERE, 0},
    {"litmus_sb_ordered", 2, 2, ALL2, ANYWHERE, 0},
    {"litmus_sb_fence", 2, 2, ALL2, ANYWHERE, 0},
    {"litmus_sb_fence_sc", 2, 2, NOT_00, ANYWHERE, 0},
    {"litmus_corr", 2, 2, NOT_10, ANYWHERE, 0},
    {"litmus_coww", 2, 2, "00 01 02 11 12 22", ANYWHERE, 0},
    {"litmus_co_order", 4, 4,
     "0000 0001 0002 0011 0012 0021 0022 0100 0101 0102 0111 0112 0121 0122 0200 0201 0202 0211 0212 "
     "0221 0222 1100 1101 1102 1111 1112 1121 1122 1200 1201 1202 1211 1212 1222 2100 2101 2102 2111 "
     "2121 2122 2200 2201 2202 2211 2212 2221 2222",
     ANYWHERE, 0},
    {"litmus_iriw", 4, 4, NOT_1010 " 1010", ANYWHERE, 0},
    {"litmus_iriw_fence_sc", 4, 4, NOT_1010, ANYWHERE, 0},
    {"litmus_2w", 2, 2, "11 12 21 22", WORDS, 0},
    {"litmus_2w_fence_sc", 2, 2, "12 21 22", WORDS, 0},
    {"litmus_add", 2, 2, "01 10", ANYWHERE, 0},
    {"litmus_cas", 2, 2, "02 22", WORDS, 0},
    {"litmus_sequence", 3, 2, "00 01 10 11 21", ANYWHERE, 0},
    {"litmus_wrc", 3, 3, "000 001 010 011 100 101 111", ANYWHERE, 0},
    {"litmus_glance", 2, 2, ALL2, ANYWHERE, 0},
    {"litmus_glance_load", 2, 2, NOT_10, ANYWHERE, 0},
    {"litmus_sector", 2, 2, ALL2, ANYWHERE, 0},
    {"litmus_half", 2, 2, ALL2, ANYWHERE, 0},
    {"litmus_whole", 2, 2, "00 11", ANYWHERE, 0},
    {"litmus_whole_cas", 2, 4, "0011 2200", ANYWHERE, 90},
    {"litmus_block_sync", 2, 1, "1", IN_BLOCK, 0},
    {"litmus_warp_sync", 2, 1, "1", IN_BLOCK, 0},
    {"litmus_vote", 2, 1, "0 1", IN_BLOCK, 0},
};

/* ---- the device ---------------------------------------------------------------------------------------- */

struct bench {
    const struct cuda_driver *d;
    cuda_context primary;
    cuda_device device;
    cuda_stream stream;
    cuda_module module;
    cuda_pointer words, registers, arrived;
    uint32_t *host_words, *host_registers;
    uint32_t instances; /* at most */
    int architecture, fatbin;
};

static void need(struct test *t, cuda_result r, const char *what)
{
    REQUIREF(t, r == CUDA_OK, "%s: error %d", what, r);
}

static const void *image(struct test *t, const struct bench *b)
{
    if (strcmp(b->d->name, "sim") == 0)
        return NULL;
    for (const struct cohort_fatbin *f = cohort_test_fatbins; f && f->name; f++)
        if (strcmp(f->name, "litmus") == 0)
            return f->data;
    test_skip(t, "built without nvcc: there is no litmus kernel for a GPU");
}

static void open_bench(struct test *t, struct bench *b)
{
    const char *why = NULL;
    int ordinal = 0, minor = 0;
    memset(b, 0, sizeof *b);
    b->d = cuda_driver_for(t->device, &ordinal, &why);
    REQUIREF(t, b->d != NULL, "%s", why);
    need(t, b->d->init(0), "init");
    need(t, b->d->device_get(&b->device, ordinal), "device_get");
    need(t, b->d->device_attribute(&b->architecture, CUDA_ATTRIBUTE_MAJOR, b->device), "major");
    need(t, b->d->device_attribute(&minor, CUDA_ATTRIBUTE_MINOR, b->device), "minor");
    b->architecture = 10 * b->architecture + minor;
    b->instances = t->kind == TEST_SIM ? 16 : 16384;
    const void *data = image(t, b);
    need(t, b->d->primary_retain(&b->primary, b->device), "primary_retain");
    need(t, b->d->context_push(b->primary), "context_push");
    need(t, b->d->stream_create(&b->stream, CUDA_STREAM_NON_BLOCKING), "stream_create");
    need(t, b->d->module_load_data(&b->module, data), "module_load_data");
    size_t words = (size_t)b->instances * STRIDE * 4, registers = (size_t)b->instances * REGISTERS * 4;
    need(t, b->d->mem_alloc(&b->words, words), "mem_alloc");
    need(t, b->d->mem_alloc(&b->registers, registers), "mem_alloc");
    need(t, b->d->mem_alloc(&b->arrived, 4), "mem_alloc");
    need(t, b->d->mem_host_alloc((void **)&b->host_words, words, 1), "mem_host_alloc");
    need(t, b->d->mem_host_alloc((void **)&b->host_registers, registers, 1), "mem_host_alloc");
}

static void close_bench(struct test *t, struct bench *b)
{
    cuda_context popped;
    need(t, b->d->mem_free(b->words), "mem_free");
    need(t, b->d->mem_free(b->registers), "mem_free");
    need(t, b->d->mem_free(b->arrived), "mem_free");
    need(t, b->d->mem_free_host(b->host_words), "mem_free_host");
    need(t, b->d->mem_free_host(b->host_registers), "mem_free_host");
    need(t, b->d->module_unload(b->module), "module_unload");
    need(t, b->d->stream_destroy(b->stream), "stream_destroy");
    need(t, b->d->context_pop(&popped), "context_pop");
    need(t, b->d->primary_release(b->device), "primary_release");
}

/* Runs `instances` of one program once; registers and words are left in host memory. */
static void launch(struct test *t, struct bench *b, const struct litmus *l, cuda_function f,
                   uint32_t instances, uint32_t blocks, uint32_t threads, uint32_t shift, int gather)
{
    struct litmus_args args = {(uint32_t *)(uintptr_t)b->words,
                               (uint32_t *)(uintptr_t)b->registers,
                               gather ? (uint32_t *)(uintptr_t)b->arrived : NULL,
                               instances,
                               l->roles,
                               STRIDE,
                               shift};
    void *parameters[] = {&args};
    size_t words = (size_t)instances * STRIDE * 4, registers = (size_t)instances * REGISTERS * 4;
    need(t, b->d->memset_d8_async(b->words, 0, words, b->stream), "memset");
    need(t, b->d->memset_d8_async(b->registers, 0, registers, b->stream), "memset");
    need(t, b->d->memset_d8_async(b->arrived, 0, 4, b->stream), "memset");
    need(t, b->d->launch_kernel(f, blocks, 1, 1, threads, 1, 1, 0, b->stream, parameters, NULL), "launch");
    uintptr_t host_words = (uintptr_t)b->host_words, host_registers = (uintptr_t)b->host_registers;
    if (l->where == WORDS)
        need(t, b->d->memcpy_async(host_words, b->words, words, b->stream), "memcpy");
    need(t, b->d->memcpy_async(host_registers, b->registers, registers, b->stream), "memcpy");
    need(t, b->d->stream_synchronize(b->stream), l->name);
}

/* ---- outcomes ------------------------------------------------------------------------------------------ */

struct seen {
    uint64_t count[MAX_SEEN]; /* by place in the list of what is allowed */
    uint64_t runs;
};

static int place_in(const char *list, const char *word)
{
    size_t length = strlen(word);
    int at = 0;
    for (const char *p = list; *p; p += length + (p[length] == ' '), at++)
        if (strncmp(p, word, length) == 0)
            return at;
    return -1;
}

/* litmus_cas: its one register, then the word that is left. */
static void outcome_text(const struct bench *b, const struct litmus *l, uint32_t i, char *text)
{
    const uint32_t *words = b->host_words + (size_t)i * STRIDE,
                   *registers = b->host_registers + (size_t)i * REGISTERS;
    uint32_t v[REGISTERS] = {registers[0], registers[1], registers[2], registers[3]};
    if (l->where == WORDS) {
        v[0] = words[0];
        v[1] = words[STRIDE / 2];
        if (strcmp(l->name, "litmus_cas") == 0) {
            v[0] = registers[0];
            v[1] = words[0];
        }
    }
    for (uint32_t r = 0; r < l->registers; r++)
        text[r] = v[r] < 10 ? (char)('0' + v[r]) : '?';
    text[l->registers] = 0;
}

static void collect(struct test *t, const struct bench *b, const struct litmus *l, uint32_t instances,
                    struct seen *seen)
{
    char text[REGISTERS + 1];
    for (uint32_t i = 0; i < instances; i++) {
        outcome_text(b, l, i, text);
        int at = place_in(l->allowed, text);
        if (!CHECKF(t, at >= 0, "%s: %s is not among %s, in run %llu", l->name, text, l->allowed,
                    (unsigned long long)seen->runs))
            return;
        seen->count[at]++;
        seen->runs++;
    }
}

static void check_all_seen(struct test *t, const struct litmus *l, const struct seen *seen)
{
    int at = 0;
    for (const char *p = l->allowed; *p; at++) {
        CHECKF(t, seen->count[at] > 0, "%s: %.*s was not seen in %llu runs", l->name, (int)l->registers, p,
               (unsigned long long)seen->runs);
        p += l->registers;
        p += *p == ' ';
    }
}

/* ---- the cases ----------------------------------------------------------------------------------------- */

static void run_sim(struct test *t, struct bench *b, const struct litmus *l, cuda_function f)
{
    struct seen seen = {{0}, 0};
    uint64_t runs = test_scale(t, 2000, 10000, 50000);
    if (l->registers == 4)
        runs *= 4; /* many outcomes, some of them rare */
    for (uint64_t i = 0; i < runs && !t->failures; i++) {
        int apart = l->where != IN_BLOCK && i % 2;
        launch(t, b, l, f, 1, apart ? l->roles : 1, apart ? 1 : l->roles, 0, 0);
        collect(t, b, l, 1, &seen);
    }
    if (!t->failures)
        check_all_seen(t, l, &seen);
}

static void run_gpu(struct test *t, struct bench *b, const struct litmus *l, cuda_function f)
{
    struct seen seen = {{0}, 0};
    uint64_t runs = test_scale(t, 20, 200, 500);
    for (uint64_t i = 0; i < runs && !t->failures; i++) {
        uint32_t threads = l->where == IN_BLOCK ? 256 : 32u << test_below(t, 4);
        uint32_t instances = l->where == IN_BLOCK ? threads / 2 : b->instances >> test_below(t, 6);
        uint32_t blocks = l->where == IN_BLOCK ? 1 : instances * l->roles / threads;
        launch(t, b, l, f, instances, blocks, threads, (uint32_t)test_below(t, instances),
               l->where != IN_BLOCK);
        collect(t, b, l, instances, &seen);
    }
    fprintf(stderr, "%-26s", l->name);
    int at = 0;
    for (const char *p = l->allowed; *p; p += l->registers, p += *p == ' ', at++)
        if (seen.count[at])
            fprintf(stderr, " %.*s:%llu", (int)l->registers, p, (unsigned long long)seen.count[at]);
    fprintf(stderr, "\n");
}

static void outcomes(struct test *t)
{
    struct bench b;
    open_bench(t, &b);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        const struct litmus *l = &programs[i];
        cuda_function f;
        if (l->architecture > b.architecture)
            continue;
        need(t, b.d->module_get_function(&f, b.module, l->name), l->name);
        (t->kind == TEST_SIM ? run_sim : run_gpu)(t, &b, l, f);
        if (t->failures)
            break;
    }
    close_bench(t, &b);
}

const struct test_case test_cases[] = {{"outcomes", outcomes, TEST_ON_SIM | TEST_ON_CUDA | TEST_NO_CONTEXT},
                                       {NULL, NULL, 0}};
