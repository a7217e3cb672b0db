/* api/sets_entries.h: entries of Roaring's containers, as chunks: judged, copied and looked at for
 * their digest in one pass, or copied only. */
#ifndef COHORT_API_SETS_ENTRIES_H
#define COHORT_API_SETS_ENTRIES_H

#include "io/roaring.h"
#include "shape/sets_chunk.h"

/* Where roaring_vectors() is not 0. 1: the entries are right, and are at `to`, filled up to a whole unit, and
 * *digest is theirs. 0: they are not right, roaring_judge tells what is wrong, and what is at `to` is of no
 * use. `to` has room for the container's whole units. */
int sets_entries_take(const struct roaring_container *c, co_u16 *to, co_u64 *digest);

/* Entries that are right, as a chunk of this kind has them, which is not full, filled up to a whole unit. */
void sets_entries_put(const struct roaring_container *c, co_u32 kind, co_u16 *to);

#endif
