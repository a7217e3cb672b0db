/* cohort set: and, or, andnot, xor, at least K of N of sets of integers in files; and what is in such files.
 *
 * All files are read and become sets of collections (ids.c), one query answers, and the answer is written: as
 * runs where these are fewer, else as members. */
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "output.h"

const char set_help[] =
    "usage: cohort set OP [OPTION]... FILE...\n"
    "       cohort set info [--device D] [--threads N] FILE...\n"
    "\n"
    "Makes one set of integers of those in the files and prints its members, ascending, one a line.\n"
    "OP is\n"
    "  and          what is in all files\n"
    "  or           what is in one of them\n"
    "  andnot       what is in the first and in none of the others\n"
    "  xor          what is in an odd number of them\n"
    "  atleast:K    what is in K of them or more\n"
    "  info         tells of each file its format, its members, and how they lie in memory\n"
    "\n"
    "A FILE is Roaring's portable format, of 32 or 64 bits, or text: integers below 2^64 with commas,\n"
    "spaces or ends of lines between them, in any order. Which it is, is seen by the content; gzip is "
    "undone.\n"
    "'-' is standard input.\n"
    "\n"
    "  --count           print only how many members there are\n"
    "  --out FILE        write there, not to standard output\n"
    "  --format text     one integer a line (default)\n"
    "  --format roaring  Roaring's portable format: of 64 bits if an input is that or has an integer above\n"
    "                    2^32 - 1, else of 32\n"
    "  --format u32      little-endian integers of 4 bytes\n"
    "  --device D        cpu, cuda, cuda:N, or auto (a GPU if there is one)\n"
    "  --threads N       CPU threads, 1 to 1024 (default: one a core)\n"
    "\n"
    "examples:\n"
    "  cohort set and buyers.txt subscribers.roaring --count\n"
    "  cohort set andnot all.roaring deleted.txt --format roaring --out live.roaring\n"
    "  cohort set atleast:2 monday.txt tuesday.txt wednesday.txt\n"
    "  cut -d , -f 1 orders.csv | cohort set or - --format roaring --out ids.roaring\n"
    "  cohort set info ids.roaring\n"
    "\n"
    "Exit status: 0; 2 if an argument or a file is wrong; 1 if memory, disk or device gave out.\n";

enum { FORMAT_TEXT, FORMAT_ROARING, FORMAT_U32, FORMATS };
static const char *const format_names[FORMATS] = {"text", "roaring", "u32"};

typedef struct job {
    const char *op_text, *out_path, *format_text, *device;
    cohort_sets_op op;
    uint64_t least, threads;
    int count, format, info;
    char **paths;
    size_t files;
    cohort_context *context;
    ids ids;
    cohort_sets *answer;
    void *members, *lasts;
} job;

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* "atleast:K": 0 if it is something else. */
static int least_read(const char *text, uint64_t *least)
{
    static const char front[] = "atleast:";
    if (strncmp(text, front, sizeof front - 1))
        return 0;
    *least = 0;
    for (text += sizeof front - 1; *text >= '0' && *text <= '9' && *least < UINT64_MAX / 100; text++)
        *least = *least * 10 + (uint64_t)(*text - '0');
    return !*text && *least;
}

static int op_read(job *job, fault *fault)
{
    static const char *const names[] = {"and", "or", "andnot", "xor"};
    static const cohort_sets_op ops[] = {COHORT_SETS_AND, COHORT_SETS_OR, COHORT_SETS_ANDNOT,
                                         COHORT_SETS_XOR};
    if (!strcmp(job->op_text, "info")) {
        job->info = 1;
        return CLI_OK;
    }
    for (int i = 0; i < 4; i++)
        if (!strcmp(job->op_text, names[i])) {
            job->op = ops[i];
            return CLI_OK;
        }
    job->op = COHORT_SETS_AT_LEAST;
    if (least_read(job->op_text, &job->least))
        return CLI_OK;
    return fault_set(fault, CLI_BAD_INPUT,
                     "%s: no such operation (and, or, andnot, xor, atleast:K with K of 1 or more, info)",
                     job->op_text);
}

static int format_read(job *job, fault *fault)
{
    job->format = FORMAT_TEXT;
    if (!job->format_text)
        return CLI_OK;
    for (job->format = 0; job->format < FORMATS; job->format++)
        if (!strcmp(job->format_text, format_names[job->format]))
            return CLI_OK;
    return fault_set(fault, CLI_BAD_INPUT, "--format %s: must be roaring, text or u32", job->format_text);
}

