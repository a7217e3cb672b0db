/* hostile.h: files of maps' tables whose numbers, slots or homes say what is wrong, with checksums that are
 * right. */
#ifndef TEST_FILES_HOSTILE_H
#define TEST_FILES_HOSTILE_H

#include "file.h"
#include "subject.h"

/* Where things are in such a file. */
enum { SECTIONS = 3, HEADER = 24 + 16 * SECTIONS, NUMBERS = HEADER + 8, TABLE = NUMBERS + 22 * 8 };
enum { VERSION, LAYOUT, WIDTH, PROBE, SLOTS, SEED, MAX_LOAD, FIXED, GROUP, FILTER, FIELDS };

/* The mapping fails so, names the file and, unless NULL, the word. */
int refuses(struct test *, const char *path, cohort_status due, const char *word);

/* The table of five pairs, of the case's width and layout, of which one was erased; the two keys at the top
 * are, in a table of pages, in the side slots. */
struct bytes sample(struct test *, const struct folder *, uint32_t fixed);

/* The file with another number, or with other bytes at a place, is refused. */
void hostile_number(struct test *, const struct folder *, struct bytes *, unsigned field, uint64_t value,
                    cohort_status due, const char *word);
void hostile_bytes(struct test *, const struct folder *, struct bytes *, uint64_t at, const void *bytes,
                   uint64_t count, const char *word);

#endif
