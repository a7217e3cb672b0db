/* cohort sort: integers of a file in order, also of files far larger than memory.
 *
 * A part is a range of values with all its numbers, and the whole file is the first. A part that fits in
 * memory is read, sorted and written. A larger one is split: splitters between values are taken from a sample
 * of it, its numbers go through memory chunk by chunk, each chunk is put in order of its buckets by
 * cohort_multisplit, and what it has of each bucket is appended to the bucket's region of a temporary file
 * (spill.h). Every bucket is a part again, and when all are written their regions are cut off. A value that
 * is frequent gets a bucket of its own, which needs no sorting and no memory however large it is; so each
 * split makes ranges strictly smaller, and it ends whatever the input. Parts are taken in the order of their
 * values: the output is written once, from its beginning to its end. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "progress.h"
#include "spill.h"

const char sort_help[] =
    "usage: cohort sort (--u32 | --u64) [OPTION]... IN OUT\n"
    "\n"
    "Sorts a file of integers, also one that is larger than the memory of the device or the machine. '-' is\n"
    "standard input, or standard output. OUT appears when it is complete.\n"
    "\n"
    "  --u32, --u64      the file holds little-endian integers of 4 or 8 bytes\n"
    "  --descending      the greatest first\n"
    "  --memory BYTES    use no more than about so much; 500M is 500 million (default: half of what is "
    "free).\n"
    "                    What does not fit goes through a temporary file beside OUT, as large as IN, or "
    "twice\n"
    "                    as large if IN is standard input\n"
    "  --device D        cpu, cuda, cuda:N, or auto (a GPU if there is one)\n"
    "  --threads N       CPU threads, 1 to 1024 (default: one a core)\n"
    "\n"
    "examples:\n"
    "  cohort sort --u64 ids.bin sorted.bin\n"
    "  cohort sort --u32 --descending --memory 2G --device cpu huge.bin sorted.bin\n"
    "  generate | cohort sort --u32 - - | uniq-of-integers\n"
    "\n"
    "Exit status: 0; 2 if an argument or a file is wrong; 1 if memory, disk or device gave out.\n";

#define MEMORY_LEAST  64000u
#define COPIES        4u /* arrays of a part's size: in, out, and two for what the library takes */
#define BUCKETS_LEAST 8u
#define BUCKETS_MOST  2048u
#define SAMPLES_EACH  32u   /* of a bucket */
#define WRITE_LEAST   4096u /* bytes of a chunk that a bucket gets, on average, where there is memory for it */
#define INDEX_PART    16u   /* of the memory, for what must be remembered of regions */

typedef struct job {
    int u32, u64, descending;
    const char *device, *in_path, *out_path;
    uint64_t memory, threads;
    size_t width;
    numbers in, spill;
    output *out;
    cohort_context *context;
    uint64_t capacity; /* numbers of a part that fits */
    void *a, *b;       /* room for so many each */
    uint64_t written;
} job;

typedef struct part {
    const region *region;
    uint64_t low, high; /* values */
} part;

static uint64_t value_at(const job *job, const void *array, uint64_t i)
{
    return job->width == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

static void value_put(const job *job, void *array, uint64_t i, uint64_t value)
{
    if (job->width == 4)
        ((uint32_t *)array)[i] = (uint32_t)value;
    else
        ((uint64_t *)array)[i] = value;
}

/* Parts are of many sizes, and for each the context keeps workspace: what is beyond its share goes back. */
static void workspace_bound(const job *job)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    uint64_t share = (COPIES - 2) * job->capacity * job->width;
    if (!cohort_context_get_info(job->context, &info) && info.pool_bytes > share)
        cohort_trim(job->context);
}

/* ---- small parts --------------------------------------------------------------------------------------- */

static int array_sort(job *job, uint64_t n, const void *from, void *to, int descending, fault *fault)
{
    cohort_sort_desc desc = COHORT_SORT_INIT;
    desc.n = n;
    desc.type = job->width == 4 ? COHORT_U32 : COHORT_U64;
    desc.descending = (uint32_t)descending;
    desc.keys = from;
    desc.keys_out = to;
    workspace_bound(job);
    cohort_status status = n ? cohort_sort(job->context, &desc) : COHORT_OK;
    return status ? fault_library(fault, status, job->context, "cannot sort") : CLI_OK;
}

