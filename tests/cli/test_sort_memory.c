/* What `cohort sort --memory` has of the library's workspace: this program's cohort_sort and cohort_multisplit come before the
 * library's, look at what the context's pool holds, and pass the call on. Ends with a line 'N passed, N failed, N skipped'. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

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

static int sort(const char *in, const char *out, const char *threads, fault *fault)
{
    const char *words[] = {"--u32", "--memory", MEMORY, "--device", "cpu", "--threads", threads, in, out};
    return sort_main((int)(sizeof words / sizeof words[0]), (char **)(void *)words, fault);
}

int main(int argc, char **argv)
{
    static fault fault;
    char in[4096], out[4096];
    unsigned passed = 0, failed = 0;
    if (argc != 2)
        return 2;
    snprintf(in, sizeof in, "%s/in", argv[1]);
    snprintf(out, sizeof out, "%s/out", argv[1]);
    for (unsigned threads = 1; threads <= 2; threads++) {
        calls = kept_most = beyond_most = 0;
        int good = numbers_make(in, 2000000) && !sort(in, out, threads == 1 ? "1" : "2", &fault) &&
                   calls >= 16 && kept_most <= SHARE && beyond_most <= SHARE;
        if (!good)
            printf("FAIL --threads %u: %llu calls; the pool kept %llu bytes between calls, and %llu beside "
                   "one's; %s\n",
                   threads, (unsigned long long)calls, (unsigned long long)kept_most,
                   (unsigned long long)beyond_most, fault.text);
        *(good ? &passed : &failed) += 1;
    }
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
