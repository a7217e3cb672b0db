/* spill.c: the temporary file of a sort, and its regions. */
#define _GNU_SOURCE /* mkostemp, O_TMPFILE */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spill.h"

#define MOST_AT_ONCE ((size_t)1 << 30) /* write(2) takes no more than 2 GiB */

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
    path[length] = 0;
    int fd = open(length ? path : "/", O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (fd >= 0)
        return fd;
    path[length] = '/'; /* a file system that has only files with names */
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* A path that leads to no file of its own has its temporary file elsewhere. */
static int open_elsewhere(const char **folder)
{
    const char *set = getenv("TMPDIR");
    *folder = set && *set ? set : "/tmp";
    return open_nameless(*folder, strlen(*folder));
}

int spill_open(numbers *spill, const char *path, size_t width, fault *fault)
{
    struct stat about;
    int beside = strcmp(path, "-") && (stat(path, &about) || S_ISREG(about.st_mode));
    const char *last = strrchr(path, '/'), *folder = NULL;
    memset(spill, 0, sizeof *spill);
    spill->width = width;
    spill->file = 1;
    spill->name = "the temporary file";
    if (beside)
        spill->fd = open_nameless(last ? path : ".", last ? (size_t)(last - path) : 1);
    else
        spill->fd = open_elsewhere(&folder);
    if (spill->fd >= 0)
        return CLI_OK;
    return folder ? fault_set(fault, CLI_FAILED, "TMPDIR: cannot make a temporary file in %s: %s", folder,
                              strerror(errno))
                  : fault_set(fault, CLI_FAILED, "%s: cannot make a temporary file beside it: %s", path,
                              strerror(errno));
}

static int write_at(const numbers *spill, uint64_t first, const void *from, uint64_t n, fault *fault)
{
    uint64_t bytes = n * spill->width, at = first * spill->width;
    for (uint64_t done = 0; done < bytes;) {
        size_t part = bytes - done < MOST_AT_ONCE ? (size_t)(bytes - done) : MOST_AT_ONCE;
        ssize_t put = pwrite(spill->fd, (const char *)from + done, part, (off_t)(at + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fault_set(fault, CLI_FAILED, "%s: cannot write: %s", spill->name, strerror(errno));
        done += (uint64_t)put;
    }
    return CLI_OK;
}

int spill_write(numbers *spill, const void *from, uint64_t n, fault *fault)
{
    uint64_t first = spill->n;
    spill->n += n;
    return write_at(spill, first, from, n, fault);
}

int spill_cut(numbers *spill, uint64_t n, fault *fault)
{
    spill->n = n;
    return ftruncate(spill->fd, (off_t)(n * spill->width))
               ? fault_set(fault, CLI_FAILED, "%s: cannot be cut: %s", spill->name, strerror(errno))
               : CLI_OK;
}

/* ---- regions ------------------------------------------------------------------------------------------- */

/* Which extent number i is in; *first: the extent's first number. */
static unsigned extent_of(const region *region, uint64_t i, uint64_t *first)
{
    unsigned k = 0;
    *first = 0;
    while (i - *first >= region->unit << k)
        *first += region->unit << k++;
    return k;
}

region region_whole(numbers *file, uint64_t n, uint64_t *start)
{
    return (region){file, n, n ? n : 1, start};
}

region *regions_make(numbers *spill, uint64_t count, uint64_t unit, uint64_t most)
{
    uint64_t extents = 1;
    while (unit << extents < most && extents < 63)
        extents++;
    extents++; /* the extents before the last hold less than it */
    region *regions = malloc(count * (sizeof *regions + extents * sizeof *regions->start));
    uint64_t *starts = (uint64_t *)(void *)(regions + count);
    for (uint64_t i = 0; regions && i < count; i++)
        regions[i] = (region){spill, 0, unit, starts + i * extents};
    return regions;
}

int region_append(region *region, const void *from, uint64_t n, fault *fault)
{
    const char *bytes = from;
    while (n) {
        uint64_t first;
        unsigned k = extent_of(region, region->n, &first);
        if (region->n == first) {
            region->start[k] = region->file->n;
            region->file->n += region->unit << k;
        }
        uint64_t room = first + (region->unit << k) - region->n, some = n < room ? n : room;
        if (write_at(region->file, region->start[k] + region->n - first, bytes, some, fault))
            return fault->status;
        region->n += some;
        bytes += some * region->file->width;
        n -= some;
    }
    return CLI_OK;
}

int region_read(const region *region, uint64_t first, uint64_t n, void *to, fault *fault)
{
    char *bytes = to;
    while (n) {
        uint64_t begin;
        unsigned k = extent_of(region, first, &begin);
        uint64_t room = begin + (region->unit << k) - first, some = n < room ? n : room;
        if (numbers_read_at(region->file, region->start[k] + first - begin, some, bytes, fault))
            return fault->status;
        first += some;
        bytes += some * region->file->width;
        n -= some;
    }
    return CLI_OK;
}
