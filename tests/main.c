/* main.c: runs the cases of a test program (test.h) on one device and says what came of them.
 *
 * A case of the table becomes one run per kind of memory and per width, as its flags ask. Each run gets a
 * new context, whose memory comes now from the library's own allocator and now from a counting one.
 * Failures leave a run by longjmp; its objects are then abandoned, so a failed run is not checked for
 * leaks. A run that crashes or hangs ends the program, by a signal's handler that names it. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "cuda/driver.h"
#include "cuda/module.h"

/* The simulated GPU, where it is linked in. */
extern const struct cuda_driver *sim_open(const char *rest, const char **why) __attribute__((weak));
extern unsigned sim_leaks(FILE *out) __attribute__((weak));

/* The seed of columns' hashes, where the library is linked in with its insides. */
extern void keys_seed_fix(uint64_t from) __attribute__((weak));

/* Seeds that are drawn, which a case may have fixed and then failed. */
extern void seed_draw_fix(const uint64_t *seed) __attribute__((weak));

/* Kernels that tests bring, where there are any and nvcc was found. */
extern const struct cohort_fatbin cohort_test_fatbins[] __attribute__((weak));

/* Seconds that one case may take in the short form; in the others, and under a sanitizer, CASE_LIMIT_LONG;
 * under tools that the program does not know of, what --limit says. */
#define CASE_LIMIT      120
#define CASE_LIMIT_LONG 600

struct options {
    const char *program, *device, *filter;
    int quick, ci, list, verbose, stop, share;
    unsigned limit;
    uint64_t seed, part, parts, draw;
};

struct run {
    const struct test_case *test_case;
    enum test_memory memory;
    cohort_width width;
    cohort_layout layout;
    unsigned number, of; /* among its case's combinations of memory, width and layout */
    char name[96];
};

struct totals {
    unsigned passed, failed, skipped;
    char *skips; /* one line each */
    size_t skips_bytes;
};

static char running[160];

/* ---- when a run crashes or hangs ----------------------------------------------------------------------- */

static void put(const char *text)
{
    ssize_t ignored = write(STDOUT_FILENO, text, strlen(text));
    (void)ignored;
}

static void on_signal(int number)
{
    put("FAIL ");
    put(running);
    put(number == SIGALRM ? ": took too long\n" : number == SIGTERM ? ": was stopped\n" : ": crashed\n");
    signal(number == SIGALRM ? SIGABRT : number, SIG_DFL);
    raise(number == SIGALRM ? SIGABRT : number);
}

#if defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define SANITIZED 1
#    endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#endif

/* The thread sanitizer makes everything ten times slower. */
#if defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define SLOWED 1
#    endif
#endif
#if defined(__SANITIZE_THREAD__)
#    define SLOWED 1
#endif

/* On a stack of its own: the fault may be that the stack is used up. Sanitizers tell more about crashes
 * than this. */
static void catch_signals(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
#ifndef SANITIZED
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
#endif
}

/* ---- one run ------------------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

static void seed_random(struct test *t)
{
    uint64_t x = t->first = t->seed ^ hash_text(t->name);
    for (int i = 0; i < 4; i++)
        t->random[i] = test_mix(x += 0x9e3779b97f4a7c15u);
    if (seed_draw_fix)
        seed_draw_fix(NULL);
    if (keys_seed_fix)
        keys_seed_fix(x);
}

static uint64_t pool_bytes(struct test *t)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    OK(t, cohort_trim(t->context));
    OK(t, cohort_context_get_info(t->context, &info));
    return info.pool_bytes;
}

static void open_context(struct test *t, unsigned flags)
{
    const uint64_t threads[] = {1, 2, 3, 5};
    cohort_context_options options = test_context_options(t);
    options.threads = threads[test_below(t, 4)];
    if (test_below(t, 2) || flags & TEST_COUNTED)
        options.alloc = test_allocator(t, &t->ledger);
    cohort_status status = cohort_context_create(&options, &t->context);
    REQUIREF(t, !status, "cohort_context_create: %s: %s", cohort_status_name(status), cohort_message(NULL));
    t->pool = pool_bytes(t);
}

/* After a case that has not failed. */
static void close_context(struct test *t)
{
    cohort_wait(t->context);
    uint64_t left = pool_bytes(t);
    CHECKF(t, left == t->pool, "the pool holds %llu bytes, and held %llu before the case",
           (unsigned long long)left, (unsigned long long)t->pool);
    cohort_context_destroy(t->context);
    t->context = NULL;
    test_ledger_check(t, &t->ledger);
}

/* The driver sets a GPU's primary context up for the first who asks for it and takes it down after the
 * last, a fifth of a second each time. So it is held from case to case, but for cases that make their
 * contexts themselves: they meet a GPU that nobody holds. */
