/* test.h: the frame that every test program stands in.
 *
 * A program is tests/STRUCTURE/test_NAME.c with a table of its cases; main.c runs them on the device asked
 * for:
 *
 *     static void grows(struct test *t) { ... OK(t, cohort_map_create(t->context, &options, &map)); ... }
 *     const struct test_case test_cases[] = {{"grows", grows, TEST_EACH_MEMORY}, {NULL, NULL, 0}};
 *
 *     test_NAME [--device cpu | sim:SEED | cuda] [--quick | --ci] [--filter TEXT] [--seed N] [--list]
 *              [--part K/N] [--stop]
 *
 * COHORT_TEST_DRAW=N in the environment: with --quick, the simulated GPU has a share of each case's
 * combinations of memory, width and layout, and any device a share of a long case's parts (test_drawn). N
 * draws both.
 *
 * A case is a function of the test alone: its context is new, its random numbers depend on the seed and on
 * its name. It fails by CHECK (goes on) or REQUIRE (leaves the case); it ends in leak checks: all that the
 * context's memory gave out has come back, and as many files are open and mapped as before. Exit status: 0,
 * 1 if a case failed, 77 if the device is not there. */
#ifndef TEST_H
#define TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cohort.h"

/* Where a case's arrays lie. On the CPU there is host memory only. */
enum test_memory { TEST_HOST, TEST_DEVICE };

enum test_device { TEST_CPU = 1, TEST_SIM = 2, TEST_CUDA = 4 };

/* The memory that a context got through its allocator callbacks. */
struct ledger {
    struct ledger_block *blocks;
    uint64_t bytes, most_bytes, calls;
    uint64_t limit;        /* bytes beyond which there is no memory; 0: none */
    void *stream;          /* that the last call told */
    const char *complaint; /* what was done wrong, NULL if nothing was */
    struct test *test;
};

struct test {
    cohort_context *context; /* NULL with TEST_NO_CONTEXT */
    const char *device;      /* "cpu", "sim:7", "cuda", as cohort_context_options has it */
    enum test_device kind;
    enum test_memory memory; /* of columns */
    cohort_width width;      /* with TEST_EACH_WIDTH; else 64/64 */
    cohort_layout layout;    /* with TEST_EACH_LAYOUT; else PAGES */
    int quick, ci;           /* as told on the command line */
    uint64_t seed;           /* of the program; the case's random numbers come from `random` */
    uint64_t random[4];
    int drawn;            /* parts are drawn (test_drawn), */
    uint64_t draw;        /* by this number */
    uint64_t first;       /* from which `random` began */
    struct ledger ledger; /* of `context` */

    /* the frame's own */
    const char *name;
    unsigned failures, left_out, parts, not_drawn;
    uint64_t part_now; /* the part under way, from 1; 0: none */
    char message[600], skipped[200];
    struct column *columns;
    uint64_t pool; /* bytes that the context held before the case */
    int files;     /* files that were open before the case, */
    int mapped;    /* and those that were mapped */
    void *exit;
};

enum {
    TEST_ON_CPU = TEST_CPU, /* only there; none of the three: everywhere */
    TEST_ON_SIM = TEST_SIM,
    TEST_ON_CUDA = TEST_CUDA,
    TEST_EACH_MEMORY = 8, /* with host and with device pointers; else with host pointers alone */
    TEST_EACH_WIDTH = 16, /* with each that the case's layout has: 128/64 with LINES alone */
    TEST_VALUES = 128,    /* with TEST_EACH_WIDTH: not with those without values */
    TEST_WIDE_KEYS = 512, /* with TEST_EACH_WIDTH: with 64-bit keys alone */
    TEST_OF_LINES = 2048, /* with TEST_EACH_WIDTH: the case sets the layout LINES itself, which has all six */
    TEST_EACH_LAYOUT = 1024, /* with each that the device and the width have */
    TEST_COUNTED = 256,      /* t->ledger is always that of the context's memory; else now and then */
    TEST_NO_CONTEXT = 32,    /* the case makes its own */
    TEST_SLOW = 64           /* left out by --quick */
};

struct test_case {
    const char *name;
    void (*run)(struct test *);
    unsigned flags;
};

extern const struct test_case test_cases[]; /* the program's; a NULL name ends them */

/* ---- saying what must hold ----------------------------------------------------------------------------- */

#define CHECK(t, condition)   ((condition) ? 1 : test_fail(t, __FILE__, __LINE__, "%s", #condition))
#define REQUIRE(t, condition) ((condition) ? (void)0 : test_leave(t, __FILE__, __LINE__, "%s", #condition))

/* The same with a message in the manner of printf. */
#define CHECKF(t, condition, ...)   ((condition) ? 1 : test_fail(t, __FILE__, __LINE__, __VA_ARGS__))
#define REQUIREF(t, condition, ...) ((condition) ? (void)0 : test_leave(t, __FILE__, __LINE__, __VA_ARGS__))

/* Two unsigned numbers are equal; both are told if they are not. */
#define EQUAL(t, a, b) test_equal(t, __FILE__, __LINE__, #a, (uint64_t)(a), #b, (uint64_t)(b))