static int array_write(job *job, const void *from, uint64_t n, uint64_t total, fault *fault)
{
    uint64_t most = UINT64_C(1) << 20;
    for (uint64_t i = 0, some; i < n; i += some) {
        some = n - i < most ? n - i : most;
        if (output_write(job->out, (const char *)from + i * job->width, (size_t)(some * job->width), fault))
            return fault->status;
        job->written += some;
        progress_bytes("writing", job->written * job->width, total * job->width);
    }
    return CLI_OK;
}

static int part_sort(job *job, const part *part, uint64_t total, fault *fault)
{
    uint64_t n = part->region->n;
    if (region_read(part->region, 0, n, job->a, fault) ||
        array_sort(job, n, job->a, job->b, job->descending, fault))
        return fault->status;
    return array_write(job, job->b, n, total, fault);
}

/* One value, as often as it occurs. */
static int part_repeat(job *job, const part *part, uint64_t total, fault *fault)
{
    uint64_t n = part->region->n, many = n < job->capacity ? n : job->capacity;
    for (uint64_t i = 0; i < many; i++)
        value_put(job, job->b, i, part->low);
    for (uint64_t left = n, some; left; left -= some) {
        some = left < many ? left : many;
        if (array_write(job, job->b, some, total, fault))
            return fault->status;
    }
    return CLI_OK;
}

/* ---- large parts --------------------------------------------------------------------------------------- */

/* A sample in order, at evenly spread places, each moved at random so that no pattern of the file
 * fools it. */
static int sample(job *job, const region *from, uint64_t samples, fault *fault)
{
    uint64_t random = from->n;
    for (uint64_t k = 0; k < samples; k++) {
        uint64_t span = from->n / samples, first = span * k;
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (region_read(from, first + (random >> 33) % span, 1, (char *)job->a + k * job->width, fault))
            return fault->status;
    }
    return array_sort(job, samples, job->a, job->b, 0, fault);
}

static uint64_t add_splitter(const job *job, void *splitters, uint64_t n, const part *part, uint64_t value)
{
    if (value <= part->low || value > part->high || (n && value <= value_at(job, splitters, n - 1)))
        return n;
    value_put(job, splitters, n, value);
    return n + 1;
}

/* From the sample in b: values between the buckets, at least one; a value that takes more than a bucket's
 * share stands alone between two. */
static uint64_t choose_splitters(const job *job, const part *part, uint64_t samples, uint64_t buckets,
                                 void *splitters)
{
    uint64_t n = 0, before = part->low;
    for (uint64_t k = 1; k < buckets; k++) {
        uint64_t value = value_at(job, job->b, samples * k / buckets);
        if (value == before && value < part->high)
            n = add_splitter(job, splitters, n, part, value + 1);
        else
            n = add_splitter(job, splitters, n, part, value);
        before = value;
    }
    return n ? n : add_splitter(job, splitters, 0, part, part->low + 1);
}

/* n numbers in `a` to the buckets' regions. */
static int chunk_split(job *job, uint64_t n, const void *splitters, uint64_t count, uint64_t *offsets,
                       region *buckets, fault *fault)
{
    cohort_multisplit_desc desc = COHORT_MULTISPLIT_INIT;
    desc.n = n;
    desc.type = (uint32_t)job->width == 8 ? COHORT_U64 : COHORT_U32;
    desc.buckets = (uint32_t)count + 1;
    const cohort_fn fn = cohort_fn_splitters(splitters, count);
    desc.fn = &fn;
    desc.keys = job->a;
    desc.keys_out = job->b;
    desc.unordered = 1;
    desc.offsets = offsets;
    workspace_bound(job);
    cohort_status status = cohort_multisplit(job->context, &desc);
    if (status)
        return fault_library(fault, status, job->context, "cannot split");
    for (uint64_t b = 0; b <= count; b++)
        if (region_append(&buckets[b], (const char *)job->b + offsets[b] * job->width,
                          offsets[b + 1] - offsets[b], fault))
            return fault->status;
    return CLI_OK;
}

