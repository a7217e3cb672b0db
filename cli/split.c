/* cohort split: the integers of a file, each in the file of its bucket, in their order.
 *
 * They go through memory chunk by chunk; cohort_multisplit puts a chunk in order of the buckets, and each
 * bucket's run is appended to its file. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"

const char split_help[] =
    "usage: cohort split (--u32 | --u64) --buckets M --by HOW [OPTION]... IN OUT.d\n"
    "\n"
    "Splits a file of integers into M files, in the directory OUT.d, named by the buckets' numbers: 000 to "
    "255.\n"
    "Each has its integers in the order of IN, which may be '-', standard input. OUT.d appears when all are\n"
    "complete.\n"
    "\n"
    "  --u32, --u64      the file holds little-endian integers of 4 or 8 bytes\n"
    "  --buckets M       1 to 65536\n"
    "  --by bits:LO:N    the bucket is what bits LO to LO + N - 1 say\n"
    "  --by mod          the integer modulo M\n"
    "  --by range        M equal ranges of all integers of the width; range:A:B of those from A to B, and "
    "what\n"
    "                    is outside goes to the nearest end\n"
    "  --by hash         a hash of the integer; hash:SEED another one\n"
    "  --force           OUT.d may hold files already; those of the same names are replaced\n"
    "  --memory BYTES    use no more than about so much; 500M is 500 million (default: half of what is "
    "free)\n"
    "  --device D        cpu, cuda, cuda:N, or auto (a GPU if there is one)\n"
    "  --threads N       CPU threads, 1 to 1024 (default: one a core)\n"
    "\n"
    "examples:\n"
    "  cohort split --u64 --buckets 16 --by hash ids.bin shards.d\n"
    "  cohort split --u32 --buckets 256 --by bits:24:8 --device cpu addresses.bin nets.d\n"
    "  generate | cohort split --u32 --buckets 10 --by range:0:999999 - deciles.d\n"
    "\n"
    "Exit status: 0; 2 if an argument or a file is wrong; 1 if memory, disk or device gave out.\n";

#define MEMORY_LEAST 64000u
#define COPIES       4u /* arrays of a chunk's size: in, out, and what the library takes */

typedef struct job {
    int u32, u64, force;
    uint64_t buckets, memory, threads;
    const char *by, *device, *in_path, *out_path;
    size_t width;
    cohort_fn fn;
    numbers in;
    folder *folder;
    cohort_context *context;
    uint64_t capacity;
    void *a, *b;
    uint64_t *offsets;
} job;

/* ":17" or ":17:42" after the name; returns how many numbers there are, -1 if it is something else. */
static int read_numbers(const char *text, uint64_t numbers[2])
{
    int n = 0;
    while (*text == ':' && n < 2) {
        const char *first = ++text;
        uint64_t value = 0;
        for (; *text >= '0' && *text <= '9'; text++) {
            uint64_t digit = (uint64_t)(*text - '0');
            if (value > (UINT64_MAX - digit) / 10)
                return -1;
            value = value * 10 + digit;
        }
        if (text == first)
            return -1;
        numbers[n++] = value;
    }
    return *text ? -1 : n;
}

static int by_bits(job *job, const uint64_t *numbers, fault *fault)
{
    unsigned width = (unsigned)job->width * 8;
    if (numbers[0] >= width || !numbers[1] || numbers[1] > 16 || numbers[0] + numbers[1] > width)
        return fault_set(fault, CLI_BAD_INPUT, "--by %s: there are 1 to 16 bits, of bits 0 to %u", job->by,
                         width - 1);
    if (job->buckets < UINT64_C(1) << numbers[1])
        return fault_set(fault, CLI_BAD_INPUT,
                         "--by %s: its buckets are %llu; --buckets %llu has no room for them", job->by,
                         1ull << numbers[1], (unsigned long long)job->buckets);
    job->fn = cohort_fn_bits((uint32_t)numbers[0], (uint32_t)numbers[1]);
    return CLI_OK;
}

static int by_range(job *job, int n, const uint64_t *numbers, fault *fault)
{
    uint64_t most = job->width == 4 ? UINT32_MAX : UINT64_MAX;
    if (n && (numbers[0] > numbers[1] || numbers[1] > most))
        return fault_set(fault, CLI_BAD_INPUT, "--by %s: A must not be above B, nor B above %llu", job->by,
                         (unsigned long long)most);
    job->fn = n ? cohort_fn_ranges(numbers[0], numbers[1]) : cohort_fn_ranges(0, most);
    return CLI_OK;
}

static int by_read(job *job, fault *fault)
{
    size_t length = strcspn(job->by, ":");
    uint64_t numbers[2] = {0, 0};
    int n = read_numbers(job->by + length, numbers);
    if (length == 4 && !memcmp(job->by, "bits", 4) && n == 2)
        return by_bits(job, numbers, fault);
    if (length == 3 && !memcmp(job->by, "mod", 3) && n == 0)
        job->fn = cohort_fn_modulo();
    else if (length == 5 && !memcmp(job->by, "range", 5) && (n == 0 || n == 2))
        return by_range(job, n, numbers, fault);
    else if (length == 4 && !memcmp(job->by, "hash", 4) && (n == 0 || n == 1))
        job->fn = cohort_fn_hash(numbers[0]);
    else
        return fault_set(fault, CLI_BAD_INPUT,
                         "--by %s: must be bits:LO:N, mod, range, range:A:B, hash or hash:SEED", job->by);
    return CLI_OK;
}

