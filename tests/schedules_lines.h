/* schedules_lines.h: tables of LINES, for schedules_table.c and schedules_judge.c. The functions are those
 * of schedules.h with `homes` in the place of `table`. */
#ifndef TEST_SCHEDULES_LINES_H
#define TEST_SCHEDULES_LINES_H

#include "schedules.h"

uint64_t homes_window(cohort_width); /* homes of a window */
uint64_t homes_table_slots(const struct shape *);
uint64_t homes_home(const struct shape *, uint64_t key);
uint64_t homes_walk(const struct shape *, uint64_t key, uint64_t *slots); /* by their names */
enum slot_state homes_get(const struct shape *, const void *table, uint64_t i, uint64_t *key,
                          uint64_t *value);
int homes_put(const struct shape *, void *table, uint64_t key, uint64_t value);
int homes_erase(const struct shape *, void *table, uint64_t key);
int homes_find(const struct shape *, const void *table, uint64_t key, uint64_t *value);
int homes_check(const struct shape *, const void *table, const struct co_map_counters *, char *text,
                size_t bytes);

/* 0 with a message unless keys that no operation was about are in with their values; they may have been
 * moved. */
int homes_check_bystanders(const struct plan *, const void *table, char *text, size_t bytes);

#endif
