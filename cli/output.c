/* Outputs are kept in a fixed array so that the signal handler can remove their temporary files without
 * touching memory that another thread may be changing: a path is written first and its `live` flag after. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beside.h"
#include "output.h"
#include "place.h"
#include "progress.h"

#define OUTPUTS      16
#define OUTPUT_BYTES (4u << 20)
#define DIRECT_BYTES (256u << 10) /* so much at once is not copied into the buffer first */

struct output {
    int used;
    int fd;
    int renames; /* there is a temporary file */
    const char *argument;
    place place;
    char path[PATH_MAX];
    char temporary[PATH_MAX + 32];
    volatile sig_atomic_t live; /* `temporary` exists and is to go on a signal */
    char *buffer;
    size_t room, filled; /* bytes of it; at most OUTPUT_BYTES */
};

static output outputs[OUTPUTS];
static void (*volatile also_remove)(void);

static int failed(const output *output, fault *fault)
{
    int bad = errno == EACCES || errno == ENOENT || errno == ENOTDIR || errno == EISDIR ||
              errno == ENAMETOOLONG || errno == EROFS || errno == ELOOP;
    return fault_set(fault, bad ? CLI_BAD_INPUT : CLI_FAILED, "%s %s: cannot write: %s", output->argument,
                     output->path, strerror(errno));
}

static void release(output *output)
{
    if (output->fd > STDERR_FILENO)
        close(output->fd);
    if (output->live)
        unlink(output->temporary);
    output->live = 0;
    free(output->buffer);
    output->buffer = NULL;
    output->used = 0;
}

/* What ends the tool, and its temporary files with it. */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

/* Follows links, so that renaming replaces the file and not the link to it. */
static void resolve(output *output)
{
    char *real = realpath(output->path, NULL);
    if (real && strlen(real) < sizeof output->path)
        strcpy(output->path, real);
    free(real);
}

/* No signal comes between the making of the file and the note that it is to go on one. */
static int open_temporary(output *output)
{
    sigset_t held, before;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaddset(&held, signals[i]);
    sigprocmask(SIG_BLOCK, &held, &before);
    output->fd = beside_open_for(output->temporary, sizeof output->temporary, output->path);
    if (output->fd >= 0)
        output->live = output->renames = 1;
    const int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return output->fd < 0 ? -1 : 0;
}

static int open_path(output *output)
{
    struct stat old;
    if (!strcmp(output->path, "-")) {
        output->fd = STDOUT_FILENO;
        return 0;
    }
    if (stat(output->path, &old))
        return open_temporary(output);
    if (S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (!S_ISREG(old.st_mode)) {
        output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
        return output->fd < 0 ? -1 : 0;
    }
    resolve(output);
    if (open_temporary(output))
        return -1;
    /* The new file keeps the old one's permissions; a file system that has none may refuse. */
    if (fchmod(output->fd, old.st_mode & 07777))
        errno = 0;
    return 0;
}

/* Of two outputs that are one file only one would stay. */
static int differs(const output *output, fault *fault)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        const struct output *other = &outputs[i];
        if (other == output || !other->used)
            continue;
        if (place_same(&other->place, &output->place) ||
            (!strcmp(other->path, "-") && !strcmp(output->path, "-")))
            return fault_set(fault, CLI_BAD_INPUT, "%s %s: is also the file of %s", output->argument,
                             output->path, other->argument);
    }
    return CLI_OK;
}

