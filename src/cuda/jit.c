/* jit.c: functions of the user's on a GPU.
 *
 * The source comes between cohort/device/fn.h and kernels/fn_user.h, which together are a program with one
 * kernel: ids of keys. It is compiled by the driver's compiler (NVRTC; the simulated GPU has its own), once:
 * the context keeps the kernel, the disk the image, by all that it depends on: the texts, the architecture,
 * the library's version. */
#define _GNU_SOURCE /* vasprintf */
#include "jit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "jit_cache.h"

/* A function that this context has met. */
struct gpu_user {
    struct gpu_user *next;
    co_u32 key_bytes;
    char *name, *source;
    cuda_module module;
    cuda_function function;
};

/* As in kernels/fn_user.h. */
struct fn_user_args {
    co_u64 n;
    const void *keys;
    const void *state;
    co_u32 *ids;
};

/* ---- texts --------------------------------------------------------------------------------------------- */

/* malloc; NULL: no memory. */
static char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return text;
}

struct program {
    char kernel[40];
    char *text, *key;
};

static char *all_headers(void)
{
    size_t bytes = 1;
    for (const struct cohort_text *t = cohort_texts; t->name; t++)
        bytes += strlen(t->text);
    char *all = malloc(bytes), *at = all;
    for (const struct cohort_text *t = cohort_texts; at && t->name; t++)
        at = stpcpy(at, t->text);
    if (at)
        *at = 0;
    return all;
}

static int make_program(const struct gpu *g, const cohort_fn *fn, co_u32 key_bytes, struct program *p)
{
    char digits[33];
    char *body = text_of("#include \"fn.h\"\n"
                         "#line 1 \"%s\"\n%s\n"
                         "#define USER_FN %s\n#define USER_KEY co_u%u\n#define USER_BITS %u\n",
                         fn->name, fn->source, fn->name, 8 * key_bytes, 8 * key_bytes);
    char *headers = all_headers();
    if (body && headers) {
        jit_hash(body, digits);
        snprintf(p->kernel, sizeof p->kernel, "fn_%s", digits);
        p->text = text_of("%s#define USER_KERNEL %s\n#include \"fn_user.h\"\n", body, p->kernel);
        jit_hash(headers, digits);
        if (p->text)
            p->key = text_of("cohort %s, %s sm_%u, headers %s\n%s", cohort_version(), g->driver->name,
                             g->architecture, digits, p->text);
    }
    free(body);
    free(headers);
    return p->key != NULL;
}

/* ---- from a program to a kernel ------------------------------------------------------------------------ */

/* What the compiler says, as much as fits in the message; all of it in the log. */
static cohort_status refused(cohort_context *context, const cohort_fn *fn, char *log)
{
    free(context->log);
    context->log = log;
    return context_fail(context, COHORT_RANGE, "desc.fn->source of %.64s does not compile: %s", fn->name,
                        log && *log ? log : "the compiler does not say why");
}

static cohort_status compile(cohort_context *context, const cohort_fn *fn, const struct program *p,
                             struct jit_image *image)
{
    struct gpu *g = gpu_of(context);
    struct jit_program program = {p->text, g->architecture, 0};
    cohort_status status = COHORT_OK;
    char *log = NULL;
    if (!g->driver->compile)
        return context_fail(context, COHORT_UNSUPPORTED, "desc.fn: the %s driver has no compiler",
                            g->driver->name);
    g->driver->driver_version(&program.driver_version);
    enum jit_result r = g->driver->compile(&program, image, &log);
    if (r == JIT_REFUSED)
        return refused(context, fn, log);
    if (r == JIT_NO_COMPILER)
        status = context_fail(context, COHORT_UNSUPPORTED, "desc.fn: %s", log ? log : "there is no compiler");
    else if (r != JIT_OK)
        status = context_fail(context, COHORT_NO_MEMORY, "desc.fn: no memory to compile %.64s", fn->name);
    free(log);
    return status;
}

