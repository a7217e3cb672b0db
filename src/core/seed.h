/* core/seed.h: numbers that nobody can know before. */
#ifndef COHORT_CORE_SEED_H
#define COHORT_CORE_SEED_H

#include <stdint.h>

/* From the system; where it has none to give, from the clock and an address. For seeds of hashes, not for
 * cryptography. Any thread. */
uint64_t seed_draw(void);

/* One of them, drawn when it is first asked for and the same from then on. Any thread. */
uint64_t seed_of_process(void);

/* For tests: makes it this one. Before there are tables by it. */
void seed_fix(uint64_t seed);

/* For tests: what is drawn from now on; NULL: again what the system gives. Where no other thread draws. */
void seed_draw_fix(const uint64_t *seed);

#endif