void test_hold_gpu(const struct test *t, int wanted)
{
    static int held;
    const char *why;
    int ordinal = 0, device;
    cuda_context context;
    if (t->kind != TEST_CUDA || held == wanted)
        return;
    const struct cuda_driver *driver = cuda_driver_for(t->device, &ordinal, &why);
    if (!driver || driver->device_get(&device, ordinal))
        return;
    if (wanted)
        held = driver->primary_retain(&context, device) == CUDA_OK;
    else
        held = driver->primary_release(device) != CUDA_OK;
}

/* How many of the first 256 file descriptors are open. */
__attribute__((noinline)) static int open_files(void)
{
    int open_ones = 0;
    for (int fd = 0; fd < 256; fd++)
        open_ones += fcntl(fd, F_GETFD) >= 0;
    return open_ones;
}

/* How many pieces of memory are files that are mapped to be read, but for libraries. */
static int mapped_files(void)
{
    char line[4400];
    int files = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        files += strchr(line, '/') && strstr(line, " r--p ") && !strstr(line, ".so");
    if (maps)
        fclose(maps);
    return files;
}

void test_count_files(struct test *t)
{
    t->files = open_files();
}

enum { RUN_PASSED, RUN_FAILED, RUN_SKIPPED };

static enum test_device kind_of(const struct options *o)
{
    return !strncmp(o->device, "cpu", 3) ? TEST_CPU : !strncmp(o->device, "sim", 3) ? TEST_SIM : TEST_CUDA;
}

/* Combinations are drawn on the simulated GPU alone: that many numbers in a row have all of a case's. */
static unsigned share_of(const struct options *o, const struct run *run)
{
    return kind_of(o) != TEST_SIM ? 1 : run->of >= 6 ? 6 : run->of;
}

/* The number that draws a case's parts changes when that which draws its combinations has been through all:
 * each part meets each combination. Cases begin with different parts. */
static void draw_parts(struct test *t, const struct options *o, const struct run *run)
{
    t->drawn = o->share && o->quick;
    t->draw = o->draw / share_of(o, run) + test_mix(hash_text(run->name)) % 5040;
}

static int run_one(struct test *t, const struct options *o, const struct run *run)
{
    jmp_buf leave;
    memset(t, 0, sizeof *t);
    t->device = o->device;
    t->kind = kind_of(o);
    t->memory = run->memory;
    t->width = run->width;
    t->layout = run->layout;
    t->quick = o->quick;
    t->ci = o->ci;
    t->seed = o->seed;
    t->name = run->name;
    t->exit = &leave;
    draw_parts(t, o, run);
    seed_random(t);
    test_hold_gpu(t, !(run->test_case->flags & TEST_NO_CONTEXT));
    test_count_files(t);
    t->mapped = mapped_files();
    if (!setjmp(leave)) {
        if (!(run->test_case->flags & TEST_NO_CONTEXT))
            open_context(t, run->test_case->flags);
        run->test_case->run(t);
        if (!t->failures)
            column_drop(t, NULL);
        if (!t->failures && t->context)
            close_context(t);
        if (!t->failures && t->kind == TEST_SIM)
            CHECK(t, !sim_leaks(stdout));
        /* A GPU's driver opens files of its own. */
        if (!t->failures && t->kind != TEST_CUDA)
            CHECKF(t, open_files() == t->files, "%d files are open, and %d were before the case",
                   open_files(), t->files);
        if (!t->failures && t->kind != TEST_CUDA)
            CHECKF(t, mapped_files() == t->mapped, "%d files are mapped, and %d were before the case",
                   mapped_files(), t->mapped);
    } else if (!t->failures && t->context) { /* a skip: it has made no objects */
        column_drop(t, NULL);
        cohort_context_destroy(t->context);
    }
    if (t->failures && t->kind == TEST_SIM)
        sim_leaks(NULL);
    if (t->failures)
        test_hold_gpu(t, 0); /* it may be of no more use */
    return t->failures ? RUN_FAILED : t->skipped[0] ? RUN_SKIPPED : RUN_PASSED;
}

/* ---- all runs ------------------------------------------------------------------------------------------ */

/* Why the case cannot run here; NULL if it can. */
static const char *why_not(const struct options *o, const struct test_case *c, enum test_device kind)
{
    unsigned only = c->flags & (TEST_ON_CPU | TEST_ON_SIM | TEST_ON_CUDA);
    if (only && !(only & kind))
        return only == TEST_ON_CPU   ? "for the CPU alone"
               : only == TEST_ON_SIM ? "for the simulator alone"
                                     : "for other devices";
    if (o->quick && (c->flags & TEST_SLOW))
        return "left out by --quick";
    return NULL;
}

