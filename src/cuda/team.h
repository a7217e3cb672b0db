/* team.h: a few threads that copy memory together. One core does not keep up with the link to a GPU. */
#ifndef COHORT_CUDA_TEAM_H
#define COHORT_CUDA_TEAM_H

#include <stddef.h>

struct copy_team;

/* A team of up to `threads`, the caller's included, and no more than there are cores. NULL: the caller
 * alone. */
struct copy_team *copy_team_create(unsigned threads);
void copy_team_destroy(struct copy_team *team); /* NULL is allowed */
void copy_team_forget(struct copy_team *team);  /* frees one whose helpers a fork left behind; likewise */

/* memcpy. `team` may be NULL. */
void copy_team_copy(struct copy_team *team, void *to, const void *from, size_t bytes);

#endif
