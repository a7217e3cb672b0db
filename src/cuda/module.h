/* module.h: the kernels that are embedded, and how a context finds them by name. */
#ifndef COHORT_CUDA_MODULE_H
#define COHORT_CUDA_MODULE_H

#include "driver.h"

/* One embedded fatbin. The build makes the table (cmake/cuda.cmake): an entry for each file of kernels,
 * ended by a NULL name; empty where there was no nvcc. */
struct cohort_fatbin {
    const char *name;
    const unsigned char *data;
    const uint64_t *size;
};
extern const struct cohort_fatbin cohort_fatbins[];

/* Adds a second table: tests bring kernels of their own. Call before any context is made; it stays. */
void gpu_fatbins_register(const struct cohort_fatbin *table);

struct gpu_function;

#define GPU_MODULES          64
#define GPU_FUNCTION_BUCKETS 64

/* The modules of one context, in the order of the tables, each loaded when a kernel is looked for in it;
 * and the kernels that have been found. All zero: none yet. */
struct gpu_modules {
    cuda_module module[GPU_MODULES];
    struct gpu_function *functions[GPU_FUNCTION_BUCKETS];
};

/* The device must be current. CUDA_NOT_FOUND: no module has such a kernel. */
cuda_result gpu_function(struct gpu_modules *, const struct cuda_driver *, const char *name,
                         cuda_function *out);
void gpu_modules_unload(struct gpu_modules *, const struct cuda_driver *);

#endif