static int options_read(job *job, int argc, char **argv, fault *fault)
{
    arg args[] = {
        {"--count", ARG_FLAG, &job->count, 0, 0, 0},          {"--out", ARG_TEXT, &job->out_path, 0, 0, 0},
        {"--format", ARG_TEXT, &job->format_text, 0, 0, 0},   {"--device", ARG_TEXT, &job->device, 0, 0, 0},
        {"--threads", ARG_NUMBER, &job->threads, 1, 1024, 0},
    };
    size_t rest = 0;
    if (args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault))
        return fault->status;
    if (!rest)
        return fault_set(fault, CLI_BAD_INPUT, "OP must be given: and, or, andnot, xor, atleast:K or info");
    job->op_text = argv[0];
    job->paths = argv + 1;
    job->files = rest - 1;
    if (op_read(job, fault) || format_read(job, fault))
        return fault->status;
    if (!job->files)
        return fault_set(fault, CLI_BAD_INPUT, "%s: a FILE must be given", job->op_text);
    size_t piped = 0;
    for (size_t i = 0; i < job->files; i++)
        piped += !strcmp(job->paths[i], "-");
    if (piped > 1)
        return fault_set(fault, CLI_BAD_INPUT, "-: standard input can be read only once");
    const char *extra = job->out_path ? "--out" : job->format_text ? "--format" : NULL;
    if (extra && (job->count || job->info))
        return fault_set(fault, CLI_BAD_INPUT, "%s: does not go with %s", extra,
                         job->info ? "info" : "--count");
    if (job->count && job->info)
        return fault_set(fault, CLI_BAD_INPUT, "--count: does not go with info");
    return CLI_OK;
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

/* One row, all files in their order. */
static int ask(job *job, uint64_t *count, fault *fault)
{
    cohort_sets_query_desc query = COHORT_SETS_QUERY_INIT;
    uint64_t *members = malloc(job->files * sizeof *members);
    if (!members)
        return fault_set(fault, CLI_FAILED, "no memory for %zu numbers of sets", job->files);
    for (size_t i = 0; i < job->files; i++)
        members[i] = ids_set(&job->ids, i);
    query.op = job->op;
    query.least = job->least;
    query.collections = job->ids.collections;
    query.collections_count = job->ids.collections_count;
    query.rows = 1;
    query.arity = job->files;
    query.members = members;
    if (job->count)
        query.counts = count;
    else
        query.result = &job->answer;
    cohort_status status = cohort_sets_query(job->context, &query);
    if (!status)
        status = cohort_wait(job->context);
    free(members);
    return status ? fault_library(fault, status, job->context, "cannot answer") : CLI_OK;
}

/* The answer's members, or its runs, into arrays. */
static int answer_take(job *job, uint64_t *entries, fault *fault)
{
    cohort_sets_target members = COHORT_SETS_TARGET_INIT, runs = COHORT_SETS_TARGET_INIT, *target = &members;
    size_t width = job->ids.type == COHORT_U64 ? 8 : 4;
    runs.form = COHORT_FORM_RANGES;
    cohort_status status = cohort_sets_export(job->answer, &members);
    if (!status)
        status = cohort_sets_export(job->answer, &runs);
    if (status)
        return fault_library(fault, status, job->context, "cannot export the answer");
    if (runs.total < members.total / 2)
        target = &runs;
    *entries = target->capacity = target->total;
    int fits = *entries < SIZE_MAX / width;
    target->members = job->members = fits ? malloc((size_t)(*entries + 1) * width) : NULL;
    if (target == &runs && fits)
        target->lasts = job->lasts = malloc((size_t)(*entries + 1) * width);
    if (!job->members || (target == &runs && !job->lasts))
        return fault_set(fault, CLI_FAILED, "no memory for the answer's %llu %s",
                         (unsigned long long)*entries, target == &runs ? "runs" : "members");
    status = cohort_sets_export(job->answer, target);
    return status ? fault_library(fault, status, job->context, "cannot export the answer") : CLI_OK;
}

