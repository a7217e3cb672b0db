/* module.c: kernels by name.
 *
 * A context looks a kernel up in its own cache, then in the modules, those first whose name begins the
 * kernel's: map_find_32_32 is in the module "map". So only the modules that are needed get loaded. A
 * device that takes the driver's place has its kernels by name already: it is asked for one module, with
 * no image.
 *
 * Each context loads modules of its own. They live in the device's primary context, but so a context ends
 * without asking who else uses what it used. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

struct gpu_function {
    struct gpu_function *next;
    cuda_function function;
    char name[];
};

static const struct cohort_fatbin *second_table;

void gpu_fatbins_register(const struct cohort_fatbin *table)
{
    second_table = table;
}

/* Entry i of both tables. */
static const struct cohort_fatbin *fatbin_at(unsigned i)
{
    unsigned first = 0;
    while (cohort_fatbins[first].name)
        first++;
    if (i < first)
        return &cohort_fatbins[i];
    if (!second_table || i >= GPU_MODULES)
        return NULL;
    for (const struct cohort_fatbin *f = second_table; f->name; f++)
        if (i-- == first)
            return f;
    return NULL;
}

static cuda_result look_in(struct gpu_modules *m, const struct cuda_driver *driver, unsigned i,
                           const void *image, const char *name, cuda_function *out)
{
    if (!m->module[i]) {
        cuda_result r = driver->module_load_data(&m->module[i], image);
        if (r != CUDA_OK) {
            m->module[i] = NULL;
            return r;
        }
    }
    return driver->module_get_function(out, m->module[i], name);
}

static cuda_result look(struct gpu_modules *m, const struct cuda_driver *driver, const char *name,
                        cuda_function *out)
{
    if (strcmp(driver->name, "cuda") != 0)
        return look_in(m, driver, 0, NULL, name, out);
    for (int namesake = 1; namesake >= 0; namesake--) {
        const struct cohort_fatbin *f;
        for (unsigned i = 0; (f = fatbin_at(i)); i++) {
            if ((strncmp(name, f->name, strlen(f->name)) == 0) != namesake)
                continue;
            cuda_result r = look_in(m, driver, i, f->data, name, out);
            if (r != CUDA_NOT_FOUND)
                return r;
        }
    }
    return CUDA_NOT_FOUND;
}

static unsigned bucket_of(const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return (h ^ h >> 16) % GPU_FUNCTION_BUCKETS;
}

cuda_result gpu_function(struct gpu_modules *m, const struct cuda_driver *driver, const char *name,
                         cuda_function *out)
{
    struct gpu_function **bucket = &m->functions[bucket_of(name)];
    for (struct gpu_function *f = *bucket; f; f = f->next) {
        if (strcmp(f->name, name) == 0) {
            *out = f->function;
            return CUDA_OK;
        }
    }
    cuda_result r = look(m, driver, name, out);
    if (r != CUDA_OK)
        return r;
    size_t bytes = strlen(name) + 1;
    struct gpu_function *f = malloc(sizeof *f + bytes);
    if (!f)
        return CUDA_OK; /* found, and looked for again the next time */
    memcpy(f->name, name, bytes);
    f->function = *out;
    f->next = *bucket;
    *bucket = f;
    return CUDA_OK;
}

void gpu_modules_unload(struct gpu_modules *m, const struct cuda_driver *driver)
{
    for (unsigned i = 0; i < GPU_FUNCTION_BUCKETS; i++) {
        while (m->functions[i]) {
            struct gpu_function *f = m->functions[i];
            m->functions[i] = f->next;
            free(f);
        }
    }
    for (unsigned i = 0; i < GPU_MODULES; i++) {
        if (m->module[i])
            driver->module_unload(m->module[i]);
        m->module[i] = NULL;
    }
}