/* A call on the test's context that must succeed, or the case ends. */
#define OK(t, call) test_ok(t, __FILE__, __LINE__, #call, call)

/* A call that must give this status. */
#define STATUS(t, call, status) test_status(t, __FILE__, __LINE__, #call, call, status)

/* A call that must fail so, with a message on `on` (a context or NULL) that has the word and, unless NULL,
 * the value in it. */
#define FAILS(t, on, call, status, word, value) \
    test_fails(t, __FILE__, __LINE__, #call, call, on, status, word, value)

int test_fail(struct test *, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5))); /* 0 */
_Noreturn void test_leave(struct test *, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int test_equal(struct test *, const char *file, int line, const char *a_text, uint64_t a, const char *b_text,
               uint64_t b);
void test_ok(struct test *, const char *file, int line, const char *text, cohort_status);
int test_status(struct test *, const char *file, int line, const char *text, cohort_status got,
                cohort_status due);
int test_fails(struct test *, const char *file, int line, const char *text, cohort_status got,
               const cohort_context *on, cohort_status due, const char *word, const char *value);

/* Ends the case, which counts as skipped. */
_Noreturn void test_skip(struct test *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For cases that go over many combinations: whether this one is done, one of `share` by the case's random
 * numbers; all with --ci. What is left out is told, and counted among what was skipped. */
int test_take(struct test *, uint64_t share);

/* For cases that take long: whether this run does part `part` of `of`, numbered from 0. The short form does
 * one of them, which COHORT_TEST_DRAW draws: a run for each number of `of` in a row does all. Without that
 * variable, and in the other forms, all are done. A part that is done has random numbers of its own: it does
 * the same whichever others are done. One that is asked for several times in a row goes on with them. What
 * is not drawn is told, and counted among what was skipped. */
int test_drawn(struct test *, uint64_t part, uint64_t of);

/* A case leaves as many files open as there were. This counts them anew, after what has opened some that stay
 * and are not the library's. */
void test_count_files(struct test *);

/* ---- contexts and memory ------------------------------------------------------------------------------- */

/* Options for another context on the device under test. */
cohort_context_options test_context_options(const struct test *);

/* A GPU's primary context is held for the next contexts (1), or set up by the first of them and taken down
 * after the last (0), which cases that make their own contexts begin with. Elsewhere nothing. */
void test_hold_gpu(const struct test *, int wanted);

/* An allocator of the device's own memory that writes into `ledger` (all zero but for limit).
 * test_ledger_check fails the case unless everything has come back in the sizes in which it went. */
cohort_allocator test_allocator(struct test *, struct ledger *ledger);
void test_ledger_check(struct test *, struct ledger *);

/* The GPU under test made current for calls of the driver's functions (cuda/driver.h), until
 * test_gpu_leave. */
struct test_gpu {
    const struct cuda_driver *driver; /* NULL: it cannot be had */
    int device;
};
struct test_gpu test_gpu_enter(const struct test *);
void test_gpu_leave(struct test_gpu);

/* graph.c: a CUDA graph, whose launches do again what it captured. Opening skips the case where the device
 * has none; the context works in a stream of the graph's, and columns lie in the GPU's memory, until it is
 * closed. What is captured must have run before, so that all memory is there. Capture answers what the calls
 * answered; there is nothing to launch if that is not COHORT_OK. */
struct test_graph {
    struct test_gpu gpu;
    void *stream, *graph, *exec;
};
void test_graph_open(struct test *, struct test_graph *);
cohort_status test_graph_capture(struct test *, struct test_graph *,
                                 cohort_status (*calls)(struct test *, void *of), void *of);
void test_graph_launch(struct test *, struct test_graph *);
void test_graph_close(struct test *, struct test_graph *);

/* child.c: forks, and runs a part of the case in the child, whose failure is the case's, as is its hanging
 * or crashing. 1: all is well. A child has the threads of its own making alone, and its device is not
 * checked for leaks. */
int test_in_child(struct test *, void (*body)(struct test *, void *), void *arg);

/* ---- random numbers ------------------------------------------------------------------------------------ */

uint64_t test_random(struct test *);
uint64_t test_below(struct test *, uint64_t n); /* in [0, n), n > 0 */
uint64_t test_mix(uint64_t);                    /* a bijection without a pattern */

/* ---- order --------------------------------------------------------------------------------------------- */

/* Puts pairs in order of their ranks, those of one rank as they were. Counts digits: a pass over the pairs
 * for each byte that is not the same in all ranks. */
struct test_pair {
    uint64_t rank, index;
};
void test_order(struct test_pair *, uint64_t n);

/* By how thorough the run is to be. */
static inline uint64_t test_scale(const struct test *t, uint64_t quick, uint64_t normal, uint64_t ci)
{
    return t->quick ? quick : t->ci ? ci : normal;
}

/* By what the device can bear: simulated lanes are slow. */
static inline uint64_t test_size(const struct test *t, uint64_t real, uint64_t sim)
{
    return t->kind == TEST_SIM ? sim : real;
}

/* ---- columns: arrays in the memory under test ---------------------------------------------------------- */

/* The case works on `data`, in host memory. column_send gives the pointer for a call to use: `data`
 * itself, or device memory with the same contents; column_fetch brings the contents back after it, and
 * checks that nothing around them was written. Columns live until the case ends. They are aligned to an
 * element and to no more. */
struct column {
    void *data;
    uint64_t count, width; /* elements and their bytes */
    struct test *test;
    struct column *next;
    unsigned char *host_block, *device_block; /* with what lies around the data */
    uint64_t before;                          /* bytes */
    uint64_t bit, bits; /* of a bitmap: the number of its first, and how many there are */
};

struct column *column_new(struct test *, uint64_t count, uint64_t width);
struct column *column_new_in(struct test *, enum test_memory, uint64_t count, uint64_t width);
void *column_send(struct column *);
void column_fetch(struct column *);

/* Frees the columns made since `mark`, which was t->columns then; NULL: all. */
void column_drop(struct test *, struct column *mark);

/* For arguments that may be left out: NULL for NULL. */
static inline void *column_pointer(struct column *c)
{
    return c ? column_send(c) : NULL;
}

/* Element i of 1, 4 or 8 bytes; or of 16, which is the key of that number (key_words below). */
uint64_t column_get(const struct column *, uint64_t i);
void column_put(struct column *, uint64_t i, uint64_t value);

/* A bitmap is a column of just the bytes that its bits are in; bitmap_new's begins at any bit of any address,
 * often at a word's, bitmap_at_byte's at any address. bitmap_soil sets all that is in these bytes to ones,
 * and bitmap_edges checks that those before the bitmap still are, and that those behind its last bit, in the
 * same byte, have become zeros. */
struct column *bitmap_new(struct test *, uint64_t n);
struct column *bitmap_at_byte(struct test *, uint64_t n);
void bitmap_soil(struct column *);
void bitmap_edges(const struct column *);

static inline uint64_t bitmap_offset(const struct column *c)
{
    return c ? c->bit : 0;
}
static inline uint64_t bitmap_words(uint64_t n)
{
    return n / 32 + (n % 32 != 0);
}
static inline int bitmap_get(const struct column *c, uint64_t i)
{
    return ((uint8_t *)c->data)[(c->bit + i) / 8] >> (c->bit + i) % 8 & 1;
}
static inline void bitmap_set(struct column *c, uint64_t i, int bit)
{
    uint8_t *byte = (uint8_t *)c->data + (c->bit + i) / 8, mask = (uint8_t)(1u << (c->bit + i) % 8);
    *byte = (uint8_t)(bit ? *byte | mask : *byte & ~mask);
}

/* ---- widths -------------------------------------------------------------------------------------------- */

static inline uint64_t key_bytes(cohort_width w)
{
    return w <= COHORT_WIDTH_32_32 ? 4 : w <= COHORT_WIDTH_64_64 ? 8 : 16;
}
static inline uint64_t value_bytes(cohort_width w)
{
    return w >= COHORT_WIDTH_64_64 ? 8 : w == COHORT_WIDTH_32_32 || w == COHORT_WIDTH_64_32 ? 4 : 0;
}
static inline uint64_t key_mask(cohort_width w)
{
    return key_bytes(w) == 4 ? UINT32_MAX : UINT64_MAX;
}
static inline uint64_t value_mask(cohort_width w)
{
    return value_bytes(w) == 8 ? UINT64_MAX : value_bytes(w) == 4 ? UINT32_MAX : 0;
}
const char *width_name(cohort_width);

/* Tests number keys by 64 bits. A key of 16 bytes has the even bits of its number in its low word, the odd
 * ones in its high word, each twice. So 0 and the greatest number are keys of zeros and of ones; numbers
 * that differ in one bit have keys that differ in one word; and one word of a key with the other word of
 * another is the key of a third number, which a case may have put in, or not. */
#define KEY_EVEN UINT64_C(0x5555555555555555)
static inline void key_words(uint64_t number, uint64_t words[2])
{
    const uint64_t even = number & KEY_EVEN, odd = number & ~KEY_EVEN;
    words[0] = even | even << 1;
    words[1] = odd | odd >> 1;
}

/* The number of a key. Of one that is none of the above: some number. */
static inline uint64_t key_number(uint64_t low, uint64_t high)
{
    uint64_t words[2];
    const uint64_t number = (low & KEY_EVEN) | (high & ~KEY_EVEN);
    key_words(number, words);
    return words[0] == low && words[1] == high ? number : test_mix(low ^ test_mix(high));
}

/* A key as it lies in memory, and back. */
static inline void key_write(void *at, uint64_t number, cohort_width w)
{
    uint64_t words[2] = {number, 0};
    if (key_bytes(w) == 16)
        key_words(number, words);
    memcpy(at, words, key_bytes(w));
}
static inline uint64_t key_read(const void *at, cohort_width w)
{
    uint64_t words[2] = {0, 0};
    memcpy(words, at, key_bytes(w));
    return key_bytes(w) == 16 ? key_number(words[0], words[1]) : words[0];
}

#endif
