/* kinds.h: the two kinds of files of pairs, of maps and of multimaps, behind one face. */
#ifndef TEST_FILES_KINDS_H
#define TEST_FILES_KINDS_H

#include "file.h"

struct kind {
    const char *name;
    enum file_kind number;
    cohort_status (*load)(cohort_context *, const char *, void **);
    void (*destroy)(void *);
};

extern const struct kind map_kind, multimap_kind;

/* The load fails so, names the file and, unless NULL, the word. */
int kind_refuses(struct test *, const struct kind *, const char *path, cohort_status due, const char *word);

/* Pair i of keys * each: the key is i % keys from the top down, the value i. */
cohort_multimap *small_multimap(struct test *, cohort_width, uint64_t keys, uint64_t each);

#endif