int output_open(output **out, const char *path, const char *argument, fault *fault)
{
    *out = NULL;
    size_t i = 0;
    while (i < OUTPUTS && outputs[i].used)
        i++;
    if (i == OUTPUTS)
        return fault_set(fault, CLI_FAILED, "%s %s: more than %d outputs at once", argument, path, OUTPUTS);
    if (strlen(path) >= PATH_MAX)
        return fault_set(fault, CLI_BAD_INPUT, "%s: its path is longer than %d bytes", argument,
                         PATH_MAX - 1);
    output *output = &outputs[i];
    output->used = 1;
    output->fd = -1;
    output->live = output->renames = 0;
    output->argument = argument;
    output->filled = 0;
    output->room = OUTPUT_BYTES;
    strcpy(output->path, path);
    output->buffer = NULL;
    place_of(&output->place, path, STDOUT_FILENO);
    if (differs(output, fault)) {
        release(output);
        return fault->status;
    }
    output->buffer = malloc(OUTPUT_BYTES);
    if (!output->buffer) {
        release(output);
        return fault_set(fault, CLI_FAILED, "%s %s: no memory for its buffer", argument, path);
    }
    if (open_path(output)) {
        failed(output, fault);
        release(output);
        return fault->status;
    }
    *out = output;
    return CLI_OK;
}

void output_bound(output *output, uint64_t bytes)
{
    output->room = bytes < OUTPUT_ROOM ? OUTPUT_ROOM : bytes < OUTPUT_BYTES ? (size_t)bytes : OUTPUT_BYTES;
}

static int write_all(output *output, const char *bytes, size_t n, fault *fault)
{
    while (n) {
        ssize_t done = write(output->fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return failed(output, fault);
        bytes += done;
        n -= (size_t)done;
    }
    return CLI_OK;
}

static int flush(output *output, fault *fault)
{
    int status = write_all(output, output->buffer, output->filled, fault);
    output->filled = 0;
    return status;
}

char *output_room(output *output, size_t n, fault *fault)
{
    if (output->room - output->filled < n && flush(output, fault))
        return NULL;
    return output->buffer + output->filled;
}

void output_advance(output *output, size_t n)
{
    output->filled += n;
}

int output_write(output *output, const void *bytes, size_t n, fault *fault)
{
    if (output->room - output->filled < n && flush(output, fault))
        return fault->status;
    if (n >= DIRECT_BYTES && !output->filled)
        return write_all(output, bytes, n, fault);
    for (const char *from = bytes; n;) {
        if (output->filled == output->room && flush(output, fault))
            return fault->status;
        size_t part = output->room - output->filled;
        part = n < part ? n : part;
        memcpy(output->buffer + output->filled, from, part);
        output->filled += part;
        from += part;
        n -= part;
    }
    return CLI_OK;
}

int output_print(output *output, fault *fault, const char *format, ...)
{
    char *room = output_room(output, OUTPUT_ROOM, fault);
    if (!room)
        return fault->status;
    va_list list;
    va_start(list, format);
    int n = vsnprintf(room, OUTPUT_ROOM, format, list);
    va_end(list);
    if (n < 0 || n >= OUTPUT_ROOM)
        return fault_set(fault, CLI_FAILED, "%s %s: a line of %d bytes", output->argument, output->path, n);
    output_advance(output, (size_t)n);
    return CLI_OK;
}

int output_close(output *output, fault *fault)
{
    int status = flush(output, fault);
    int lock =
        output->renames ? fcntl(output->fd, F_DUPFD_CLOEXEC, 0) : -1; /* until the file has its own name */
    if (!status && output->fd > STDERR_FILENO) {
        int fd = output->fd;
        output->fd = -1;
        if (close(fd))
            status = failed(output, fault);
    }
    if (!status && output->renames) {
        if (rename(output->temporary, output->path))
            status = failed(output, fault);
        else
            output->live = 0;
    }
    release(output);
    if (lock >= 0)
        close(lock);
    return status;
}

void outputs_discard(void)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        if (outputs[i].used)
            release(&outputs[i]);
}

static void on_signal(int signal)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        if (outputs[i].live)
            unlink(outputs[i].temporary);
    if (also_remove)
        also_remove();
    progress_clear();
    _exit(128 + signal);
}

void outputs_also_remove(void (*remove)(void))
{
    also_remove = remove;
}

void outputs_ignore_signals(void)
{
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_IGN);
}

void outputs_guard_signals(void)
{
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action, old;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        sigfillset(&action.sa_mask);
        /* A signal that is ignored (nohup) stays ignored. */
        if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN); /* a file beyond the limit is an error of write(2) */
}
