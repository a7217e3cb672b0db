/* How many keys occur how often: drawn, as text, and as a table. */
#ifndef COHORT_CLI_SPECTRUM_H
#define COHORT_CLI_SPECTRUM_H

#include "output.h"
#include "ranking.h"

typedef struct spectrum {
    const spectrum_entry *entries; /* by rising `times` */
    size_t n;
    const char *title; /* "canonical 21-mers" */
    const char *what;  /* "k-mers", "numbers" */
} spectrum;

typedef enum spectrum_form { SPECTRUM_SVG, SPECTRUM_TEXT, SPECTRUM_TABLE } spectrum_form;

/* By the name's end: .svg, .txt, .tsv; "-" is text. 0 if it is none of these. */
int spectrum_form_of(const char *path, spectrum_form *form);

int spectrum_write(const spectrum *spectrum, spectrum_form form, output *output, fault *fault);

/* The drawing: both axes logarithmic, legible on light and on dark ground. */
int spectrum_svg_write(const spectrum *spectrum, output *output, fault *fault);

typedef struct spectrum_summary {
    uint64_t total, distinct, once, most;
    uint64_t peak; /* the most frequent count right of the first valley, 0 if there is no clear one */
} spectrum_summary;

void spectrum_summarise(const spectrum *spectrum, spectrum_summary *summary);

#endif
