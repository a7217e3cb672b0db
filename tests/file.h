/* file.h: files of a case's own, and their bytes, altered with checksums that are right. */
#ifndef TEST_FILE_H
#define TEST_FILE_H

#include "io/file.h"
#include "test.h"

struct folder {
    char path[128], file[160], other[160];
};

struct folder folder_new(struct test *);
void folder_end(struct test *, struct folder *); /* fails the case if anything but the two files is in it */

struct bytes {
    unsigned char *data; /* malloc's, with one byte more */
    uint64_t count;
};

struct bytes contents(struct test *, const char *path);
void write_file(struct test *, const char *path, const void *data, uint64_t bytes);

/* Fails the case unless opening what lies at `path` fails so, with a message that has the word; 0 then. */
typedef int refuses_file(struct test *, const char *path, cohort_status due, const char *word);

/* The file cut at each byte, with a bit of each byte turned, and with a byte more: all are refused. Its kind
 * may become `other`, whose files are opened as well. */
void damage_each(struct test *, const char *path, struct bytes *, enum file_kind other,
                 refuses_file *refuses);

/* Writes the file, which has so many sections, with the checksums of docs/file-format.md. */
void seal(struct test *, const char *path, struct bytes *, unsigned sections);

#endif
