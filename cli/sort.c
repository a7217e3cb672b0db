/* cohort sort: integers of a file in order, also of files far larger than memory.
 *
 * A part is a range of values with all its numbers, and the whole file is the first. A part that fits in memory is read, sorted and
 * written. A larger one is split: splitters between values are taken from a sample of it, its numbers go through memory chunk
 * by chunk, each chunk is put in order of its buckets by cohort_multisplit and written to a temporary file as one piece, and every
 * bucket, which then lies there in a slice of each piece, is a part again. A value that is frequent gets a bucket of its own, which
 * needs no sorting and no memory however large it is; so each split makes ranges strictly smaller, and it ends whatever the input.
 * Parts are taken in the order of their values: the output is written once, from its beginning to its end. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "output.h"
#include "progress.h"

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
#define SAMPLES_EACH  32u /* of a bucket */

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

/* Numbers in slices of a file: slice s of bucket b is [at[s * stride + b], at[s * stride + b + 1]). */
typedef struct pieces {
    const numbers *file;
    uint64_t *at;
    uint64_t slices, stride;
} pieces;

typedef struct part {
    const pieces *pieces;
    uint64_t bucket;
    uint64_t n;
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

/* ---- small parts ------------------------------------------------------------------------------------------------- */

static int array_sort(job *job, uint64_t n, const void *from, void *to, int descending, fault *fault)
{
    cohort_sort_desc desc = COHORT_SORT_INIT;
    desc.n = n;
    desc.order = job->width == 4 ? COHORT_ORDER_U32 : COHORT_ORDER_U64;
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

static int part_read(const part *part, void *to, size_t width, fault *fault)
{
    const pieces *pieces = part->pieces;
    char *next = to;
    for (uint64_t s = 0; s < pieces->slices; s++) {
        const uint64_t *at = pieces->at + s * pieces->stride + part->bucket;
        if (numbers_read_at(pieces->file, at[0], at[1] - at[0], next, fault))
            return fault->status;
        next += (at[1] - at[0]) * width;
    }
    return CLI_OK;
}

static int part_sort(job *job, const part *part, uint64_t total, fault *fault)
{
    if (part_read(part, job->a, job->width, fault) ||
        array_sort(job, part->n, job->a, job->b, job->descending, fault))
        return fault->status;
    return array_write(job, job->b, part->n, total, fault);
}

/* One value, as often as it occurs. */
static int part_repeat(job *job, const part *part, uint64_t total, fault *fault)
{
    uint64_t many = part->n < job->capacity ? part->n : job->capacity;
    for (uint64_t i = 0; i < many; i++)
        value_put(job, job->b, i, part->low);
    for (uint64_t left = part->n, some; left; left -= some) {
        some = left < many ? left : many;
        if (array_write(job, job->b, some, total, fault))
            return fault->status;
    }
    return CLI_OK;
}

/* ---- large parts -------------------------------------------------------------------------------------------------- */

/* The i-th number of a part. */
static int part_number(const part *part, uint64_t i, void *to, fault *fault)
{
    const pieces *pieces = part->pieces;
    for (uint64_t s = 0;; s++) {
        const uint64_t *at = pieces->at + s * pieces->stride + part->bucket;
        if (i < at[1] - at[0])
            return numbers_read_at(pieces->file, at[0] + i, 1, to, fault);
        i -= at[1] - at[0];
    }
}

/* A sample in order, at evenly spread places, each moved at random so that no pattern of the file fools it. */
static int sample(job *job, const part *part, uint64_t samples, fault *fault)
{
    uint64_t random = part->n;
    for (uint64_t k = 0; k < samples; k++) {
        uint64_t first = part->n / samples * k, span = part->n / samples;
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (part_number(part, first + (random >> 33) % span, (char *)job->a + k * job->width, fault))
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

/* From the sample in b: values between the buckets, at least one; a value that takes more than a bucket's share stands
 * alone between two. */
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

static int chunk_split(job *job, uint64_t n, const void *splitters, uint64_t count, uint64_t *offsets,
                       fault *fault)
{
    cohort_multisplit_desc desc = COHORT_MULTISPLIT_INIT;
    uint64_t first = job->spill.n;
    desc.n = n;
    desc.key_bytes = (uint32_t)job->width;
    desc.buckets = (uint32_t)count + 1;
    desc.fn = cohort_fn_splitters(splitters, count);
    desc.keys = job->a;
    desc.keys_out = job->b;
    desc.unordered = 1;
    desc.offsets = offsets;
    workspace_bound(job);
    cohort_status status = cohort_multisplit(job->context, &desc);
    if (status)
        return fault_library(fault, status, job->context, "cannot split");
    for (uint64_t b = 0; b <= count + 1; b++)
        offsets[b] += first;
    return spill_write(&job->spill, job->b, n, fault);
}

/* Fills `a` from slice *s on, from number *i of it. */
static int fill(job *job, const part *part, uint64_t *s, uint64_t *i, uint64_t *got, fault *fault)
{
    const pieces *pieces = part->pieces;
    for (*got = 0; *got < job->capacity && *s < pieces->slices;) {
        const uint64_t *at = pieces->at + *s * pieces->stride + part->bucket;
        uint64_t left = at[1] - at[0] - *i, some = job->capacity - *got < left ? job->capacity - *got : left;
        if (numbers_read_at(pieces->file, at[0] + *i, some, (char *)job->a + *got * job->width, fault))
            return fault->status;
        *got += some;
        *i += some;
        if (some == left) {
            ++*s;
            *i = 0;
        }
    }
    return CLI_OK;
}

static int part_split(job *job, const part *part, const void *splitters, uint64_t count, pieces *to,
                      fault *fault)
{
    uint64_t s = 0, i = 0, done = 0, got;
    to->file = &job->spill;
    to->slices = part->n / job->capacity + (part->n % job->capacity != 0);
    to->stride = count + 2;
    to->at = malloc(to->slices * to->stride * sizeof *to->at);
    if (!to->at)
        return fault_set(fault, CLI_FAILED, "no memory to remember %llu pieces",
                         (unsigned long long)to->slices);
    for (uint64_t slice = 0; slice < to->slices; slice++) {
        if (fill(job, part, &s, &i, &got, fault) ||
            chunk_split(job, got, splitters, count, to->at + slice * to->stride, fault))
            return fault->status;
        done += got;
        progress_bytes("splitting", done * job->width, part->n * job->width);
    }
    return CLI_OK;
}

static int part_emit(job *job, const part *part, uint64_t total, fault *fault);

static part part_child(const job *job, const part *of, const pieces *pieces, const void *splitters,
                       uint64_t count, uint64_t bucket)
{
    part child = {pieces, bucket, 0, of->low, of->high};
    if (bucket)
        child.low = value_at(job, splitters, bucket - 1);
    if (bucket < count)
        child.high = value_at(job, splitters, bucket) - 1;
    for (uint64_t s = 0; s < pieces->slices; s++)
        child.n += pieces->at[s * pieces->stride + bucket + 1] - pieces->at[s * pieces->stride + bucket];
    return child;
}

static int part_divide(job *job, const part *part, uint64_t total, fault *fault)
{
    uint64_t buckets = part->n / job->capacity * 2 + BUCKETS_LEAST;
    buckets = buckets < BUCKETS_MOST ? buckets : BUCKETS_MOST;
    uint64_t samples = buckets * SAMPLES_EACH < job->capacity ? buckets * SAMPLES_EACH : job->capacity;
    pieces pieces = {0};
    void *splitters = malloc(buckets * job->width);
    if (!splitters)
        return fault_set(fault, CLI_FAILED, "no memory for %llu splitters", (unsigned long long)buckets);
    int status = sample(job, part, samples, fault);
    if (!status) {
        uint64_t count = choose_splitters(job, part, samples, buckets, splitters);
        status = part_split(job, part, splitters, count, &pieces, fault);
        for (uint64_t k = 0; k <= count && !status; k++) {
            struct part child =
                part_child(job, part, &pieces, splitters, count, job->descending ? count - k : k);
            status = part_emit(job, &child, total, fault);
        }
    }
    free(splitters);
    free(pieces.at);
    return status;
}

static int part_emit(job *job, const part *part, uint64_t total, fault *fault)
{
    if (part->low == part->high)
        return part_repeat(job, part, total, fault);
    return part->n <= job->capacity ? part_sort(job, part, total, fault)
                                    : part_divide(job, part, total, fault);
}

/* ---- the command ---------------------------------------------------------------------------------------------------- */

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
    uint64_t n = job->in.n, ends[2] = {0, 0};
    pieces whole = {&job->in, ends, 1, 2};
    if (!job->in.file && stream_read(job, &n, fault))
        return fault->status;
    if (!job->in.file && job->spill.fd < 0) {
        if (array_sort(job, n, job->a, job->b, job->descending, fault))
            return fault->status;
        return array_write(job, job->b, n, n, fault);
    }
    if (!job->in.file)
        whole.file = &job->spill;
    else if (n > job->capacity && spill_open(&job->spill, job->out_path, job->width, fault))
        return fault->status;
    ends[1] = n;
    part all = {&whole, 0, n, 0, job->width == 4 ? UINT32_MAX : UINT64_MAX};
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
    job->capacity = numbers_capacity(job->context, job->memory, job->width, COPIES);
    if (job->in.file && job->in.n < job->capacity)
        job->capacity = job->in.n ? job->in.n : 1;
    job->a = malloc(job->capacity * job->width);
    job->b = malloc(job->capacity * job->width);
    if (job->a && job->b)
        return CLI_OK;
    return fault_set(fault, CLI_FAILED, "no memory for %llu numbers at a time; --memory can ask for less",
                     (unsigned long long)job->capacity);
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
        status = context_open(&job.context, job.device, job.threads, NULL, fault);
    if (!status)
        status = rooms_take(&job, fault);
    outputs_guard_signals();
    if (!status)
        status = output_open(&job.out, job.out_path, "OUT", fault);
    if (!status)
        status = work(&job, fault);
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