static uint64_t entry_at(const job *job, const void *array, uint64_t i)
{
    return job->ids.type == COHORT_U64 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

static int member_write(output *out, uint64_t id, int format, fault *fault)
{
    char *at = output_room(out, 24, fault);
    if (!at)
        return fault->status;
    size_t n = 4;
    if (format == FORMAT_U32) {
        const uint32_t narrow = (uint32_t)id;
        memcpy(at, &narrow, 4);
    } else {
        n = text_digits(at, id);
        at[n++] = '\n';
    }
    output_advance(out, n);
    return CLI_OK;
}

static int members_write(const job *job, uint64_t entries, output *out, fault *fault)
{
    for (uint64_t i = 0; i < entries; i++) {
        uint64_t first = entry_at(job, job->members, i);
        uint64_t more = job->lasts ? entry_at(job, job->lasts, i) - first : 0;
        for (uint64_t j = 0;; j++) {
            if (member_write(out, first + j, job->format, fault))
                return fault->status;
            if (j == more)
                break;
        }
    }
    return CLI_OK;
}

static int roaring_take(job *job, uint64_t *bytes, fault *fault)
{
    uint64_t offsets[2];
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    target.form = COHORT_FORM_ROARING;
    target.blob_type = job->ids.type;
    target.offsets = offsets;
    cohort_status status = cohort_sets_export(job->answer, &target);
    if (!status) {
        target.capacity = *bytes = target.total;
        target.members = job->members = *bytes < SIZE_MAX ? malloc((size_t)*bytes + 1) : NULL;
        if (!job->members)
            return fault_set(fault, CLI_FAILED, "no memory for the answer's %llu bytes",
                             (unsigned long long)*bytes);
        status = cohort_sets_export(job->answer, &target);
    }
    return status ? fault_library(fault, status, job->context, "cannot export the answer") : CLI_OK;
}

/* What --format u32 cannot hold. */
static int check_narrow(const job *job, uint64_t entries, fault *fault)
{
    if (!entries || job->format != FORMAT_U32)
        return CLI_OK;
    uint64_t last = entry_at(job, job->lasts ? job->lasts : job->members, entries - 1);
    if (last <= UINT32_MAX)
        return CLI_OK;
    return fault_set(fault, CLI_BAD_INPUT, "--format u32: the answer has the member %llu, above 2^32 - 1",
                     (unsigned long long)last);
}

static int answer_write(job *job, fault *fault)
{
    uint64_t entries = 0;
    output *out;
    int status = job->format == FORMAT_ROARING ? roaring_take(job, &entries, fault)
                                               : answer_take(job, &entries, fault);
    if (status || check_narrow(job, entries, fault))
        return fault->status;
    if (output_open(&out, job->out_path ? job->out_path : "-", "--out", fault))
        return fault->status;
    status = job->format == FORMAT_ROARING ? output_write(out, job->members, (size_t)entries, fault)
                                           : members_write(job, entries, out, fault);
    return status ? status : output_close(out, fault);
}

static int operate(job *job, fault *fault)
{
    uint64_t count = 0;
    if (ids_read(&job->ids, job->paths, job->files, fault) || ids_build(&job->ids, job->context, fault) ||
        ask(job, &count, fault))
        return fault->status;
    if (!job->count)
        return answer_write(job, fault);
    output *out;
    if (output_open(&out, "-", "--count", fault))
        return fault->status;
    int status = output_print(out, fault, "%llu\n", (unsigned long long)count);
    return status ? status : output_close(out, fault);
}

/* ---- info ---------------------------------------------------------------------------------------------- */

/* The least or the greatest member; there is one. */
static cohort_status edge_look(const ids *ids, cohort_look kind, uint64_t *edge)
{
    cohort_sets_look_desc look = COHORT_SETS_LOOK_INIT;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    look.kind = kind;
    look.n = 1;
    look.results = ids->type == COHORT_U64 ? (void *)&wide : (void *)&narrow;
    cohort_status status = cohort_sets_look(ids->collections[0], &look);
    *edge = ids->type == COHORT_U64 ? wide : narrow;
    return status;
}

static int info_print(const job *job, output *out, fault *fault)
{
    static const char *const formats[IDS_FORMATS] = {"text", "Roaring of 32 bits", "Roaring of 64 bits"};
    const ids *ids = &job->ids;
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    uint64_t least = 0, greatest = 0;
    cohort_status status = cohort_sets_get_info(ids->collections[0], &info);
    if (!status && info.members)
        status = edge_look(ids, COHORT_LOOK_MIN, &least);
    if (!status && info.members)
        status = edge_look(ids, COHORT_LOOK_MAX, &greatest);
    if (!status)
        status = cohort_wait(job->context);
    if (status)
        return fault_library(fault, status, job->context, "cannot look");
    char edges[80] = "";
    if (info.members)
        snprintf(edges, sizeof edges, ", from %llu to %llu", (unsigned long long)least,
                 (unsigned long long)greatest);
    char chunks[160] = "a list";
    if (info.chunks)
        snprintf(chunks, sizeof chunks, "%llu chunks: %llu arrays, %llu bitmaps, %llu of runs, %llu full",
                 (unsigned long long)info.chunks, (unsigned long long)info.arrays,
                 (unsigned long long)info.bitmaps, (unsigned long long)info.runs,
                 (unsigned long long)info.full);
    return output_print(
        out, fault, "%s\n  format   %s, %llu bytes\n  members  %llu%s\n  memory   %llu bytes, %s\n",
        ids->files[0].name, formats[ids->files[0].format], (unsigned long long)ids->files[0].bytes,
        (unsigned long long)info.members, edges, (unsigned long long)info.bytes, chunks);
}

/* File by file: each may be large. */
static int tell(job *job, fault *fault)
{
    output *out;
    int status = output_open(&out, "-", "info", fault);
    for (size_t i = 0; i < job->files && !status; i++) {
        status = ids_read(&job->ids, job->paths + i, 1, fault);
        if (!status)
            status = ids_build(&job->ids, job->context, fault);
        if (!status)
            status = info_print(job, out, fault);
        ids_free(&job->ids);
    }
    return status ? status : output_close(out, fault);
}

int set_main(int argc, char **argv, fault *fault)
{
    job job;
    memset(&job, 0, sizeof job);
    int status = options_read(&job, argc, argv, fault);
    if (!status)
        status = context_open(&job.context, job.device, job.threads, NULL, 0, fault);
    outputs_guard_signals();
    if (!status)
        status = job.info ? tell(&job, fault) : operate(&job, fault);
    free(job.members);
    free(job.lasts);
    cohort_sets_destroy(job.answer);
    ids_free(&job.ids);
    cohort_context_destroy(job.context);
    return status;
}