static int part_split(job *job, const part *part, const void *splitters, uint64_t count, uint64_t *offsets,
                      region *buckets, fault *fault)
{
    uint64_t n = part->region->n;
    for (uint64_t done = 0, some; done < n; done += some) {
        some = n - done < job->capacity ? n - done : job->capacity;
        if (region_read(part->region, done, some, job->a, fault) ||
            chunk_split(job, some, splitters, count, offsets, buckets, fault))
            return fault->status;
        progress_bytes("splitting", (done + some) * job->width, n * job->width);
    }
    return CLI_OK;
}

static int part_emit(job *job, const part *part, uint64_t total, fault *fault);

static part part_child(const job *job, const part *of, const region *buckets, const void *splitters,
                       uint64_t count, uint64_t bucket)
{
    part child = {&buckets[bucket], of->low, of->high};
    if (bucket)
        child.low = value_at(job, splitters, bucket - 1);
    if (bucket < count)
        child.high = value_at(job, splitters, bucket) - 1;
    return child;
}

static int parts_emit(job *job, const part *part, const region *buckets, const void *splitters,
                      uint64_t count, uint64_t total, fault *fault)
{
    int status = CLI_OK;
    for (uint64_t k = 0; k <= count && !status; k++) {
        struct part child = part_child(job, part, buckets, splitters, count, job->descending ? count - k : k);
        status = part_emit(job, &child, total, fault);
    }
    return status;
}

/* Twice as many as would just fit, but no more than get pieces of some size of each chunk. */
static uint64_t bucket_count(const job *job, uint64_t n)
{
    uint64_t buckets = n / job->capacity * 2 + BUCKETS_LEAST, most = job->capacity * job->width / WRITE_LEAST;
    most = most < BUCKETS_LEAST ? BUCKETS_LEAST : most < BUCKETS_MOST ? most : BUCKETS_MOST;
    return buckets < most ? buckets : most;
}

static int part_divide(job *job, const part *part, uint64_t total, fault *fault)
{
    uint64_t n = part->region->n, buckets = bucket_count(job, n), mark = job->spill.n;
    uint64_t samples = buckets * SAMPLES_EACH < job->capacity ? buckets * SAMPLES_EACH : job->capacity;
    uint64_t unit = job->capacity / buckets + 1;
    void *splitters = malloc(buckets * job->width);
    uint64_t *offsets = malloc((buckets + 1) * sizeof *offsets);
    region *regions = regions_make(&job->spill, buckets, unit, n);
    int status = CLI_OK;
    if (!splitters || !offsets || !regions)
        status = fault_set(fault, CLI_FAILED, "no memory for %llu regions", (unsigned long long)buckets);
    if (!status)
        status = sample(job, part->region, samples, fault);
    if (!status) {
        uint64_t count = choose_splitters(job, part, samples, buckets, splitters);
        status = part_split(job, part, splitters, count, offsets, regions, fault);
        if (!status)
            status = parts_emit(job, part, regions, splitters, count, total, fault);
    }
    if (!status)
        status = spill_cut(&job->spill, mark, fault);
    free(regions);
    free(offsets);
    free(splitters);
    return status;
}

static int part_emit(job *job, const part *part, uint64_t total, fault *fault)
{
    if (part->low == part->high)
        return part_repeat(job, part, total, fault);
    return part->region->n <= job->capacity ? part_sort(job, part, total, fault)
                                            : part_divide(job, part, total, fault);
}

/* ---- the command --------------------------------------------------------------------------------------- */

