/* beside.c: the lock is what counts. Who makes a name has it unlocked for a moment, in which a sweep may take
 * it for one that was left; so the maker looks, with the lock in hand, whether the name is still its own, and
 * takes the next one if not. Who sweeps removes a name only with its lock in hand, and after a look that the
 * name still leads to what is locked. */
#define _GNU_SOURCE /* O_NOFOLLOW, O_DIRECTORY, flock */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beside.h"

#define NAMES 100 /* runs at a time, at most */
#define SWEPT 16  /* names that each run looks at */

static int name_put(char *name, size_t room, const char *base, unsigned number)
{
    int n = snprintf(name, room, "%s-%u.tmp", base, number);
    if (n >= 0 && (size_t)n < room)
        return 1;
    errno = ENAMETOOLONG;
    return 0;
}

static int open_kind(const char *name, beside_kind kind, int flags)
{
    flags |= kind == BESIDE_FILE ? O_WRONLY : O_RDONLY | O_DIRECTORY;
    int fd;
    do
        fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* The lock is had, and the name leads to what is locked. */
static int is_held(int fd, const char *name)
{
    struct stat held, there;
    return !flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &held) && !lstat(name, &there) &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

/* Everything in a folder, and the folder. What cannot be removed stays. */
static void remove_folder(int fd, const char *name)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            unlinkat(fd, entry->d_name, 0);
    if (folder)
        closedir(folder);
    else if (copy >= 0)
        close(copy);
    rmdir(name);
}

static void sweep(const char *name, beside_kind kind)
{
    struct stat about;
    if (lstat(name, &about) || (kind == BESIDE_FILE ? !S_ISREG(about.st_mode) : !S_ISDIR(about.st_mode)))
        return;
    int fd = open_kind(name, kind, O_NONBLOCK);
    if (fd >= 0 && is_held(fd, name)) {
        if (kind == BESIDE_FILE)
            unlink(name);
        else
            remove_folder(fd, name);
    }
    if (fd >= 0)
        close(fd);
}

void beside_sweep(const char *base, beside_kind kind)
{
    char name[PATH_MAX + 64];
    for (unsigned i = 0; i < SWEPT && name_put(name, sizeof name, base, i); i++)
        sweep(name, kind);
}

static int make(const char *name, beside_kind kind)
{
    if (kind == BESIDE_FILE)
        return open_kind(name, kind, O_CREAT | O_EXCL);
    if (mkdir(name, 0777))
        return -1;
    int fd = open_kind(name, kind, 0);
    if (fd < 0 && errno == ENOENT)
        errno = EEXIST; /* it has been swept meanwhile */
    return fd;
}

/* Locks are not to be had everywhere. What cannot be locked is never taken for what was left, either. */
static int claim(int fd, const char *name)
{
    struct stat held, there;
    if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return 0;
    return !fstat(fd, &held) && !lstat(name, &there) && held.st_ino == there.st_ino;
}

int beside_open(char *name, size_t room, const char *base, beside_kind kind)
{
    beside_sweep(base, kind);
    for (unsigned i = 0; i < NAMES; i++) {
        if (!name_put(name, room, base, i))
            return -1;
        int fd = make(name, kind);
        if (fd >= 0 && claim(fd, name))
            return fd;
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd >= 0)
            close(fd);
    }
    errno = EEXIST;
    return -1;
}

int beside_open_for(char *name, size_t room, const char *path)
{
    char base[PATH_MAX + 16];
    if (snprintf(base, sizeof base, "%s.cohort", path) >= (int)sizeof base) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return beside_open(name, room, base, BESIDE_FILE);
}
