/* The memory of `cohort sort --memory`: what the regions of its temporary file hold, whether what it
 * remembers of them grows with the file, and what it has of the library's workspace. For the last, this
 * program's cohort_sort and cohort_multisplit come before the library's, look at what the context's pool
 * holds, and pass the call on. Ends with a line 'N passed, N failed, N skipped'. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spill.h"

#define MEMORY "1M"
#define SHARE  UINT64_C(500000) /* of the pool; the other half is the tool's own */

static uint64_t calls, kept_most, beyond_most;

static uint64_t pool_bytes(cohort_context *context)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    return cohort_context_get_info(context, &info) ? UINT64_MAX : info.pool_bytes;
}

static void note(uint64_t *most, uint64_t bytes)
{
    *most = bytes > *most ? bytes : *most;
}

static void note_before(cohort_context *context)
{
    calls++;
    note(&kept_most, pool_bytes(context));
}

/* The pool's blocks are up to a sixteenth larger than what a call asks for. */
static void note_after(cohort_context *context, uint64_t need)
{
    uint64_t held = pool_bytes(context);
    need += need / 16 + 1024;
    note(&beyond_most, held > need ? held - need : 0);
}

COHORT_API cohort_status cohort_sort(cohort_context *context, const cohort_sort_desc *desc)
{
    cohort_status (*call)(cohort_context *, const cohort_sort_desc *);
    uint64_t need = 0;
    *(void **)(void *)&call = dlsym(RTLD_NEXT, "cohort_sort");
    note_before(context);
    cohort_status status = call(context, desc);
    cohort_sort_workspace(context, desc, &need);
    note_after(context, need);
    return status;
}

COHORT_API cohort_status cohort_multisplit(cohort_context *context, const cohort_multisplit_desc *desc)
{
    cohort_status (*call)(cohort_context *, const cohort_multisplit_desc *);
    uint64_t need = 0;
    *(void **)(void *)&call = dlsym(RTLD_NEXT, "cohort_multisplit");
    note_before(context);
    cohort_status status = call(context, desc);
    cohort_multisplit_workspace(context, desc, &need);
    note_after(context, need);
    return status;
}

static int numbers_make(const char *path, uint64_t n)
{
    FILE *file = fopen(path, "wb");
    uint64_t random = 1;
    for (uint64_t i = 0; file && i < n; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t number = (uint32_t)(random >> 33);
        fwrite(&number, sizeof number, 1, file);
    }
    return file && !fclose(file);
}

static int sort(const char *in, const char *out, const char *memory, const char *threads, fault *fault)
{
    const char *words[] = {"--u32", "--memory", memory, "--device", "cpu", "--threads", threads, in, out};
    return sort_main((int)(sizeof words / sizeof words[0]), (char **)(void *)words, fault);
}

static unsigned passed, failed;

static void judge(int good, const char *name, const fault *fault)
{
    if (!good)
        printf("FAIL %s: %s\n", name, fault->text);
    *(good ? &passed : &failed) += 1;
}

/* ---- regions ------------------------------------------------------------------------------------------- */

#define REGIONS 7
#define NUMBERS 3000

static uint32_t state = 1;

static uint32_t random_below(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * n >> 32);
}

/* Pieces to regions in turn; then stretches of them back. */
static int regions_hold(uint64_t unit, const char *folder, fault *fault)
{
    static uint64_t held[REGIONS][NUMBERS], back[NUMBERS];
    numbers spill;
    char path[4096];
    snprintf(path, sizeof path, "%s/out", folder);
    region *regions = NULL;
    int status = spill_open(&spill, path, 8, fault), good = !status;
    if (good)
        good = (regions = regions_make(&spill, REGIONS, unit, NUMBERS)) != NULL;
    for (uint64_t left = REGIONS * NUMBERS; good && left;) {
        unsigned r = random_below(REGIONS);
        uint64_t n = 1 + random_below(random_below(2) ? 3 : 700), room = NUMBERS - regions[r].n;
        n = n < room ? n : room;
        for (uint64_t i = 0; i < n; i++)
            held[r][regions[r].n + i] = (uint64_t)r << 32 | (regions[r].n + i);
        good = !region_append(&regions[r], held[r] + regions[r].n, n, fault);
        left -= n;
    }
    for (unsigned i = 0; i < 3000 && good; i++) {
        unsigned r = random_below(REGIONS);
        uint64_t first = random_below(NUMBERS), n = random_below((uint32_t)(NUMBERS - first)) + 1;
        good = !region_read(&regions[r], first, n, back, fault) && !memcmp(back, held[r] + first, 8 * n);
    }
    good = good && spill.n <= 2 * REGIONS * (NUMBERS + unit) && !spill_cut(&spill, 5, fault) && spill.n == 5;
    free(regions);
    numbers_close(&spill);
    return good;
}

/* ---- what is remembered -------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#else
#    define SANITIZED 0
#endif

/* The most memory, in kilobytes, that a process has that sorts n numbers; -1: it failed. */
static long resident(const char *in, const char *out, uint64_t n)
{
    struct rusage usage;
    int status;
    static fault fault;
    if (!numbers_make(in, n))
        return -1;
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        _exit(sort(in, out, "128K", "1", &fault));
    return child < 0 || wait4(child, &status, 0, &usage) != child || status ? -1 : usage.ru_maxrss;
}

int main(int argc, char **argv)
{
    static fault fault;
    char in[4096], out[4096], name[200];
    if (argc != 2)
        return 2;
    snprintf(in, sizeof in, "%s/in", argv[1]);
    snprintf(out, sizeof out, "%s/out", argv[1]);
    for (uint64_t unit = 1; unit <= 4096; unit = unit * 3 + 1) {
        snprintf(name, sizeof name, "regions whose first extent has %llu numbers", (unsigned long long)unit);
        judge(regions_hold(unit, argv[1], &fault), name, &fault);
    }
    long few = resident(in, out, 250000), many = resident(in, out, 2000000);
    snprintf(name, sizeof name, "--memory 128K: %ld KB for 1 MB of numbers, %ld KB for 8 MB", few, many);
    judge(few > 0 && many > 0 && (SANITIZED || many - few <= 512), name, &fault);
    for (unsigned threads = 1; threads <= 2; threads++) {
        calls = kept_most = beyond_most = 0;
        int good = numbers_make(in, 2000000) && !sort(in, out, MEMORY, threads == 1 ? "1" : "2", &fault) &&
                   calls >= 16 && kept_most <= SHARE && beyond_most <= SHARE;
        snprintf(name, sizeof name,
                 "--threads %u: %llu calls; the pool kept %llu bytes between calls, and %llu beside one's",
                 threads, (unsigned long long)calls, (unsigned long long)kept_most,
                 (unsigned long long)beyond_most);
        judge(good, name, &fault);
    }
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