static void note_skip(struct totals *totals, const char *name, const char *why)
{
    size_t bytes = strlen(name) + strlen(why) + 16;
    char *grown = realloc(totals->skips, totals->skips_bytes + bytes);
    if (grown) {
        totals->skips = grown;
        totals->skips_bytes += (size_t)sprintf(grown + totals->skips_bytes, "skip: %s: %s\n", name, why);
    }
    totals->skipped++;
}

/* In a line for all of a case's. */
static void note_parts(const struct test *t, struct totals *totals)
{
    char why[80];
    snprintf(why, sizeof why, "%u of its %u parts were not drawn", t->not_drawn, t->parts);
    note_skip(totals, t->name, why);
}

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void run_and_tell(const struct options *o, const struct run *run, struct totals *totals)
{
    struct test t;
    snprintf(running, sizeof running, "%s (--seed %llu)", run->name, (unsigned long long)o->seed);
    double start = now();
    alarm(o->limit);
    int result = run_one(&t, o, run);
    alarm(0);
    if (o->verbose)
        printf("%s %s %.2f s\n",
               result == RUN_PASSED    ? "ok  "
               : result == RUN_SKIPPED ? "skip"
                                       : "fail",
               run->name, now() - start);
    for (unsigned i = 0; i < t.left_out && result == RUN_PASSED; i++)
        note_skip(totals, run->name, "a combination that this run left out (--ci takes all)");
    if (t.not_drawn && result == RUN_PASSED)
        note_parts(&t, totals);
    if (result == RUN_PASSED) {
        totals->passed += t.parts == 0 || t.not_drawn < t.parts;
    } else if (result == RUN_SKIPPED) {
        note_skip(totals, run->name, t.skipped);
    } else {
        totals->failed++;
        printf("FAIL %s: %s", run->name, t.message);
        printf(t.failures > 1 ? " (and %u more)\n" : "\n", t.failures - 1);
    }
    fflush(stdout);
}

static void name_run(struct run *run)
{
    unsigned flags = run->test_case->flags;
    snprintf(run->name, sizeof run->name, "%s%s%s%s%s", run->test_case->name,
             flags & TEST_EACH_WIDTH ? "/" : "", flags & TEST_EACH_WIDTH ? width_name(run->width) : "",
             flags & TEST_EACH_MEMORY ? run->memory == TEST_HOST ? "/host" : "/device" : "",
             run->layout == COHORT_LAYOUT_LINES ? "/lines" : "");
}

/* Combination i of a case's; 0 if the case does not have it. */
enum { COMBINATIONS = 2 * 2 * 6 };
static int combination(const struct test_case *c, enum test_device kind, int i, struct run *run)
{
    const int width = i / 4;
    *run = (struct run){.test_case = c, .memory = i / 2 % 2 ? TEST_DEVICE : TEST_HOST};
    run->width = c->flags & TEST_EACH_WIDTH ? (cohort_width)(1 + width) : COHORT_WIDTH_64_64;
    run->layout = i % 2 ? COHORT_LAYOUT_LINES : COHORT_LAYOUT_PAGES;
    name_run(run);
    return !((run->layout && !(c->flags & TEST_EACH_LAYOUT)) ||
             (run->memory == TEST_DEVICE && (!(c->flags & TEST_EACH_MEMORY) || kind == TEST_CPU)) ||
             (width && !(c->flags & TEST_EACH_WIDTH)) ||
             (run->width == COHORT_WIDTH_128_64 && !run->layout && !(c->flags & TEST_OF_LINES)) ||
             (c->flags & TEST_VALUES && !value_bytes(run->width)) ||
             (c->flags & TEST_WIDE_KEYS && key_bytes(run->width) != 8));
}

/* Does `what` with every run that the options select. Returns how many the filter lets through. */
static uint64_t each_run(const struct options *o, struct totals *totals,
                         void (*what)(const struct options *, const struct run *, struct totals *))
{
    uint64_t number = 0;
    enum test_device kind = kind_of(o);
    struct run run;
    for (const struct test_case *c = test_cases; c->name; c++) {
        unsigned of = 0, at = 0;
        for (int i = 0; i < COMBINATIONS; i++)
            of += (unsigned)combination(c, kind, i, &run);
        for (int i = 0; i < COMBINATIONS; i++) {
            if (!combination(c, kind, i, &run))
                continue;
            run.number = at++;
            run.of = of;
            if (o->filter && !strstr(run.name, o->filter))
                continue;
            if (number++ % o->parts == o->part - 1)
                what(o, &run, totals);
        }
    }
    return number;
}

/* The simulated GPU takes long. In the short form, if a number is drawn, it has a sixth of the combinations
 * of a case that has six or more, and one of fewer: six numbers in a row have them all. On an older
 * architecture, where the filter names a width, that is a sixth of the cases. */
