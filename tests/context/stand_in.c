/* stand_in.c: see stand_in.h. */
#define _GNU_SOURCE
#include "stand_in.h"

#include <ctype.h>
#include <sys/mman.h>

#include "cuda/device.h"
#include "cuda/module.h"

extern const struct cuda_driver *sim_open(const char *rest, const char **why);

#ifndef SOURCE_ROOT
#    define SOURCE_ROOT "." /* the test runs in the root of the tree */
#endif

#define DONE_BYTES (1u << 16) /* of a fill or a copy that is done, at most */

struct stand_in stand_in;

/* ---- the kernels that there are ------------------------------------------------------------------------ */

static struct {
    char *names; /* one after the other, each with a 0 behind it */
    size_t bytes;
} known;

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* A kernel's name stands before its one parameter: NAME(const __grid_constant__ ... */
static void note_kernels(const char *text)
{
    for (const char *at = text; (at = strstr(at, "(const __grid_constant__")); at++) {
        const char *begin = at;
        while (begin > text && is_word(begin[-1]))
            begin--;
        known.names = realloc(known.names, known.bytes + (size_t)(at - begin) + 1);
        memcpy(known.names + known.bytes, begin, (size_t)(at - begin));
        known.bytes += (size_t)(at - begin) + 1;
        known.names[known.bytes - 1] = 0;
    }
}

static char *all_of(FILE *in)
{
    size_t bytes = 0, room = 1 << 20, got;
    char *text = malloc(room + 1);
    while (text && (got = fread(text + bytes, 1, room - bytes, in))) {
        bytes += got;
        if (bytes == room)
            text = realloc(text, (room *= 2) + 1);
    }
    if (text)
        text[bytes] = 0;
    return text;
}

/* As scripts/gpu-check.sh reads them. */
static void read_kernels(void)
{
    static const char command[] =
        "cd '" SOURCE_ROOT
        "' && for f in src/kernels/*.cu; do cc -E -P -x c -D__CUDACC__ -I include -I src $f; "
        "done 2>/dev/null";
    FILE *in = popen(command, "r");
    char *text = in ? all_of(in) : NULL;
    if (in)
        pclose(in);
    if (text)
        note_kernels(text);
    free(text);
}

