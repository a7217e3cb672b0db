/* As many files as the system gives stay open; the rest are opened for each write. What a signal has to
 * remove it finds by the names' numbers, in memory that is written before `live` is set. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beside.h"
#include "folder.h"
#include "output.h"

#define FILES_SPARED 64 /* descriptors left to others */
#define DIGITS_MOST  20

struct folder {
    const char *argument;
    uint64_t files, kept; /* the first `kept` files stay open */
    unsigned digits;
    int fd, into; /* of the temporary directory; `into`: the one that is wanted exists */
    int *fds;     /* of the files that stay open */
    char path[PATH_MAX];
    char temporary[PATH_MAX + 32];
};

/* The one that a signal has to remove. */
static struct {
    volatile sig_atomic_t live;
    int fd;
    uint64_t files;
    unsigned digits;
    const char *path;
} unfinished;

static void name_of(char *to, uint64_t file, unsigned digits)
{
    to[digits] = 0;
    while (digits--) {
        to[digits] = (char)('0' + file % 10);
        file /= 10;
    }
}

/* Calls nothing that a signal handler may not. */
static void remove_unfinished(void)
{
    char name[DIGITS_MOST + 1];
    if (!unfinished.live)
        return;
    unfinished.live = 0;
    for (uint64_t i = 0; i < unfinished.files; i++) {
        name_of(name, i, unfinished.digits);
        unlinkat(unfinished.fd, name, 0);
    }
    rmdir(unfinished.path);
}

static int failed(const folder *folder, const char *file, fault *fault)
{
    int bad = errno == EACCES || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ||
              errno == EROFS || errno == ELOOP || errno == EEXIST || errno == EISDIR;
    return fault_set(fault, bad ? CLI_BAD_INPUT : CLI_FAILED, "%s %s%s%s: cannot write: %s", folder->argument,
                     folder->path, *file ? "/" : "", file, strerror(errno));
}

static int is_empty(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    int empty = directory != NULL;
    while (directory && empty && (entry = readdir(directory)))
        empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    if (directory)
        closedir(directory);
    return empty;
}

static void base_of(const folder *folder, char base[PATH_MAX + 16])
{
    snprintf(base, PATH_MAX + 16, "%s%s", folder->path, folder->into ? "/cohort" : ".cohort");
}

static int check_place(folder *folder, int force, fault *fault)
{
    char base[PATH_MAX + 16];
    struct stat about;
    if (stat(folder->path, &about))
        return errno == ENOENT ? CLI_OK : failed(folder, "", fault);
    if (!S_ISDIR(about.st_mode))
        return fault_set(fault, CLI_BAD_INPUT, "%s %s: is no directory", folder->argument, folder->path);
    folder->into = 1;
    base_of(folder, base);
    beside_sweep(base, BESIDE_FOLDER); /* what a killed run has left does not count */
    if (!force && !is_empty(folder->path))
        return fault_set(fault, CLI_BAD_INPUT, "%s %s: is not empty; --force replaces files in it",
                         folder->argument, folder->path);
    return CLI_OK;
}

/* What is there under the names of the files must be such as can be replaced. */
static int check_files(const folder *folder, const numbers *in, fault *fault)
{
    char path[PATH_MAX + DIGITS_MOST + 2];
    struct stat about;
    size_t length = (size_t)snprintf(path, sizeof path, "%s/", folder->path);
    for (uint64_t i = 0; folder->into && i < folder->files; i++) {
        name_of(path + length, i, folder->digits);
        if (stat(path, &about))
            continue;
        if (S_ISDIR(about.st_mode)) {
            errno = EISDIR;
            return failed(folder, path + length, fault);
        }
        if (numbers_differ(in, path, folder->argument, fault))
            return fault->status;
    }
    return CLI_OK;
}

/* More files may be open than a program begins with. */
static uint64_t files_allowed(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return 0;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) && getrlimit(RLIMIT_NOFILE, &limit))
        return 0;
    return limit.rlim_cur > FILES_SPARED ? (uint64_t)limit.rlim_cur - FILES_SPARED : 0;
}

static int make_temporary(folder *folder, fault *fault)
{
    char base[PATH_MAX + 16];
    base_of(folder, base);
    unfinished.live = 0;
    unfinished.files = 0;
    folder->fd = beside_open(folder->temporary, sizeof folder->temporary, base, BESIDE_FOLDER);
    unfinished.path = folder->temporary;
    unfinished.live = folder->fd >= 0;
    return folder->fd < 0 ? failed(folder, "", fault) : CLI_OK;
}