static int is_drawn(const struct options *o, const struct run *run)
{
    if (!o->share || !o->quick || kind_of(o) != TEST_SIM || (o->filter && !strstr(o->device, "arch=")))
        return 1;
    const unsigned share = share_of(o, run);
    const uint64_t first = test_mix(hash_text(run->test_case->name) ^ hash_text(o->device));
    return (run->number + o->draw % share + first % share) % share == 0;
}

static void run_or_skip(const struct options *o, const struct run *run, struct totals *totals)
{
    enum test_device kind = kind_of(o);
    if (o->stop && totals->failed)
        return; /* --stop: one failure is enough */
    const char *why = why_not(o, run->test_case, kind);
    if (!why && !is_drawn(o, run))
        why = "a combination that was not drawn";
    if (why)
        note_skip(totals, run->name, why);
    else
        run_and_tell(o, run, totals);
}

static void list_run(const struct options *o, const struct run *run, struct totals *totals)
{
    (void)o;
    (void)totals;
    printf("%s\n", run->name);
}

static void skip_run(const struct options *o, const struct run *run, struct totals *totals)
{
    (void)o;
    (void)run;
    totals->skipped++;
}

/* ---- the command line ---------------------------------------------------------------------------------- */

static void usage(const char *wrong)
{
    fprintf(stderr,
            "%s\nusage: [--device cpu | sim:SEED | cuda] [--quick | --ci] [--filter TEXT] [--seed N]"
            " [--list] [--part K/N] [--limit SECONDS] [--verbose] [--stop]\n",
            wrong);
    exit(2);
}

static uint64_t number_of(const char *text, const char **rest)
{
    char *end;
    uint64_t n = strtoull(text, &end, 0);
    if (end == text || (!rest && *end))
        usage(text);
    if (rest)
        *rest = end;
    return n;
}

static void parse(struct options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (!strcmp(name, "--quick"))
            o->quick = 1;
        else if (!strcmp(name, "--ci"))
            o->ci = 1;
        else if (!strcmp(name, "--list"))
            o->list = 1;
        else if (!strcmp(name, "--verbose"))
            o->verbose = 1;
        else if (!strcmp(name, "--stop"))
            o->stop = 1;
        else if (++i >= argc)
            usage(name);
        else if (!strcmp(name, "--device"))
            o->device = argv[i];
        else if (!strcmp(name, "--filter"))
            o->filter = argv[i];
        else if (!strcmp(name, "--seed"))
            o->seed = number_of(argv[i], NULL);
        else if (!strcmp(name, "--limit"))
            o->limit = (unsigned)number_of(argv[i], NULL);
        else if (!strcmp(name, "--part")) {
            const char *rest;
            o->part = number_of(argv[i], &rest);
            o->parts = *rest == '/' ? number_of(rest + 1, NULL) : 0;
            if (!o->part || o->part > o->parts)
                usage(argv[i]);
        } else
            usage(name);
    }
}

/* Opens the device once: 1 if it is there, else says why not. */
static int device_is_there(const struct options *o)
{
    cohort_context *context;
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    options.device = o->device;
    if (cohort_context_create(&options, &context) || cohort_context_get_info(context, &info)) {
        printf("skip: %s\n", cohort_message(NULL));
        return 0;
    }
    printf("%s on %s: %s, seed %llu\n", o->program, o->device, info.device, (unsigned long long)o->seed);
    cohort_context_destroy(context);
    return 1;
}

static int no_case(const struct options *o)
{
    printf("FAIL --filter %s: %s has no such case\n0 passed, 1 failed, 0 skipped\n", o->filter, o->program);
    return 1;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    struct options o = {
        .program = slash ? slash + 1 : argv[0], .device = "cpu", .seed = 1, .part = 1, .parts = 1};
    struct totals totals = {0};
    parse(&o, argc, argv);
    const char *draw = getenv("COHORT_TEST_DRAW");
    o.share = draw && *draw;
    o.draw = o.share ? number_of(draw, NULL) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef SLOWED
    o.quick = 1;
#endif
#ifdef SANITIZED
    int patient = 1;
#else
    int patient = !o.quick;
#endif
    if (!o.limit)
        o.limit = patient ? CASE_LIMIT_LONG : CASE_LIMIT;
    if (sim_open)
        cuda_driver_register("sim", sim_open);
    if (cohort_test_fatbins)
        gpu_fatbins_register(cohort_test_fatbins);
    if (o.list)
        return each_run(&o, &totals, list_run) ? 0 : no_case(&o);
    int there = device_is_there(&o);
    if (there)
        catch_signals();
    if (!each_run(&o, &totals, there ? run_or_skip : skip_run) && there)
        return no_case(&o);
    if (totals.skips)
        fputs(totals.skips, stdout);
    printf("%u passed, %u failed, %u skipped\n", totals.passed, totals.failed, totals.skipped);
    free(totals.skips);
    return !there ? 77 : totals.failed ? 1 : 0;
}
