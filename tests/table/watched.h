/* watched.h: a GPU context whose copies are looked at, and whose launches may be refused. */
#ifndef TEST_TABLE_WATCHED_H
#define TEST_TABLE_WATCHED_H

#include "test.h"

struct watched {
    uint64_t most;     /* bytes of the largest copy from the device to the host, */
    uint64_t most_in;  /* and of the largest one from there to the device */
    uint64_t launches; /* that were asked for */
    uint64_t refused;  /* the number of the launch that fails; 0: none does */
};
extern struct watched watched;

/* From now on; `refused` of the launches fails. */
void watched_begin(cohort_context *context, uint64_t refused);
void watched_end(void);

/* The end of it. Fails if the call did, or if one copy to the host had more bytes than `most`; check: than
 * the host may ask for however many rows there are. */
#define WATCHED_SMALL 512u
void watched_within(struct test *, cohort_status, uint64_t most);
void watched_check(struct test *, cohort_status);

/* An allocator that refuses one call. */
struct refuser {
    cohort_allocator inner;
    uint64_t calls, refused;
};
cohort_allocator refuser_of(struct refuser *);

/* An add's last launches make one of pieces of keys, or of distinct values. Pieces that do not become one are
 * kept, and the add is all right: whether that is so. */
int watched_unjoined(const cohort_group *);

#endif
