/* set_texts.h: the real sets of `bench set`, ours and the peers': folders of texts of integers. C and C++. */
#ifndef COHORT_BENCH_SET_TEXTS_H
#define COHORT_BENCH_SET_TEXTS_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
