/* file.c: a container of sections, each with its checksum.
 *
 *     magic (8) version (4) kind (4) count (8)      24 bytes
 *     count x { bytes (8), checksum (8) }           of each section
 *     checksum of all the bytes before it (8)
 *     the sections, each padded with zeros to a multiple of 8
 *
 * The checksum goes word by word: xor the word in, multiply by an odd number, fold the high half into the
 * low. Each step is a bijection of the state for a given word and of the word for a given state. So two texts
 * of one length that differ in one word end in different sums: they differ after that word, and no later step
 * can make them meet again. The padding is part of the words, and the header's sum covers the sections' sums,
 * so a single altered byte is always found. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* realpath */
#include "io/file.h"

#include "core/context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "keys and values are stored as they lie in memory, the least byte first"
#endif

#define FILE_VERSION 1u
#define PIECE        (4ull << 20) /* bytes read or written at a time */
#define HEAD_BYTES   24ull

static const unsigned char magic[8] = {0x89, 'c', 'o', 'h', 'o', 'r', 't', '\n'};

/* Sections and their sums, and the header's own sum. */
static uint64_t table_bytes(unsigned count)
{
    return 16ull * count + 8;
}

void file_put(unsigned char *to, uint64_t v)
{
    memcpy(to, &v, 8);
}

uint64_t file_get(const unsigned char *from)
{
    uint64_t v;
    memcpy(&v, from, 8);
    return v;
}

/* ---- the checksum -------------------------------------------------------------------------------------- */

static uint64_t sum_begin(uint64_t bytes)
{
    return bytes ^ 0x636f686f7274ull;
}

static uint64_t sum_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
    return sum ^ sum >> 32;
}

/* Of bytes that continue a section; only the last piece may be no whole number of words. */
static uint64_t sum_bytes(uint64_t sum, const void *data, uint64_t bytes)
{
    const unsigned char *p = data;
    for (; bytes >= 8; p += 8, bytes -= 8)
        sum = sum_word(sum, file_get(p));
    if (bytes) {
        unsigned char last[8] = {0};
        memcpy(last, p, bytes);
        sum = sum_word(sum, file_get(last));
    }
    return sum;
}

static uint64_t padding(uint64_t bytes)
{
    return -bytes & 7;
}

/* ---- messages ------------------------------------------------------------------------------------------ */

cohort_status file_fail(cohort_context *context, cohort_status status, const struct file_stream *stream,
                        const char *format, ...)
{
    char what[320];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (!stream->path)
        return context_fail(context, status, "%s: %s", stream->output ? "output" : "input", what);
    return context_fail(context, status, "path '%.256s': %s", stream->path, what);
}

static cohort_status fail_at(const struct file_reader *f, cohort_status status, uint64_t place,
                             const char *what)
{
    return file_fail(f->context, status, f->from, "byte %llu: %s", (unsigned long long)place, what);
}

static cohort_status fail_errno(cohort_context *context, const char *path, const char *doing)
{
    return context_fail(context, errno == ENOMEM ? COHORT_NO_MEMORY : COHORT_IO, "path '%.256s': %s: %s",
                        path, doing, strerror(errno));
}

static cohort_status fail_irregular(const struct file_reader *f)
{
    return file_fail(f->context, COHORT_IO, f->from, "is not a regular file, which alone can be mapped");
}

uint64_t file_place(const struct file_reader *f, unsigned section)
{
    uint64_t place = HEAD_BYTES + table_bytes(f->count);
    for (unsigned i = 0; i < section; i++)
        place += f->bytes[i] + padding(f->bytes[i]);
    return place;
}

