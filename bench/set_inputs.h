/* set_inputs.h: the sets of `bench set`, ours and the peers', so that all work on the same: folders of
 * texts of integers, and made ones. C and C++. */
#ifndef COHORT_BENCH_SET_INPUTS_H
#define COHORT_BENCH_SET_INPUTS_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"

enum { SET_CHUNKS_SKEWED = 512, SET_LARGE = 4096 };

/* The sizes of what is made: bits of dense sets; members of the set that is looked into, and lookups;
 * unsorted integers. */
typedef struct set_sizes {
    uint64_t dense_bits, looked_into, lookups, unsorted;
} set_sizes;

static inline set_sizes set_sizes_of(int quick)
{
    set_sizes s;
    s.dense_bits = UINT64_C(1) << (quick ? 28 : 32);
    s.looked_into = quick ? 1000000 : 10000000;
    s.lookups = quick ? 1000000 : 10000000;
    s.unsorted = quick ? 10000000 : 100000000;
    return s;
}

/* 64 bits of dense set number `set`, half of them 1. */
BENCH_INLINE uint64_t set_dense_word(uint64_t set, uint64_t word)
{
    return bench_mix_64(word * 2 + set + 0x1234567);
}

/* Member i of `count` in a chunk, ascending: one in each of as many equal parts. */
BENCH_INLINE uint32_t set_spread_member(uint64_t set, uint64_t chunk, uint64_t count, uint64_t i)
{
    uint64_t each = 65536 / count;
    return (uint32_t)(chunk << 16 | (i * each + bench_mix_64(set << 50 ^ chunk << 20 ^ i) % each));
}

/* Whether a lookup's value is a member: every second is. */
BENCH_INLINE uint32_t set_lookup(uint64_t i, uint64_t n, uint64_t step)
{
    return (uint32_t)bench_key(bench_other(i % n, n, step) + (i & 1 ? n : 0), 4);
}

/* ---- texts ----------------------------------------------------------------------------------------------------------- */

/* A folder of texts, a set each, in the order of their names. */
typedef struct set_texts {
    char name[64];
    uint64_t sets, members, room;
    uint64_t *offsets; /* sets + 1 */
    uint32_t *member;
} set_texts;

static inline void set_texts_free(set_texts *t)
{
    free(t->offsets);
    free(t->member);
    memset(t, 0, sizeof *t);
}

static inline int set_text_read(set_texts *t, const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned value;
    int got = 1;
    while (file && (got = fscanf(file, "%u%*[, \r\n\t]", &value)) == 1) {
        if (t->members == t->room) {
            uint64_t room = t->room ? 2 * t->room : 65536;
            uint32_t *more = (uint32_t *)realloc(t->member, room * sizeof *more);
            if (!more)
                break;
            t->member = more;
            t->room = room;
        }
        t->member[t->members++] = value;
    }
    if (file)
        fclose(file);
    return file && got == EOF;
}

static inline int set_is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* 0: it is no such folder, or there is no memory. */
static inline int set_texts_read(set_texts *t, const char *folder, const char *name)
{
    struct dirent **names = NULL;
    char path[4096];
    memset(t, 0, sizeof *t);
    snprintf(t->name, sizeof t->name, "%.63s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int found = scandir(path, &names, set_is_name, alphasort), right = found > 0;
    t->offsets = (uint64_t *)calloc(found > 0 ? (size_t)found + 1 : 1, sizeof *t->offsets);
    for (int i = 0; i < found; i++) {
        right = right && t->offsets &&
                snprintf(path, sizeof path, "%s/%s/%s", folder, name, names[i]->d_name) < 4096 &&
                set_text_read(t, path);
        if (right)
            t->offsets[++t->sets] = t->members;
        free(names[i]);
    }
    free(names);
    if (!right)
        set_texts_free(t);
    return right;
}

#endif
