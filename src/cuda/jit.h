/* jit.h: programs that are compiled when they are met: what a compiler gets and gives, and where results are
 * kept. */
#ifndef COHORT_CUDA_JIT_H
#define COHORT_CUDA_JIT_H

#include <stddef.h>
#include <stdint.h>

/* Texts that the build embeds (cmake/texts.cmake), by the names by which they are included; a NULL name ends
 * them. */
struct cohort_text {
    const char *name, *text;
};
extern const struct cohort_text cohort_texts[];

/* C source that includes cohort_texts; what is compiled for is a device of `architecture` behind a driver of
 * this version. */
struct jit_program {
    const char *text;
    unsigned architecture;
    int driver_version;
};

/* What the driver loads; malloc. */
struct jit_image {
    void *data;
    size_t bytes;
};

enum jit_result {
    JIT_OK = 0,
    JIT_NO_COMPILER = 1, /* *log: why, one line */
    JIT_REFUSED = 2,     /* the source does not compile; *log: what the compiler says */
    JIT_NO_MEMORY = 3
};

/* A driver's compiler. *log is malloc'd, or NULL. Thread-safe. */
typedef enum jit_result (*jit_compile)(const struct jit_program *, struct jit_image *, char **log);

/* nvrtc.c: NVIDIA's, opened when it is first needed. */
enum jit_result nvrtc_compile(const struct jit_program *, struct jit_image *, char **log);

#endif
