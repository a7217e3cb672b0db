/* Reads and writes are retried when a signal interrupts them. A file that becomes shorter while it is read is a fault. */
#define _GNU_SOURCE /* mkostemp */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numbers.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "integers are read in place, which needs a little-endian machine"
#endif

#define MOST_AT_ONCE ((size_t)1 << 30) /* read(2) takes no more than 2 GiB */

static int not_whole(const numbers *numbers, uint64_t bytes, fault *fault)
{
    return fault_set(fault, CLI_BAD_INPUT, "%s: its %llu bytes are no whole number of %zu-byte integers",
                     numbers->name, (unsigned long long)bytes, numbers->width);
}

static int look(numbers *numbers, fault *fault)
{
    struct stat about;
    if (fstat(numbers->fd, &about))
        return fault_set(fault, CLI_BAD_INPUT, "%s: cannot read: %s", numbers->name, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return fault_set(fault, CLI_BAD_INPUT, "%s: is a directory", numbers->name);
    numbers->dev = (uint64_t)about.st_dev;
    numbers->ino = (uint64_t)about.st_ino;
    numbers->file = numbers->fd != STDIN_FILENO && S_ISREG(about.st_mode);
    if (!numbers->file)
        return CLI_OK;
    numbers->n = (uint64_t)about.st_size / numbers->width;
    (void)posix_fadvise(numbers->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return (uint64_t)about.st_size % numbers->width ? not_whole(numbers, (uint64_t)about.st_size, fault)
                                                    : CLI_OK;
}

int numbers_open(numbers *numbers, const char *path, size_t width, fault *fault)
{
    int standard = !strcmp(path, "-");
    memset(numbers, 0, sizeof *numbers);
    numbers->width = width;
    numbers->name = standard ? "standard input" : path;
    numbers->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (numbers->fd < 0)
        return fault_set(fault, CLI_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
    return look(numbers, fault);
}

void numbers_close(numbers *numbers)
{
    if (numbers->fd > STDERR_FILENO)
        close(numbers->fd);
    numbers->fd = -1;
}

int numbers_differ(const numbers *numbers, const char *path, const char *argument, fault *fault)
{
    struct stat about;
    if (!strcmp(path, "-") || stat(path, &about) || S_ISCHR(about.st_mode) ||
        (uint64_t)about.st_dev != numbers->dev || (uint64_t)about.st_ino != numbers->ino)
        return CLI_OK;
    return fault_set(fault, CLI_BAD_INPUT, "%s %s: is also read", argument, path);
}

int numbers_read(numbers *numbers, void *to, uint64_t room, uint64_t *got, fault *fault)
{
    uint64_t bytes = room * numbers->width, done = 0;
    while (done < bytes) {
        size_t part = bytes - done < MOST_AT_ONCE ? (size_t)(bytes - done) : MOST_AT_ONCE;
        ssize_t n = read(numbers->fd, (char *)to + done, part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fault_set(fault, CLI_BAD_INPUT, "%s: cannot read: %s", numbers->name, strerror(errno));
        if (!n)
            break;
        done += (uint64_t)n;
    }
    *got = done / numbers->width;
    if (done % numbers->width)
        return not_whole(numbers, (numbers->file ? 0 : numbers->n * numbers->width) + done, fault);
    if (!numbers->file)
        numbers->n += *got;
    return CLI_OK;
}

int numbers_read_at(const numbers *numbers, uint64_t first, uint64_t n, void *to, fault *fault)
{
    uint64_t bytes = n * numbers->width, at = first * numbers->width;
    for (uint64_t done = 0; done < bytes;) {
        size_t part = bytes - done < MOST_AT_ONCE ? (size_t)(bytes - done) : MOST_AT_ONCE;
        ssize_t got = pread(numbers->fd, (char *)to + done, part, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return fault_set(fault, CLI_BAD_INPUT, "%s: cannot read: %s", numbers->name,
                             got ? strerror(errno) : "it has become shorter");
        done += (uint64_t)got;
    }
    return CLI_OK;
}

/* ---- the file for what does not fit ------------------------------------------------------------------------------ */

static int open_nameless(const char *folder, size_t length)
{
    static const char tail[] = "/cohort-XXXXXX";
    char path[PATH_MAX];
    if (length + sizeof tail > sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path, folder, length);
    memcpy(path + length, tail, sizeof tail);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

int spill_open(numbers *spill, const char *path, size_t width, fault *fault)
{
    struct stat about;
    int beside = strcmp(path, "-") && (stat(path, &about) || S_ISREG(about.st_mode));
    const char *last = strrchr(path, '/'), *folder = getenv("TMPDIR");
    memset(spill, 0, sizeof *spill);
    spill->width = width;
    spill->file = 1;
    spill->name = "the temporary file";
    if (beside && last)
        spill->fd = open_nameless(path, (size_t)(last - path));
    else if (beside)
        spill->fd = open_nameless(".", 1);
    else
        spill->fd =
            open_nameless(folder && *folder ? folder : "/tmp", strlen(folder && *folder ? folder : "/tmp"));
    if (spill->fd < 0)
        return fault_set(fault, CLI_FAILED, "%s: cannot make a temporary file beside it: %s", path,
                         strerror(errno));
    return CLI_OK;
}

int spill_write(numbers *spill, const void *from, uint64_t n, fault *fault)
{
    uint64_t bytes = n * spill->width, at = spill->n * spill->width;
    for (uint64_t done = 0; done < bytes;) {
        size_t part = bytes - done < MOST_AT_ONCE ? (size_t)(bytes - done) : MOST_AT_ONCE;
        ssize_t put = pwrite(spill->fd, (const char *)from + done, part, (off_t)(at + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fault_set(fault, CLI_FAILED, "%s: cannot write: %s", spill->name, strerror(errno));
        done += (uint64_t)put;
    }
    spill->n += n;
    return CLI_OK;
}

/* ---- what sort and split have in common -------------------------------------------------------------------------- */

uint64_t numbers_capacity(cohort_context *context, uint64_t memory, size_t width, unsigned copies)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : UINT64_MAX;
    if (!memory && !cohort_context_get_info(context, &info) && info.memory_free)
        memory = info.memory_free / 2;
    if (!memory)
        memory = (uint64_t)1 << 30;
    memory = memory < machine ? memory : machine;
    return memory / copies / width;
}

int numbers_width(int u32, int u64, size_t *width, fault *fault)
{
    if (u32 == u64)
        return fault_set(fault, CLI_BAD_INPUT,
                         u32 ? "--u32 and --u64: only one of them may be given"
                             : "one of --u32 and --u64 must say what the file holds");
    *width = u32 ? 4 : 8;
    return CLI_OK;
}
