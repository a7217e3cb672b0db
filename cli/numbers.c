/* Reads and writes are retried when a signal interrupts them. A file that becomes shorter while it is read is
 * a fault. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numbers.h"
#include "place.h"

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
    place in, out;
    place_of_open(&in, numbers->fd);
    place_of(&out, path, STDOUT_FILENO);
    if (!place_same(&in, &out))
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

/* ---- what sort and split have in common ---------------------------------------------------------------- */

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

/* All copies at once, to see; the two stay. */
static int rooms_try(void **rooms, uint64_t bytes, unsigned copies)
{
    void *probe = copies > 2 ? malloc((copies - 2) * bytes) : NULL;
    rooms[0] = malloc(bytes);
    rooms[1] = malloc(bytes);
    int good = rooms[0] && rooms[1] && (probe || copies <= 2);
    free(probe);
    for (unsigned i = 0; i < 2 && !good; i++)
        free(rooms[i]);
    return good;
}

uint64_t numbers_rooms(void **a, void **b, uint64_t capacity, size_t width, unsigned copies, int guessed)
{
    const uint64_t least = 4096;
    void *rooms[2];
    int good = rooms_try(rooms, capacity * width, copies);
    while (!good && guessed && capacity > least) {
        capacity /= 2;
        good = rooms_try(rooms, capacity * width, copies);
    }
    *a = good ? rooms[0] : NULL;
    *b = good ? rooms[1] : NULL;
    return good ? capacity : 0;
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