static int open_file(const folder *folder, uint64_t file, int flags, fault *fault)
{
    char name[DIGITS_MOST + 1];
    name_of(name, file, folder->digits);
    int fd = openat(folder->fd, name, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        failed(folder, name, fault);
    return fd;
}

static int close_file(const folder *folder, uint64_t file, int fd, fault *fault)
{
    char name[DIGITS_MOST + 1];
    name_of(name, file, folder->digits);
    return close(fd) ? failed(folder, name, fault) : CLI_OK;
}

/* All files, so that buckets that get nothing have theirs too, and a lack of inodes shows at once. */
static int make_files(folder *folder, fault *fault)
{
    folder->kept = files_allowed();
    folder->kept = folder->files < folder->kept ? folder->files : folder->kept;
    folder->fds = malloc((folder->kept + 1) * sizeof *folder->fds);
    if (!folder->fds)
        return fault_set(fault, CLI_FAILED, "%s %s: no memory for its files", folder->argument, folder->path);
    for (uint64_t i = 0; i < folder->kept; i++)
        folder->fds[i] = -1;
    for (uint64_t i = 0; i < folder->files; i++) {
        int fd = open_file(folder, i, O_CREAT | O_EXCL, fault);
        if (fd < 0)
            return fault->status;
        if (i < folder->kept)
            folder->fds[i] = fd;
        else if (close_file(folder, i, fd, fault))
            return fault->status;
    }
    return CLI_OK;
}

int folder_open(folder **out, const char *path, const char *argument, uint64_t files, int force,
                const numbers *in, fault *fault)
{
    size_t length = strlen(path);
    *out = NULL;
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= PATH_MAX)
        return fault_set(fault, CLI_BAD_INPUT, "%s: its path is longer than %d bytes", argument,
                         PATH_MAX - 1);
    folder *folder = calloc(1, sizeof *folder);
    if (!folder)
        return fault_set(fault, CLI_FAILED, "%s %s: no memory", argument, path);
    memcpy(folder->path, path, length);
    folder->argument = argument;
    folder->files = files;
    folder->fd = -1;
    for (uint64_t last = files - 1; last || !folder->digits; last /= 10)
        folder->digits++;
    outputs_also_remove(remove_unfinished);
    int status = check_place(folder, force, fault);
    if (!status)
        status = check_files(folder, in, fault);
    if (!status)
        status = make_temporary(folder, fault);
    if (!status) {
        unfinished.fd = folder->fd;
        unfinished.digits = folder->digits;
        unfinished.files = files;
        status = make_files(folder, fault);
    }
    if (status)
        folder_discard(folder);
    else
        *out = folder;
    return status;
}

int folder_write(folder *folder, uint64_t file, const void *bytes, size_t n, fault *fault)
{
    char name[DIGITS_MOST + 1];
    int kept = file < folder->kept, fd = kept ? folder->fds[file] : open_file(folder, file, 0, fault);
    if (fd < 0)
        return fault->status;
    name_of(name, file, folder->digits);
    for (size_t done = 0; done < n;) {
        ssize_t put = write(fd, (const char *)bytes + done, n - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            failed(folder, name, fault);
            if (!kept)
                close(fd);
            return fault->status;
        }
        done += (size_t)put;
    }
    return kept ? CLI_OK : close_file(folder, file, fd, fault);
}

static int move_files(const folder *folder, fault *fault)
{
    char name[DIGITS_MOST + 1];
    int status = CLI_OK, into = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (into < 0)
        return failed(folder, "", fault);
    outputs_ignore_signals();
    for (uint64_t i = 0; i < folder->files && !status; i++) {
        name_of(name, i, folder->digits);
        if (renameat(folder->fd, name, into, name))
            status = failed(folder, name, fault);
    }
    close(into);
    if (!status && rmdir(folder->temporary))
        status = failed(folder, "", fault);
    return status;
}

int folder_close(folder *folder, fault *fault)
{
    int status = CLI_OK;
    for (uint64_t i = 0; i < folder->kept && !status; i++) {
        status = close_file(folder, i, folder->fds[i], fault);
        folder->fds[i] = -1;
    }
    if (!status && folder->into)
        status = move_files(folder, fault);
    else if (!status && rename(folder->temporary, folder->path))
        status = failed(folder, "", fault);
    if (!status)
        unfinished.live = 0;
    folder_discard(folder);
    return status;
}

void folder_discard(folder *folder)
{
    if (!folder)
        return;
    remove_unfinished();
    for (uint64_t i = 0; folder->fds && i < folder->kept; i++)
        if (folder->fds[i] >= 0)
            close(folder->fds[i]);
    if (folder->fd >= 0)
        close(folder->fd);
    free(folder->fds);
    free(folder);
}