cohort_status file_corrupt(struct file_reader *f, unsigned section, const char *format, ...)
{
    char what[160];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return fail_at(f, COHORT_CORRUPT, file_place(f, section), what);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

struct file_writer {
    int descriptor; /* -1: by the function */
    const cohort_output *output;
    uint64_t place;
};

/* Some of the bytes, one at least: how many; a function takes all it is given. -1: it failed. */
static ssize_t write_some(const struct file_writer *w, const void *data, size_t bytes)
{
    if (w->descriptor < 0)
        return w->output->write(w->output->user, data, bytes) ? -1 : (ssize_t)bytes;
    ssize_t n;
    do
        n = write(w->descriptor, data, bytes);
    while (n < 0 && errno == EINTR);
    return n ? n : -1;
}

static int write_all(struct file_writer *w, const void *data, uint64_t bytes)
{
    const unsigned char *p = data;
    while (bytes) {
        ssize_t n = write_some(w, p, bytes < PIECE ? bytes : PIECE);
        if (n < 0)
            return 0;
        p += n;
        w->place += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 1;
}

static int write_contents(struct file_writer *w, enum file_kind kind, unsigned count,
                          const struct file_section *sections)
{
    static const unsigned char zeros[8];
    unsigned char head[HEAD_BYTES + 16 * FILE_SECTIONS + 8];
    uint64_t length = HEAD_BYTES + table_bytes(count) - 8;
    memcpy(head, magic, 8);
    file_put(head + 8, FILE_VERSION | (uint64_t)kind << 32);
    file_put(head + 16, count);
    for (unsigned i = 0; i < count; i++) {
        file_put(head + HEAD_BYTES + 16 * i, sections[i].bytes);
        file_put(head + HEAD_BYTES + 16 * i + 8,
                 sum_bytes(sum_begin(sections[i].bytes), sections[i].data, sections[i].bytes));
    }
    file_put(head + length, sum_bytes(sum_begin(length), head, length));
    if (!write_all(w, head, length + 8))
        return 0;
    for (unsigned i = 0; i < count; i++)
        if (!write_all(w, sections[i].data, sections[i].bytes) ||
            !write_all(w, zeros, padding(sections[i].bytes)))
            return 0;
    return w->descriptor < 0 || fsync(w->descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/* ---- a file that is not complete yet ------------------------------------------------------------------- */

/* It has one of the names PATH.cohort-0.tmp, PATH.cohort-1.tmp and so on, and is locked (flock) for as long
 * as its writer lives. One that is not locked was left by a process that was killed: the next to write the
 * file removes it. A file has no lock for a moment after it was made, in which another may take it for such a
 * one; so both look, with the lock in hand, whether the name still leads to what they hold. */

#define NAMES 100 /* writers of one file at a time, at most */
#define SWEPT 16  /* names that each writer looks at */

/* The lock is had, or is not to be had there at all, and the name leads to what is open. */
static int is_mine(int descriptor, const char *name, int *locked)
{
    struct stat open_one, named;
    *locked = !flock(descriptor, LOCK_EX | LOCK_NB);
    return (*locked || errno != EWOULDBLOCK) && !fstat(descriptor, &open_one) && !lstat(name, &named) &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

static void remove_left(const char *name)
{
    int locked, descriptor = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    if (descriptor < 0)
        return;
    if (!fstat(descriptor, &info) && S_ISREG(info.st_mode) && is_mine(descriptor, name, &locked) && locked)
        unlink(name);
    close(descriptor);
}

/* A new file beside `target`; its name in *name, which the caller frees. Its mode is the old file's, if there
 * is one. */
static int create_beside(const char *target, const struct stat *old, char **name)
{
    size_t room = strlen(target) + 48;
    *name = malloc(room);
    if (!*name) {
        errno = ENOMEM;
        return -1;
    }
    for (unsigned i = 0; i < SWEPT; i++) {
        snprintf(*name, room, "%s.cohort-%u.tmp", target, i);
        remove_left(*name);
    }
    for (unsigned i = 0; i < NAMES; i++) {
        int locked;
        snprintf(*name, room, "%s.cohort-%u.tmp", target, i);
        int descriptor = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST)
            return -1;
        if (descriptor >= 0 && is_mine(descriptor, *name, &locked)) {
            if (old && fchmod(descriptor, old->st_mode & 07777) != 0)
                errno = 0; /* another user's file system: the mode is not what matters */
            return descriptor;
        }
        if (descriptor >= 0)
            close(descriptor);
    }
    errno = EEXIST;
    return -1;
}

static cohort_status replace(cohort_context *context, const char *path, const char *target,
                             const struct stat *old, enum file_kind kind, unsigned count,
                             const struct file_section *sections)
{
    char *name = NULL;
    int descriptor = create_beside(target, old, &name), lock = -1;
    struct file_writer w = {descriptor, NULL, 0};
    cohort_status status = COHORT_OK;
    if (descriptor < 0) {
        status = fail_errno(context, path, "cannot create a file beside it");
        free(name);
        return status;
    }
    if (!write_contents(&w, kind, count, sections))
        status = fail_errno(context, path, "cannot write");
    lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0); /* until the file has its own name */
    if (close(descriptor) != 0 && !status)
        status = fail_errno(context, path, "cannot write");
    if (!status && rename(name, target) != 0)
        status = fail_errno(context, path, "cannot give the new file its name");
    if (status)
        unlink(name);
    if (lock >= 0)
        close(lock);
    free(name);
    return status;
}

static cohort_status write_path(cohort_context *context, const char *path, enum file_kind kind,
                                unsigned count, const struct file_section *sections)
{
    struct stat old;
    int there = stat(path, &old) == 0;
    if (there && !S_ISREG(old.st_mode))
        return context_fail(context, COHORT_IO, "path '%.256s': is %s", path,
                            S_ISDIR(old.st_mode) ? "a directory" : "not a regular file");
    /* Behind a symbolic link it is the file that is replaced, not the link. */
    char *target = there ? realpath(path, NULL) : NULL;
    if (there && !target)
        return fail_errno(context, path, "cannot be replaced");
    cohort_status status =
        replace(context, path, target ? target : path, there ? &old : NULL, kind, count, sections);
    free(target);
    return status;
}

cohort_status file_write(cohort_context *context, const struct file_stream *to, enum file_kind kind,
                         unsigned count, const struct file_section *sections)
{
    struct file_writer w = {-1, to->output, 0};
    if (to->path)
        return write_path(context, to->path, kind, count, sections);
    if (!write_contents(&w, kind, count, sections))
        return file_fail(context, COHORT_IO, to, "byte %llu: the function that writes failed",
                         (unsigned long long)w.place);
    return COHORT_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Up to `bytes` more of the file; *got = 0: it ends here. */
static cohort_status read_some(struct file_reader *f, void *into, size_t bytes, size_t *got)
{
    *got = 0;
    if (f->descriptor < 0) {
        const cohort_input *input = f->from->input;
        if (input->read(input->user, into, bytes, got))
            return fail_at(f, COHORT_IO, f->place, "the function that reads failed");
        if (*got > bytes)
            return fail_at(f, COHORT_IO, f->place, "the function that reads gave more than was asked for");
        return COHORT_OK;
    }
    ssize_t n;
    do
        n = read(f->descriptor, into, bytes);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return fail_errno(f->context, f->from->path, "cannot read");
    *got = (size_t)n;
    return COHORT_OK;
}

/* Exactly `bytes` more of the file. */
static cohort_status read_bytes(struct file_reader *f, void *into, uint64_t bytes)
{
    unsigned char *p = into;
    while (bytes) {
        size_t n;
        cohort_status status = read_some(f, p, bytes < PIECE ? bytes : PIECE, &n);
        if (status)
            return status;
        if (n == 0)
            return fail_at(f, COHORT_TRUNCATED, f->place, "the file ends here, before what it announces");
        p += n;
        f->place += n;
        bytes -= n;
    }
    return COHORT_OK;
}

/* The first bytes tell whether it is one of our files, as far as there are any. */
static cohort_status read_magic(struct file_reader *f, unsigned char *head)
{
    cohort_status status = COHORT_OK;
    for (unsigned i = 0; i < 8; i++) {
        status = read_bytes(f, head + i, 1);
        if (status)
            return status;
        if (head[i] != magic[i])
            return fail_at(f, COHORT_BAD_VERSION, i, "not a file of this library's");
    }
    return COHORT_OK;
}

/* Lengths that cannot be: beyond 64 bits, or beyond the file. */
static cohort_status check_lengths(struct file_reader *f)
{
    uint64_t end = HEAD_BYTES + table_bytes(f->count);
    for (unsigned i = 0; i < f->count; i++) {
        uint64_t padded = f->bytes[i] + padding(f->bytes[i]);
        if (padded < f->bytes[i] || end + padded < end)
            return file_corrupt(f, 0, "section %u announces %llu bytes", i, (unsigned long long)f->bytes[i]);
        end += padded;
    }
    if (end > f->size)
        return fail_at(f, COHORT_TRUNCATED, f->size, "the file ends here, before what it announces");
    return COHORT_OK;
}

static cohort_status read_table(struct file_reader *f, unsigned char *head, uint32_t kind, unsigned count)
{
    uint64_t length = HEAD_BYTES + table_bytes(count) - 8;
    uint64_t kinds = file_get(head + 8) >> 32, sections = file_get(head + 16);
    if (kinds != kind)
        return file_fail(f->context, COHORT_BAD_VERSION, f->from, "byte 12: a file of kind %llu, not %u",
                         (unsigned long long)kinds, kind);
    if (sections != count)
        return fail_at(f, COHORT_CORRUPT, 16, "a wrong number of sections");
    cohort_status status = read_bytes(f, head + HEAD_BYTES, table_bytes(count));
    if (status)
        return status;
    if (file_get(head + length) != sum_bytes(sum_begin(length), head, length))
        return fail_at(f, COHORT_CORRUPT, length, "the header's checksum is wrong");
    for (unsigned i = 0; i < count; i++) {
        f->bytes[i] = file_get(head + HEAD_BYTES + 16 * i);
        f->checksums[i] = file_get(head + HEAD_BYTES + 16 * i + 8);
    }
    f->count = count;
    return check_lengths(f);
}

/* Magic, version, kind and number of sections. */
static cohort_status read_head(struct file_reader *f, unsigned char *head)
{
    struct stat info;
    if (f->descriptor >= 0 && fstat(f->descriptor, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return file_fail(f->context, COHORT_IO, f->from, "is a directory");
        if (S_ISREG(info.st_mode))
            f->size = (uint64_t)info.st_size;
    }
    cohort_status status = read_magic(f, head);
    if (!status)
        status = read_bytes(f, head + 8, HEAD_BYTES - 8);
    if (status)
        return status;
    uint64_t version = file_get(head + 8) & 0xffffffffu;
    if (version != FILE_VERSION)
        return file_fail(f->context, COHORT_BAD_VERSION, f->from, "byte 8: version %llu, not %u",
                         (unsigned long long)version, FILE_VERSION);
    return COHORT_OK;
}

/* Up to the head; closed if that fails. */
static cohort_status begin(struct file_reader *f, cohort_context *context, const struct file_stream *from,
                           unsigned char *head)
{
    memset(f, 0, sizeof *f);
    f->context = context;
    f->from = from;
    f->size = UINT64_MAX;
    f->descriptor = -1;
    while (from->path && f->descriptor < 0) {
        f->descriptor = open(from->path, O_RDONLY | O_CLOEXEC);
        if (f->descriptor < 0 && errno != EINTR)
            return fail_errno(context, from->path, "cannot open");
    }
    cohort_status status = read_head(f, head);
    if (status)
        file_close(f);
    return status;
}

cohort_status file_open(struct file_reader *f, cohort_context *context, const struct file_stream *from,
                        enum file_kind kind, unsigned count)
{
    unsigned char head[HEAD_BYTES + 16 * FILE_SECTIONS + 8];
    cohort_status status = begin(f, context, from, head);
    if (status)
        return status;
    status = read_table(f, head, kind, count);
    if (status)
        file_close(f);
    return status;
}

cohort_status file_kind_of(cohort_context *context, const struct file_stream *from, uint32_t *kind)
{
    struct file_reader f;
    unsigned char head[HEAD_BYTES];
    cohort_status status = begin(&f, context, from, head);
    if (status)
        return status;
    *kind = (uint32_t)(file_get(head + 8) >> 32);
    if (f.size == UINT64_MAX)
        status = fail_irregular(&f);
    file_close(&f);
    return status;
}

/* After a section's bytes: the padding, and the sum of both. */
static cohort_status check_section(struct file_reader *f, const void *data)
{
    static const unsigned char zeros[8];
    unsigned char pad[8] = {0};
    unsigned i = f->next++;
    cohort_status status = read_bytes(f, pad, padding(f->bytes[i]));
    if (status)
        return status;
    if (sum_bytes(sum_begin(f->bytes[i]), data, f->bytes[i]) != f->checksums[i])
        return file_corrupt(f, i, "the checksum of the section that begins here is wrong");
    if (memcmp(pad, zeros, 8) != 0)
        return file_corrupt(f, i, "the section that begins here is not padded with zeros");
    return COHORT_OK;
}

cohort_status file_read_options(struct file_reader *f, unsigned count, uint64_t *numbers)
{
    if (f->bytes[0] != 8ull * count)
        return file_corrupt(f, 0, "the options have %llu bytes", (unsigned long long)f->bytes[0]);
    cohort_status status = read_bytes(f, numbers, f->bytes[0]);
    return status ? status : check_section(f, numbers);
}

/* Memory follows what has arrived: a regular file's size was checked, so there the first piece is all. */
cohort_status file_read(struct file_reader *f, void **out)
{
    uint64_t bytes = f->bytes[f->next], room = f->size == UINT64_MAX && bytes > PIECE ? PIECE : bytes,
             filled = 0;
    unsigned char *data = NULL;
    cohort_status status = COHORT_OK;
    *out = NULL;
    while (!status && filled < bytes) {
        void *more = room <= SIZE_MAX ? realloc(data, room) : NULL;
        if (!more) {
            free(data);
            return file_fail(f->context, COHORT_NO_MEMORY, f->from, "no memory for a section of %llu bytes",
                             (unsigned long long)bytes);
        }
        data = more;
        status = read_bytes(f, data + filled, room - filled);
        filled = room;
        room = bytes - room < room ? bytes : room * 2;
    }
    if (!status)
        status = check_section(f, data);
    if (status)
        free(data);
    else
        *out = data;
    return status;
}

cohort_status file_map(struct file_reader *f, void **out)
{
    uint64_t end = file_place(f, f->count);
    *out = NULL;
    if (f->size == UINT64_MAX)
        return fail_irregular(f);
    if (f->size > end)
        return fail_at(f, COHORT_CORRUPT, end, "the file goes on after its end");
    void *at = f->size <= SIZE_MAX ? mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, f->descriptor, 0)
                                   : MAP_FAILED;
    if (at == MAP_FAILED)
        return fail_errno(f->context, f->from->path, "cannot map");
    *out = at;
    return COHORT_OK;
}

cohort_status file_check_mapped(struct file_reader *f, unsigned section, const void *data, int sum)
{
    uint64_t bytes = f->bytes[section];
    const unsigned char *pad = (const unsigned char *)data + bytes;
    if (sum && sum_bytes(sum_begin(bytes), data, bytes) != f->checksums[section])
        return file_corrupt(f, section, "the checksum of the section that begins here is wrong");
    for (uint64_t i = 0; i < padding(bytes); i++)
        if (pad[i])
            return file_corrupt(f, section, "the section that begins here is not padded with zeros");
    return COHORT_OK;
}

cohort_status file_end(struct file_reader *f)
{
    unsigned char byte;
    size_t n = 0;
    cohort_status status = f->descriptor < 0 ? COHORT_OK : read_some(f, &byte, 1, &n);
    if (status)
        return status;
    return n ? fail_at(f, COHORT_CORRUPT, f->place, "the file goes on after its end") : COHORT_OK;
}

void file_close(struct file_reader *f)
{
    if (f->descriptor >= 0)
        close(f->descriptor);
    f->descriptor = -1;
}
