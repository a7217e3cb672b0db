/* arrow_input.h: Arrow structs made of a fuzzer's bytes.
 *
 * The input is a program of bytes: types, lengths, offsets, which fields are spoilt, and then what the
 * buffers hold. Buffers are as large as length, offset and type ask for (no library can check an address),
 * and each is an allocation of its own, so that the sanitizer sees what is read beyond. Everything else
 * may be wrong: counts, children, offsets into strings, views, indices, null counts, missing buffers. */
#ifndef FUZZ_ARROW_INPUT_H
#define FUZZ_ARROW_INPUT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cohort.h"

struct input {
    const uint8_t *at, *end;
};

static unsigned take(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* ---- structs that own what they point to --------------------------------------------------------------- */

#define OWNED 400

struct owned {
    void *memory[OWNED];
    int count;
};

static struct owned owned;

static void *keep(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory || owned.count == OWNED)
        abort();
    owned.memory[owned.count++] = memory;
    return memory;
}

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

/* Whole arrays that were handed out, and those of them that were given back. */
static struct {
    int out, back;
} arrays;

static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

static void release_whole(struct ArrowArray *a)
{
    arrays.back++;
    a->release = NULL;
}

/* A buffer of exactly so many bytes, of the input's as far as they reach. */
static void *buffer(struct input *in, size_t bytes)
{
    unsigned char *memory = keep(bytes);
    size_t left = (size_t)(in->end - in->at), n = bytes < left ? bytes : left;
    memcpy(memory, in->at, n);
    in->at += n;
    return memory;
}

static const char *const formats[] = {"b",    "c", "S", "i",  "l", "g", "e",  "tdD", "tsu:", "d:10,2", "w:3",
                                      "w:16", "u", "U", "vu", "z", "Z", "vz", "n",   "+l",   ""};

static size_t width(const char *format)
{
    switch (format[0]) {
    case 'c':
        return 1;
    case 'S':
    case 'e':
        return 2;
    case 'i':
        return 4;
    case 'd':
        return 16;
    case 'w':
        return (size_t)atoi(format + 2);
    case 't':
        return format[1] == 'd' ? 4 : 8;
    case 'v':
        return 16;
    default:
        return 8;
    }
}

/* Offsets and lengths in strings are small, so that some of them fit. */
static void tame(struct input *in, unsigned char *bytes, size_t step, size_t n)
{
    if (take(in) & 1)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 1; k < step; k++)
                bytes[i * step + k] = 0;
}

static void fill(struct input *in, const char *format, struct ArrowArray *a, size_t entries)
{
    if (format[0] == 'u' || format[0] == 'z' || format[0] == 'U' || format[0] == 'Z') {
        size_t step = format[0] == 'u' || format[0] == 'z' ? 4 : 8;
        a->buffers[1] = buffer(in, (entries + 1) * step);
        tame(in, (unsigned char *)(uintptr_t)a->buffers[1], step, entries + 1);
        uint64_t last = 0;
        memcpy(&last, (const char *)a->buffers[1] + entries * step, step);
        a->buffers[2] =
            buffer(in, last < 4096 ? last : 0); /* the last offset is the heap's size, by contract */
        if (last >= 4096)
            memset((char *)(uintptr_t)a->buffers[1] + entries * step, 0xff, step);
        a->n_buffers = 3;
    } else if (format[0] == 'v') {
        int64_t heaps = take(in) % 3, *sizes = keep(3 * sizeof *sizes);
        a->buffers[1] = buffer(in, entries * 16);
        tame(in, (unsigned char *)(uintptr_t)a->buffers[1], 4, entries * 4);
        for (int64_t h = 0; h < heaps; h++) {
            sizes[h] = take(in);
            a->buffers[2 + h] = buffer(in, (size_t)sizes[h]);
        }
        a->buffers[2 + heaps] = sizes;
        a->n_buffers = 3 + heaps;
    } else {
        a->buffers[1] = buffer(in, format[0] == 'b' ? (entries + 7) / 8 : entries * width(format));
        a->n_buffers = 2;
    }
}

/* Another number of buffers. Of views the last buffer has the sizes of the others. With fewer buffers one of
 * these would stand there, and no reader can tell that it is too short: the producer vouches for addresses.
 * So views lose all of them, or none. */
