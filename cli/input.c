/* Raw bytes come in pieces of RAW_BYTES. The first piece shows whether the file is gzip: if not, what remains
 * of it is handed out and later reads go straight to the caller's memory. zlib's own gzread is not used
 * because it takes a file that ends early for a whole one and passes trailing garbage over. Built with
 * COHORT_NO_ZLIB, gzip files are refused. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef COHORT_NO_ZLIB
#    include <zlib.h>
#endif

#include "input.h"

#define RAW_BYTES (256u << 10)

typedef enum stage { PLAIN, MEMBER, BETWEEN } stage;

struct input {
    int fd;
    const char *name;
    stage stage; /* PLAIN, or in a member of a gzip file, or between two */
#ifndef COHORT_NO_ZLIB
    z_stream inflater;
    int inflates; /* `inflater` is to be ended */
#endif
    uint64_t consumed;  /* read from the file, with what waits in `raw` */
    size_t first, last; /* what waits: raw[first .. last) */
    int ended;          /* the file has no more */
    unsigned char raw[RAW_BYTES];
};

static int file_read(input *input, void *to, size_t room, size_t *got, fault *fault)
{
    ssize_t n;
    do
        n = read(input->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return fault_set(fault, CLI_BAD_INPUT, "%s: cannot read: %s", input->name, strerror(errno));
    *got = (size_t)n;
    input->consumed += (size_t)n;
    input->ended = n == 0;
    return CLI_OK;
}

/* Files that would be taken for nonsense get a word about what they are. */
static int other_kind(const input *input, fault *fault)
{
    static const struct {
        const char *magic, *name, *undo;
    } kinds[] = {{"BZh", "bzip2", "bzip2"},
                 {"\xfd"
                  "7zXZ",
                  "xz", "xz"},
                 {"\x28\xb5\x2f\xfd", "zstd", "zstd"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n = strlen(kinds[i].magic);
        if (input->last >= n && !memcmp(input->raw, kinds[i].magic, n))
            return fault_set(fault, CLI_BAD_INPUT,
                             "%s: compressed by %s, which is not read here; use '%s -dc FILE | "
                             "cohort count ... -'",
                             input->name, kinds[i].name, kinds[i].undo);
    }
    return CLI_OK;
}

static int recognise(input *input, fault *fault)
{
    /* A pipe may give its first bytes one at a time. */
    while (input->last < 6 && !input->ended) {
        size_t got = 0;
        if (file_read(input, input->raw + input->last, RAW_BYTES - input->last, &got, fault))
            return fault->status;
        input->last += got;
    }
    if (input->last < 2 || input->raw[0] != 0x1f || input->raw[1] != 0x8b)
        return other_kind(input, fault);
#ifdef COHORT_NO_ZLIB
    return fault_set(
        fault, CLI_BAD_INPUT,
        "%s: compressed by gzip, and this build has no zlib; use 'gzip -dc FILE | cohort count ... -'",
        input->name);
#else
    if (inflateInit2(&input->inflater, 15 + 16) != Z_OK)
        return fault_set(fault, CLI_FAILED, "%s: no memory to inflate it", input->name);
    input->inflates = 1;
    input->stage = MEMBER;
    return CLI_OK;
#endif
}

int input_open(input **out, const char *path, int raw, fault *fault)
{
    struct stat about;
    int standard = !strcmp(path, "-");
    const char *name = standard ? "standard input" : path;
    *out = NULL;
    input *input = malloc(sizeof *input);
    if (!input)
        return fault_set(fault, CLI_FAILED, "%s: no memory to read it", name);
    memset(input, 0, offsetof(struct input, raw));
    input->name = name;
    input->stage = PLAIN;
    input->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int status = CLI_OK;
    if (input->fd < 0)
        status = fault_set(fault, CLI_BAD_INPUT, "%s: cannot open: %s", name, strerror(errno));
    else if (!fstat(input->fd, &about) && S_ISDIR(about.st_mode))
        status = fault_set(fault, CLI_BAD_INPUT, "%s: is a directory", name);
    else
        (void)posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (!status && !raw)
        status = recognise(input, fault);
    if (status)
        input_close(input);
    else
        *out = input;
    return status;
}

static int plain_read(input *input, void *to, size_t room, size_t *got, fault *fault)
{
    size_t waiting = input->last - input->first;
    if (!waiting)
        return file_read(input, to, room, got, fault);
    *got = waiting < room ? waiting : room;
    memcpy(to, input->raw + input->first, *got);
    input->first += *got;
    return CLI_OK;
}

#ifndef COHORT_NO_ZLIB
/* Makes sure that something waits in `raw`, if there is anything more. */
static int raw_fill(input *input, fault *fault)
{
    if (input->first < input->last || input->ended)
        return CLI_OK;
    input->first = input->last = 0;
    return file_read(input, input->raw, RAW_BYTES, &input->last, fault);
}

static uint64_t offset(const input *input)
{
    return input->consumed - (input->last - input->first);
}

/* After a member: the next one, or zeros (tapes are padded with them), or the end. */
static int next_member(input *input, fault *fault)
{
    for (;;) {
        if (raw_fill(input, fault))
            return fault->status;
        if (input->first == input->last)
            return CLI_OK;
        if (input->raw[input->first] == 0x1f)
            break;
        if (input->raw[input->first] != 0)
            return fault_set(fault, CLI_BAD_INPUT,
                             "%s: byte %llu: something that is not gzip follows the gzip data", input->name,
                             (unsigned long long)offset(input));
        input->first++;
    }
    inflateReset(&input->inflater);
    input->stage = MEMBER;
    return CLI_OK;
}

/* One step of inflation, from what waits in `raw` to `to`. */
static int inflate_some(input *input, void *to, size_t room, size_t *got, fault *fault)
{
    z_stream *z = &input->inflater;
    if (raw_fill(input, fault))
        return fault->status;
    if (input->first == input->last)
        return fault_set(fault, CLI_BAD_INPUT, "%s: byte %llu: truncated: the gzip data ends too early",
                         input->name, (unsigned long long)offset(input));
    z->next_in = input->raw + input->first;
    z->avail_in = (uInt)(input->last - input->first);
    z->next_out = to;
    z->avail_out = (uInt)(room < (1u << 30) ? room : 1u << 30);
    uInt before = z->avail_out;
    int result = inflate(z, Z_NO_FLUSH);
    input->first = input->last - z->avail_in;
    *got = before - z->avail_out;
    if (result == Z_STREAM_END)
        input->stage = BETWEEN;
    else if (result == Z_MEM_ERROR)
        return fault_set(fault, CLI_FAILED, "%s: no memory to inflate it", input->name);
    else if (result != Z_OK && result != Z_BUF_ERROR)
        return fault_set(fault, CLI_BAD_INPUT, "%s: byte %llu: the gzip data is damaged: %s", input->name,
                         (unsigned long long)offset(input), z->msg ? z->msg : zError(result));
    return CLI_OK;
}

static int gzip_read(input *input, void *to, size_t room, size_t *got, fault *fault)
{
    while (!*got) {
        if (input->stage == BETWEEN && next_member(input, fault))
            return fault->status;
        if (input->stage == BETWEEN)
            return CLI_OK;
        if (inflate_some(input, to, room, got, fault))
            return fault->status;
    }
    return CLI_OK;
}
#endif

int input_read(input *input, void *to, size_t room, size_t *got, fault *fault)
{
    *got = 0;
#ifndef COHORT_NO_ZLIB
    if (input->stage != PLAIN)
        return gzip_read(input, to, room, got, fault);
#endif
    return plain_read(input, to, room, got, fault);
}

uint64_t input_consumed(const input *input)
{
    return input->consumed;
}

const char *input_name(const input *input)
{
    return input->name;
}

void input_close(input *input)
{
    if (!input)
        return;
#ifndef COHORT_NO_ZLIB
    if (input->inflates)
        inflateEnd(&input->inflater);
#endif
    if (input->fd > STDERR_FILENO)
        close(input->fd);
    free(input);
}

int input_is_gzip(const input *input)
{
    return input->stage != PLAIN;
}
