/* jit_cache.c: compiled programs on disk.
 *
 * One file a program, named by a hash of its key; in it the key itself, which is compared, and the image, as
 * two sections of the library's own container (io/file.h), so that lengths and checksums are judged, and a
 * file gets its name only when it is whole. Files may be deleted at any time. */
#include "jit_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cohort/device/hash.h"
#include "core/context.h"
#include "io/file.h"

enum { KEY, IMAGE, SECTIONS };

void jit_hash(const char *text, char digits[33])
{
    co_u64 a = 1, b = 2;
    for (; *text; text++) {
        a = co_hash(a + (unsigned char)*text, 0x9e3779b97f4a7c15ull);
        b = co_hash(b + (unsigned char)*text, 0xbf58476d1ce4e5b9ull);
    }
    snprintf(digits, 33, "%016llx%016llx", a, b);
}

/* 1: the folder is there now. */
static int make_folder(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* The file for a key; with `make` its folder is made. */
static int path_of(const char *key, int make, char *path, size_t room)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char digits[33], folder[3000];
    int n;
    if (base && *base == '/')
        n = snprintf(folder, sizeof folder, "%s", base);
    else if (home && *home == '/')
        n = snprintf(folder, sizeof folder, "%s/.cache", home);
    else
        return 0;
    if (n < 0 || n >= (int)sizeof folder - 16 || (make && !make_folder(folder)))
        return 0;
    strcat(folder, "/cohort");
    if (make && !make_folder(folder))
        return 0;
    jit_hash(key, digits);
    return snprintf(path, room, "%s/fn-%s.bin", folder, digits) < (int)room;
}

static int read_sections(struct file_reader *f, const char *key, struct jit_image *image)
{
    void *stored = NULL;
    size_t length = strlen(key);
    int good = f->bytes[KEY] == length && f->bytes[IMAGE] && !file_read(f, &stored) &&
               !memcmp(stored, key, length) && !file_read(f, &image->data) && !file_end(f);
    image->bytes = (size_t)f->bytes[IMAGE];
    free(stored);
    if (good)
        return 1;
    free(image->data);
    image->data = NULL;
    return 0;
}

/* Messages of files go to the thread; what was there stays. */
static cohort_status keep_message(char *message, size_t room)
{
    snprintf(message, room, "%s", cohort_message(NULL));
    return COHORT_OK;
}

int jit_cache_read(const char *key, struct jit_image *image)
{
    struct file_reader f;
    char path[4096], message[sizeof((cohort_context *)0)->message];
    const struct file_stream from = {path, NULL, NULL};
    int good = 0;
    image->data = NULL;
    if (!path_of(key, 0, path, sizeof path))
        return 0;
    keep_message(message, sizeof message);
    if (!file_open(&f, NULL, &from, FILE_FUNCTION, SECTIONS)) {
        good = read_sections(&f, key, image);
        file_close(&f);
    }
    context_fail(NULL, COHORT_OK, "%s", message);
    return good;
}

void jit_cache_write(const char *key, const struct jit_image *image)
{
    const struct file_section sections[SECTIONS] = {{key, strlen(key)}, {image->data, image->bytes}};
    char path[4096], message[sizeof((cohort_context *)0)->message];
    const struct file_stream to = {path, NULL, NULL};
    if (!path_of(key, 1, path, sizeof path))
        return;
    keep_message(message, sizeof message);
    file_write(NULL, &to, FILE_FUNCTION, SECTIONS, sections);
    context_fail(NULL, COHORT_OK, "%s", message);
}