static void spoil_count(struct input *in, const struct ArrowSchema *s, struct ArrowArray *a)
{
    int64_t had = a->n_buffers, n = had + (int64_t)take(in) % 5 - 2;
    if (s->format && s->format[0] == 'v' && n < had && n > 2)
        n = 2;
    a->n_buffers = n < 6 ? n : 6;
}

/* One thing that is not as it should be. */
static void spoil(struct input *in, struct ArrowSchema *s, struct ArrowArray *a)
{
    switch (take(in)) {
    case 1:
        a->null_count = (int64_t)take(in) - 2;
        break;
    case 2:
        spoil_count(in, s, a);
        break;
    case 3:
        a->buffers[take(in) % 3] = NULL;
        break;
    case 4:
        a->n_children = (int64_t)take(in) - 1;
        break;
    case 5:
        a->length = -(int64_t)take(in);
        break;
    case 6:
        a->offset = INT64_MIN;
        break;
    case 7:
        s->dictionary = NULL;
        break;
    case 8:
        a->dictionary = NULL;
        break;
    case 9:
        a->release = NULL;
        break;
    case 10:
        a->buffers = NULL;
        break;
    case 11:
        a->length = INT64_MAX - (int64_t)take(in);
        break;
    default:
        break;
    }
}

static void one(struct input *in, const char *format, struct ArrowSchema *s, struct ArrowArray *a,
                int64_t length)
{
    memset(s, 0, sizeof *s);
    memset(a, 0, sizeof *a);
    s->format = format;
    s->name = "fuzz";
    s->release = release_schema;
    a->release = release_array;
    a->length = length;
    a->offset = take(in) % 9;
    a->null_count = -1;
    a->buffers = keep(8 * sizeof *a->buffers);
    size_t entries = (size_t)(a->offset + a->length);
    if (take(in) & 1)
        a->buffers[0] = buffer(in, (entries + 7) / 8);
    fill(in, format, a, entries);
}

static void column(struct input *in, struct ArrowSchema *s, struct ArrowArray *a, int64_t length)
{
    const char *format = formats[take(in) % (sizeof formats / sizeof formats[0])];
    if (take(in) & 1) {
        static const char *const indices[] = {"c", "S", "i", "l", "g"};
        one(in, indices[take(in) % 5], s, a, length);
        s->dictionary = keep(sizeof *s);
        a->dictionary = keep(sizeof *a);
        one(in, format, s->dictionary, a->dictionary, take(in) % 8);
        spoil(in, s->dictionary, a->dictionary);
    } else {
        one(in, format, s, a, length);
    }
    spoil(in, s, a);
}

/* Rows of a column whose schema is there. */
static inline void column_rows(struct input *in, const struct ArrowSchema *s, struct ArrowArray *a,
                               int64_t length)
{
    struct ArrowSchema like, values;
    one(in, s->format ? s->format : "i", &like, a, length);
    if (s->dictionary) {
        a->dictionary = keep(sizeof *a);
        one(in, s->dictionary->format, &values, a->dictionary, take(in) % 8);
        spoil(in, &values, a->dictionary);
    }
    spoil(in, &like, a);
}

/* ---- whole structs ------------------------------------------------------------------------------------- */

static inline void open_schema(struct ArrowSchema *s, int columns)
{
    memset(s, 0, sizeof *s);
    s->format = "+s";
    s->name = "";
    s->release = release_schema;
    s->n_children = columns;
    s->children = keep((size_t)columns * sizeof *s->children);
    for (int i = 0; i < columns; i++)
        s->children[i] = keep(sizeof *s);
}

static inline void open_array(struct ArrowArray *a, int columns, int64_t length)
{
    memset(a, 0, sizeof *a);
    a->release = release_whole;
    a->null_count = -1;
    a->length = length;
    a->n_children = columns;
    a->children = keep((size_t)columns * sizeof *a->children);
    a->buffers = keep(sizeof *a->buffers);
    a->n_buffers = 1;
    for (int i = 0; i < columns; i++)
        a->children[i] = keep(sizeof *a);
    arrays.out++;
}

static inline void free_owned(void)
{
    for (int i = 0; i < owned.count; i++)
        free(owned.memory[i]);
    owned.count = 0;
}

#endif