/* With the device current. */
static cuda_result load(struct gpu *g, const struct program *p, const struct jit_image *image,
                        struct gpu_user *u)
{
    cuda_result r = g->driver->module_load_data(&u->module, image->data);
    if (r != CUDA_OK) {
        u->module = NULL;
        return r;
    }
    r = g->driver->module_get_function(&u->function, u->module, p->kernel);
    if (r != CUDA_OK) {
        g->driver->module_unload(u->module);
        u->module = NULL;
    }
    return r;
}

/* From the disk, if what is there loads; else from the compiler. With the device current. */
static cohort_status build(cohort_context *context, const cohort_fn *fn, const struct program *p,
                           struct gpu_user *u)
{
    struct gpu *g = gpu_of(context);
    struct jit_image image;
    if (jit_cache_read(p->key, &image)) {
        cuda_result r = load(g, p, &image, u);
        free(image.data);
        if (r == CUDA_OK)
            return COHORT_OK;
    }
    cohort_status status = compile(context, fn, p, &image);
    if (status)
        return status;
    status = gpu_check(context, load(g, p, &image, u), "loading what was compiled of desc.fn->source");
    if (!status)
        jit_cache_write(p->key, &image);
    free(image.data);
    return status;
}

static void user_free(struct gpu_user *u, const struct cuda_driver *driver)
{
    if (u->module)
        driver->module_unload(u->module);
    free(u->name);
    free(u->source);
    free(u);
}

static cohort_status user_new(cohort_context *context, const cohort_fn *fn, co_u32 key_bytes,
                              struct gpu_user **out)
{
    struct gpu *g = gpu_of(context);
    struct gpu_user *u = calloc(1, sizeof *u);
    struct program p = {"", NULL, NULL};
    cohort_status status = COHORT_OK;
    if (u && (u->name = strdup(fn->name)) && (u->source = strdup(fn->source)) &&
        make_program(g, fn, key_bytes, &p))
        status = build(context, fn, &p, u);
    else
        status = context_fail(context, COHORT_NO_MEMORY, "desc.fn: no memory for its source");
    free(p.text);
    free(p.key);
    if (status) {
        if (u)
            user_free(u, g->driver);
        return status;
    }
    u->key_bytes = key_bytes;
    u->next = g->users;
    *out = g->users = u;
    return COHORT_OK;
}

static cohort_status find(cohort_context *context, const cohort_fn *fn, co_u32 key_bytes,
                          struct gpu_user **out)
{
    for (struct gpu_user *u = gpu_of(context)->users; u; u = u->next)
        if (u->key_bytes == key_bytes && !strcmp(u->name, fn->name) && !strcmp(u->source, fn->source)) {
            *out = u;
            return COHORT_OK;
        }
    return user_new(context, fn, key_bytes, out);
}

void gpu_users_free(struct gpu *g)
{
    while (g->users) {
        struct gpu_user *u = g->users;
        g->users = u->next;
        user_free(u, g->driver);
    }
}

/* ---- ids ----------------------------------------------------------------------------------------------- */

/* With the device current. */
static cohort_status launch(cohort_context *context, const struct gpu_user *u,
                            const struct fn_user_args *args)
{
    struct gpu *g = gpu_of(context);
    uint64_t block = g->tuning->block, most = (uint64_t)g->multiprocessors * g->tuning->blocks;
    uint64_t blocks = args->n / block + (args->n % block != 0);
    void *parameters[1] = {(void *)args};
    cuda_result r = g->driver->launch_kernel(u->function, (unsigned)(blocks < most ? blocks : most), 1, 1,
                                             (unsigned)block, 1, 1, 0, g->stream, parameters, NULL);
    return gpu_check(context, r, "the function of desc.fn");
}

cohort_status gpu_user_ids(cohort_context *context, const struct split_fn *fn, const cohort_fn *user,
                           uint64_t n, const void *keys, uint32_t key_bytes, co_u32 *ids)
{
    struct fn_user_args args = {n, keys, fn->data, ids};
    struct gpu_user *u = NULL;
    if (!user->source)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "desc.fn->source is NULL, and a GPU has no use for a host's "
                            "function");
    cohort_status status = gpu_enter(context);
    if (status)
        return status;
    status = find(context, user, key_bytes, &u);
    if (!status && n)
        status = launch(context, u, &args);
    return gpu_leave(context, status);
}