/* All of a stream; what does not fit in memory goes to the temporary file, and then everything does. */
static int stream_read(job *job, uint64_t *n, fault *fault)
{
    int status = numbers_read(&job->in, job->a, job->capacity, n, fault);
    uint64_t got = *n;
    while (!status && got == job->capacity) {
        if (job->spill.fd < 0)
            status = spill_open(&job->spill, job->out_path, job->width, fault);
        if (!status)
            status = spill_write(&job->spill, job->a, got, fault);
        if (!status)
            status = numbers_read(&job->in, job->a, job->capacity, &got, fault);
        *n += status ? 0 : got;
        progress_bytes("reading", *n * job->width, 0);
    }
    if (!status && job->spill.fd >= 0)
        status = spill_write(&job->spill, job->a, got, fault);
    return status;
}

static int work(job *job, fault *fault)
{
    uint64_t n = job->in.n, start = 0;
    if (!job->in.file && stream_read(job, &n, fault))
        return fault->status;
    if (!job->in.file && job->spill.fd < 0) {
        if (array_sort(job, n, job->a, job->b, job->descending, fault))
            return fault->status;
        return array_write(job, job->b, n, n, fault);
    }
    if (job->in.file && n > job->capacity && spill_open(&job->spill, job->out_path, job->width, fault))
        return fault->status;
    region whole = region_whole(job->in.file ? &job->in : &job->spill, n, &start);
    part all = {&whole, 0, job->width == 4 ? UINT32_MAX : UINT64_MAX};
    return part_emit(job, &all, n, fault);
}

static int options_read(job *job, int argc, char **argv, fault *fault)
{
    size_t files = 0;
    arg args[] = {
        {"--u32", ARG_FLAG, &job->u32, 0, 0, 0},
        {"--u64", ARG_FLAG, &job->u64, 0, 0, 0},
        {"--descending", ARG_FLAG, &job->descending, 0, 0, 0},
        {"--memory", ARG_SIZE, &job->memory, MEMORY_LEAST, UINT64_MAX, 0},
        {"--device", ARG_TEXT, &job->device, 0, 0, 0},
        {"--threads", ARG_NUMBER, &job->threads, 1, 1024, 0},
    };
    if (args_read(args, sizeof args / sizeof args[0], argc, argv, &files, fault) ||
        numbers_width(job->u32, job->u64, &job->width, fault))
        return fault->status;
    if (files != 2)
        return fault_set(fault, CLI_BAD_INPUT, "IN and OUT must be given, and %zu file%s", files,
                         files == 1 ? " is" : "s are");
    job->in_path = argv[0];
    job->out_path = argv[1];
    return CLI_OK;
}

static int rooms_take(job *job, fault *fault)
{
    job->capacity =
        numbers_capacity(job->context, job->memory - job->memory / INDEX_PART, job->width, COPIES);
    if (job->in.file && job->in.n < job->capacity)
        job->capacity = job->in.n ? job->in.n : 1;
    uint64_t wanted = job->capacity;
    job->capacity = numbers_rooms(&job->a, &job->b, wanted, job->width, COPIES, !job->memory);
    if (job->capacity)
        return CLI_OK;
    return fault_set(fault, CLI_FAILED, "no memory for %llu numbers at a time; --memory can ask for less",
                     (unsigned long long)wanted);
}

int sort_main(int argc, char **argv, fault *fault)
{
    job job;
    memset(&job, 0, sizeof job);
    job.in.fd = job.spill.fd = -1;
    int status = options_read(&job, argc, argv, fault);
    if (!status)
        status = numbers_open(&job.in, job.in_path, job.width, fault);
    if (!status)
        status = numbers_differ(&job.in, job.out_path, "OUT", fault);
    if (!status)
        status = context_open(&job.context, job.device, job.threads, NULL, 0, fault);
    if (!status)
        status = rooms_take(&job, fault);
    outputs_guard_signals();
    if (!status)
        status = output_open(&job.out, job.out_path, "OUT", fault);
    if (!status) {
        output_bound(job.out, job.capacity * job.width);
        status = work(&job, fault);
    }
    progress_clear();
    if (!status)
        status = output_close(job.out, fault);
    numbers_close(&job.in);
    numbers_close(&job.spill);
    free(job.a);
    free(job.b);
    cohort_context_destroy(job.context);
    return status;
}