static int options_read(job *job, int argc, char **argv, fault *fault)
{
    size_t files = 0;
    arg args[] = {
        {"--u32", ARG_FLAG, &job->u32, 0, 0, 0},
        {"--u64", ARG_FLAG, &job->u64, 0, 0, 0},
        {"--buckets", ARG_NUMBER, &job->buckets, 1, COHORT_BUCKETS_MOST, 0},
        {"--by", ARG_TEXT, &job->by, 0, 0, 0},
        {"--force", ARG_FLAG, &job->force, 0, 0, 0},
        {"--memory", ARG_SIZE, &job->memory, MEMORY_LEAST, UINT64_MAX, 0},
        {"--device", ARG_TEXT, &job->device, 0, 0, 0},
        {"--threads", ARG_NUMBER, &job->threads, 1, 1024, 0},
    };
    if (args_read(args, sizeof args / sizeof args[0], argc, argv, &files, fault) ||
        numbers_width(job->u32, job->u64, &job->width, fault))
        return fault->status;
    if (!job->buckets || !job->by)
        return fault_set(fault, CLI_BAD_INPUT, "%s must be given", job->buckets ? "--by HOW" : "--buckets M");
    if (files != 2)
        return fault_set(fault, CLI_BAD_INPUT, "IN and OUT.d must be given, and %zu file%s", files,
                         files == 1 ? " is" : "s are");
    job->in_path = argv[0];
    job->out_path = argv[1];
    return by_read(job, fault);
}

static int rooms_take(job *job, fault *fault)
{
    job->capacity = numbers_capacity(job->context, job->memory, job->width, COPIES);
    if (job->in.file && job->in.n < job->capacity)
        job->capacity = job->in.n ? job->in.n : 1;
    uint64_t wanted = job->capacity;
    job->capacity = numbers_rooms(&job->a, &job->b, wanted, job->width, COPIES, !job->memory);
    job->offsets = malloc((job->buckets + 1) * sizeof *job->offsets);
    if (job->capacity && job->offsets)
        return CLI_OK;
    return fault_set(fault, CLI_FAILED, "no memory for %llu numbers at a time; --memory can ask for less",
                     (unsigned long long)wanted);
}

static int chunk_split(job *job, uint64_t n, fault *fault)
{
    cohort_multisplit_desc desc = COHORT_MULTISPLIT_INIT;
    desc.n = n;
    desc.type = (uint32_t)job->width == 8 ? COHORT_U64 : COHORT_U32;
    desc.buckets = (uint32_t)job->buckets;
    desc.fn = &job->fn;
    desc.keys = job->a;
    desc.keys_out = job->b;
    desc.offsets = job->offsets;
    cohort_status status = cohort_multisplit(job->context, &desc);
    return status ? fault_library(fault, status, job->context, "cannot split") : CLI_OK;
}

static int chunk_write(job *job, fault *fault)
{
    for (uint64_t b = 0; b < job->buckets; b++) {
        uint64_t first = job->offsets[b], n = job->offsets[b + 1] - first;
        if (n && folder_write(job->folder, b, (const char *)job->b + first * job->width,
                              (size_t)(n * job->width), fault))
            return fault->status;
    }
    return CLI_OK;
}

static int work(job *job, fault *fault)
{
    uint64_t got, done = 0;
    do {
        if (numbers_read(&job->in, job->a, job->capacity, &got, fault))
            return fault->status;
        if (got && (chunk_split(job, got, fault) || chunk_write(job, fault)))
            return fault->status;
        done += got;
        progress_bytes("splitting", done * job->width, job->in.file ? job->in.n * job->width : 0);
    } while (got == job->capacity);
    return CLI_OK;
}

int split_main(int argc, char **argv, fault *fault)
{
    job job;
    memset(&job, 0, sizeof job);
    job.in.fd = -1;
    int status = options_read(&job, argc, argv, fault);
    if (!status)
        status = numbers_open(&job.in, job.in_path, job.width, fault);
    if (!status)
        status = context_open(&job.context, job.device, job.threads, NULL, 0, fault);
    if (!status)
        status = rooms_take(&job, fault);
    outputs_guard_signals();
    if (!status)
        status = folder_open(&job.folder, job.out_path, "OUT.d", job.buckets, job.force, &job.in, fault);
    if (!status)
        status = work(&job, fault);
    progress_clear();
    if (!status)
        status = folder_close(job.folder, fault);
    else
        folder_discard(job.folder);
    numbers_close(&job.in);
    free(job.a);
    free(job.b);
    free(job.offsets);
    cohort_context_destroy(job.context);
    return status;
}
