/* nvrtc.c: NVIDIA's run-time compiler, opened when a program is first met; there is no link-time dependency.
 *
 * libnvrtc is looked for by its versioned names, that of the driver's own major version first, since a driver
 * may not know what a newer compiler makes; in the usual places of libraries, then in those of the CUDA
 * toolkit. COHORT_NVRTC in the environment names one file, and no other is tried. */
#include "jit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program_s *nvrtc_program;

static struct {
    int (*version)(int *major, int *minor);
    const char *(*error)(int);
    int (*create)(nvrtc_program *, const char *text, const char *name, int headers, const char *const *texts,
                  const char *const *names);
    int (*destroy)(nvrtc_program *);
    int (*compile)(nvrtc_program, int options, const char *const *);
    int (*log_size)(nvrtc_program, size_t *);
    int (*log)(nvrtc_program, char *);
    int (*cubin_size)(nvrtc_program, size_t *);
    int (*cubin)(nvrtc_program, char *);
    int (*ptx_size)(nvrtc_program, size_t *);
    int (*ptx)(nvrtc_program, char *);
    int (*arch_count)(int *);
    int (*archs)(int *);
} nvrtc;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int opened; /* 1: the table above is filled, -1: it cannot be */

/* ---- opening ------------------------------------------------------------------------------------------- */

static const struct {
    void *function;
    const char *name;
} symbols[] = {
    {&nvrtc.version, "nvrtcVersion"},
    {&nvrtc.error, "nvrtcGetErrorString"},
    {&nvrtc.create, "nvrtcCreateProgram"},
    {&nvrtc.destroy, "nvrtcDestroyProgram"},
    {&nvrtc.compile, "nvrtcCompileProgram"},
    {&nvrtc.log_size, "nvrtcGetProgramLogSize"},
    {&nvrtc.log, "nvrtcGetProgramLog"},
    {&nvrtc.cubin_size, "nvrtcGetCUBINSize"},
    {&nvrtc.cubin, "nvrtcGetCUBIN"},
    {&nvrtc.ptx_size, "nvrtcGetPTXSize"},
    {&nvrtc.ptx, "nvrtcGetPTX"},
    {&nvrtc.arch_count, "nvrtcGetNumSupportedArchs"},
    {&nvrtc.archs, "nvrtcGetSupportedArchs"},
};

/* ISO C has no conversion between pointers to objects and to functions; POSIX promises that the bytes are the
 * same. */
static int take_symbols(void *library)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found)
            return 0;
        memcpy(symbols[i].function, &found, sizeof found);
    }
    return 1;
}

static int try_file(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 0;
    if (take_symbols(library))
        return 1;
    dlclose(library);
    return 0;
}

/* One soname in all places. */
static int try_soname(const char *soname)
{
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    const char *const folders[] = {"lib64", "lib", "targets/x86_64-linux/lib"};
    char path[4096];
    if (try_file(soname))
        return 1;
    for (int h = 0; h < 3; h++)
        for (int f = 0; f < 3 && homes[h] && *homes[h]; f++)
            if (snprintf(path, sizeof path, "%s/%s/%s", homes[h], folders[f], soname) < (int)sizeof path &&
                try_file(path))
                return 1;
    return 0;
}

static int open_any(int driver_version)
{
    static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
    const int newest = 13, count = 3;
    int own = newest - driver_version / 1000;
    const char *only = getenv("COHORT_NVRTC");
    if (only && *only)
        return try_file(only);
    own = own < 0 ? 0 : own >= count ? count - 1 : own;
    for (int i = own; i < count; i++)
        if (try_soname(sonames[i]))
            return 1;
    for (int i = own - 1; i >= 0; i--)
        if (try_soname(sonames[i]))
            return 1;
    return try_soname("libnvrtc.so");
}

static int ready(int driver_version)
{
    pthread_mutex_lock(&mutex);
    if (!opened)
        opened = open_any(driver_version) ? 1 : -1;
    int is_open = opened == 1;
    pthread_mutex_unlock(&mutex);
    return is_open;
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

/* Machine code where this compiler knows the device, else PTX for the newest one before it that it knows. */
static unsigned best_arch(unsigned architecture, int *exact)
{
    int count = 0, archs[64];
    unsigned best = 0;
    *exact = 0;
    if (nvrtc.arch_count(&count) || count > 64 || nvrtc.archs(archs))
        return architecture;
    for (int i = 0; i < count; i++) {
        unsigned a = (unsigned)archs[i];
        *exact |= a == architecture;
        best = a <= architecture && a > best ? a : best;
    }
    return best ? best : architecture;
}

static char *log_of(nvrtc_program program)
{
    size_t bytes = 0;
    char *log = nvrtc.log_size(program, &bytes) || bytes > SIZE_MAX - 1 ? NULL : malloc(bytes + 1);
    if (!log)
        return NULL;
    if (nvrtc.log(program, log))
        bytes = 0;
    log[bytes] = 0;
    return log;
}

static enum jit_result take_image(nvrtc_program program, int exact, struct jit_image *image)
{
    size_t bytes = 0;
    if ((exact ? nvrtc.cubin_size : nvrtc.ptx_size)(program, &bytes) || !bytes)
        return JIT_REFUSED;
    image->data = malloc(bytes);
    image->bytes = bytes;
    if (!image->data)
        return JIT_NO_MEMORY;
    if (!(exact ? nvrtc.cubin : nvrtc.ptx)(program, image->data))
        return JIT_OK;
    free(image->data);
    image->data = NULL;
    return JIT_REFUSED;
}

static enum jit_result compile(nvrtc_program program, unsigned architecture, struct jit_image *image,
                               char **log)
{
    int exact;
    char arch[48];
    unsigned best = best_arch(architecture, &exact);
    snprintf(arch, sizeof arch, "--gpu-architecture=%s_%u", exact ? "sm" : "compute", best);
    const char *const options[] = {arch, "--std=c++17", "--device-as-default-execution-space"};
    int result = nvrtc.compile(program, sizeof options / sizeof *options, options);
    if (!result)
        return take_image(program, exact, image);
    *log = log_of(program);
    return JIT_REFUSED;
}

/* Headers of the system's are not there, and what a source might want of them is built in or in fn.h. */
#define HEADERS_MOST 16

enum jit_result nvrtc_compile(const struct jit_program *p, struct jit_image *image, char **log)
{
    const char *names[HEADERS_MOST] = {"stdint.h", "stddef.h"}, *texts[HEADERS_MOST] = {"", ""};
    nvrtc_program program;
    int count = 2;
    *log = NULL;
    if (!ready(p->driver_version)) {
        *log = strdup("a function of the user's needs NVRTC, and libnvrtc.so cannot be opened");
        return JIT_NO_COMPILER;
    }
    for (const struct cohort_text *t = cohort_texts; t->name && count < HEADERS_MOST; t++, count++) {
        names[count] = t->name;
        texts[count] = t->text;
    }
    int result = nvrtc.create(&program, p->text, "function", count, texts, names);
    if (result) {
        *log = strdup(nvrtc.error(result));
        return JIT_REFUSED;
    }
    enum jit_result r = compile(program, p->architecture, image, log);
    nvrtc.destroy(&program);
    return r;
}
