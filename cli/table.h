/* The table of counts as text: lines made by several threads, written in order by one more, while the caller
 * goes on. */
#ifndef COHORT_CLI_TABLE_H
#define COHORT_CLI_TABLE_H

#include "output.h"
#include "ranking.h"

typedef struct table table;

/* Lines KEY<TAB>COUNT in the order of the runs, whose `first` are places in `keys`. */
typedef struct table_part {
    const uint64_t *keys;
    const ranking_run *runs;
    size_t runs_n;
} table_part;

/* Lines go to `output`; keys are k-mers of k letters, or numbers if k is 0. About `lines` are to come. */
int table_start(table **out, output *output, unsigned k, uint64_t lines, unsigned threads, fault *fault);

/* The part's memory stays as it is until table_wait says that it is done. */
int table_put(table *table, const table_part *part, fault *fault);

/* Waits until at most `parts` of those that were put are not yet text, the latest ones. */
int table_wait(table *table, size_t parts, fault *fault);

/* Waits until all is written, unless something failed, and frees `table` (NULL is allowed). */
int table_end(table *table, fault *fault);

#endif
