/* kmer.h: k-mers as numbers: two bits a letter, A 0, C 1, G 2, T 3, the first letter highest, so that numbers
 * sort as words. */
#ifndef COHORT_IO_KMER_H
#define COHORT_IO_KMER_H

#include <stddef.h>
#include <stdint.h>

#include "cohort/kmer.h"

/* Turns letters, in either case, into codes 0 to 4, in place. */
void kmer_encode(uint8_t *text, size_t n);

/* Writes the k-mers (1 <= k <= 32) of `codes` to `out`, which has room for n, and returns how many. k-mers do
 * not reach over a COHORT_KMER_BREAK. `canonical`: the smaller of the k-mer and its reverse complement. */
size_t kmer_extract(const uint8_t *codes, size_t n, unsigned k, int canonical, uint64_t *out);

/* The k letters of `kmer` at `to`, which has room for 4 more. */
void kmer_letters(char *to, uint64_t kmer, unsigned k);

#endif