static const char *kernel_named(const char *name)
{
    for (size_t at = 0; at < known.bytes; at += strlen(known.names + at) + 1)
        if (!strcmp(known.names + at, name))
            return known.names + at;
    return NULL;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

enum { PIECES = 4096 };
static struct {
    char *at;
    size_t bytes;
} piece[PIECES];

static size_t total_memory(void)
{
    return (size_t)141 << 30;
}

static cuda_result mem_alloc(cuda_pointer *out, size_t bytes)
{
    int i = 0;
    while (i < PIECES && piece[i].at)
        i++;
    if (i == PIECES || !bytes)
        return CUDA_OUT_OF_MEMORY;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return CUDA_OUT_OF_MEMORY;
    piece[i].at = at;
    piece[i].bytes = bytes;
    *out = (uintptr_t)at;
    return CUDA_OK;
}

static int piece_of(cuda_pointer p)
{
    for (int i = 0; i < PIECES; i++)
        if (piece[i].at && p >= (uintptr_t)piece[i].at && p < (uintptr_t)piece[i].at + piece[i].bytes)
            return i;
    return -1;
}

static const struct cuda_driver *under;

static cuda_result mem_free(cuda_pointer p)
{
    int i = piece_of(p);
    if (i < 0)
        return under->mem_free(p);
    munmap(piece[i].at, piece[i].bytes);
    piece[i].at = NULL;
    return CUDA_OK;
}

static cuda_result memory_info(size_t *available, size_t *total)
{
    *available = *total = total_memory();
    return CUDA_OK;
}

static cuda_result device_memory(size_t *bytes, cuda_device device)
{
    (void)device;
    *bytes = total_memory();
    return CUDA_OK;
}

static cuda_result pointer_attribute(void *value, int what, cuda_pointer p)
{
    if (piece_of(p) < 0)
        return under->pointer_attribute(value, what, p);
    if (what == CUDA_POINTER_MEMORY_TYPE)
        *(uint32_t *)value = CUDA_MEMORY_DEVICE;
    else if (what == CUDA_POINTER_IS_MANAGED)
        *(uint32_t *)value = 0;
    else
        *(int32_t *)value = 0;
    return CUDA_OK;
}

static cuda_result copy(cuda_pointer to, cuda_pointer from, size_t bytes, cuda_stream stream)
{
    (void)stream;
    if (bytes <= DONE_BYTES)
        memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return CUDA_OK;
}

static cuda_result fill(cuda_pointer at, unsigned char value, size_t bytes, cuda_stream stream)
{
    (void)stream;
    if (stand_in.log)
        fprintf(stand_in.log, "    fill %zu bytes with %u\n", bytes, value);
    if (bytes <= DONE_BYTES)
        memset((void *)(uintptr_t)at, value, bytes);
    return CUDA_OK;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static int shared_allowed; /* what function_set_attribute was told */

/* Shared memory of a block, when asked for: CUDA C Programming Guide, table of technical specifications. */
static int shared_of(unsigned architecture)
{
    return 1024 * (architecture == 80 ? 163 : architecture < 90 || architecture >= 120 ? 99 : 227);
}

static cuda_result attribute(int *value, int what, cuda_device device)
{
    cuda_result r = under->device_attribute(value, what, device);
    if (what == CUDA_ATTRIBUTE_MAJOR)
        *value = (int)stand_in.architecture / 10;
    if (what == CUDA_ATTRIBUTE_MINOR)
        *value = (int)stand_in.architecture % 10;
    if (what == CUDA_ATTRIBUTE_MULTIPROCESSORS)
        *value = 132;
    if (what == CUDA_ATTRIBUTE_MAX_SHARED_OPT_IN)
        *value = shared_of(stand_in.architecture);
    return r;
}

static cuda_result driver_version(int *version)
{
    *version = 12040;
    return CUDA_OK;
}

static cuda_result load(cuda_module *module, const void *image)
{
    (void)image;
    *module = (cuda_module)(void *)&stand_in;
    return CUDA_OK;
}

static cuda_result unload(cuda_module module)
{
    (void)module;
    return CUDA_OK;
}

static cuda_result function(cuda_function *out, cuda_module module, const char *name)
{
    const char *found = kernel_named(name);
    (void)module;
    *out = (cuda_function)(uintptr_t)found;
    return found ? CUDA_OK : CUDA_NOT_FOUND;
}

static cuda_result set_attribute(cuda_function f, int what, int value)
{
    (void)f;
    if (what == CUDA_FUNCTION_MAX_DYNAMIC_SHARED)
        shared_allowed = value;
    return CUDA_OK;
}

static void note(cuda_function f, const unsigned grid[3], const unsigned block[3], unsigned shared,
                 const char *how)
{
    int most = shared > 49152 ? shared_allowed : 49152;
    stand_in.launches++;
    shared_allowed = 0;
    if (stand_in.log)
        fprintf(stand_in.log, "    %s <<<%u, %u, %u>>>%s\n", (const char *)(uintptr_t)f, grid[0], block[0],
                shared, how);
    if ((!grid[0] || grid[0] > INT32_MAX || grid[1] != 1 || grid[2] != 1 || !block[0] || block[0] > 1024 ||
         block[1] != 1 || block[2] != 1 || (int)shared > most ||
         (int)shared > shared_of(stand_in.architecture)) &&
        !stand_in.complaint[0])
        snprintf(stand_in.complaint, sizeof stand_in.complaint,
                 "%s: %u blocks of %u with %u bytes of shared memory on sm_%u", (const char *)(uintptr_t)f,
                 grid[0], block[0], shared, stand_in.architecture);
}

static cuda_result launch(cuda_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, cuda_stream stream, void **parameters, void **extra)
{
    (void)stream;
    (void)parameters;
    (void)extra;
    note(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, "");
    return CUDA_OK;
}

static cuda_result launch_early(const struct cuda_launch *l, cuda_function f, void **parameters, void **extra)
{
    (void)parameters;
    (void)extra;
    note(f, l->grid, l->block, l->shared_bytes, " early");
    return CUDA_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static const struct cuda_driver *open_stand_in(const char *rest, const char **why)
{
    static struct cuda_driver driver;
    (void)rest;
    under = sim_open("1", why);
    if (!under)
        return NULL;
    driver = *under;
    driver.name = "cuda";
    driver.device_attribute = attribute;
    driver.driver_version = driver_version;
    driver.device_total_memory = device_memory;
    driver.memory_info = memory_info;
    driver.mem_alloc = mem_alloc;
    driver.mem_free = mem_free;
    driver.pointer_attribute = pointer_attribute;
    driver.memcpy_async = copy;
    driver.memset_d8_async = fill;
    driver.module_load_data = load;
    driver.module_unload = unload;
    driver.module_get_function = function;
    driver.function_set_attribute = set_attribute;
    driver.launch_kernel = launch;
    driver.launch_kernel_ex = launch_early;
    return &driver;
}

void stand_in_begin(struct test *t)
{
    static const unsigned char image[1];
    static const uint64_t bytes = 1;
    static const struct cohort_fatbin every[] = {{"", image, &bytes}, {NULL, NULL, NULL}};
    if (!known.bytes) {
        read_kernels();
        gpu_fatbins_register(every); /* where nvcc is not, the library has none */
    }
    if (!known.bytes)
        test_skip(t, "the sources of the kernels, or cc, are not there");
    stand_in.architecture = 90;
    cuda_driver_register("stand-in", open_stand_in);
}

void stand_in_end(void)
{
    cuda_driver_register("sim", sim_open);
}
