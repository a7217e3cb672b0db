/* core/seed.h: numbers that nobody can know before. */
#ifndef COHORT_CORE_SEED_H
#define COHORT_CORE_SEED_H

#include <stdint.h>

/* From the system; where it has none to give, from the clock and an address. For seeds of hashes, not for
 * cryptography. Any thread. */
uint64_t seed_draw(void);

#endif
