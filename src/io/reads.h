/* reads.h: FASTA and FASTQ, read as a stream.
 *
 * Bytes are fed in pieces of any size. The parser finds the lines that hold letters of a sequence and hands
 * them on in place, piece by piece, without looking at the letters. It accepts any line wrapping in both
 * formats, also of qualities, lines that end in LF, CRLF or CR, blank lines and old FASTA's comments (';'),
 * and wants of a FASTQ record exactly as many quality values as letters. */
#ifndef COHORT_IO_READS_H
#define COHORT_IO_READS_H

#include "cohort/kmer.h"

enum reads_line {
    LINE_NONE, /* at the start of a line */
    LINE_BLANK,
    LINE_HEADER,
    LINE_COMMENT,
    LINE_LETTERS,
    LINE_PLUS,
    LINE_QUALITY
};

enum reads_section { SECTION_BETWEEN, SECTION_LETTERS, SECTION_QUALITY };

struct cohort_reads {
    cohort_context *context; /* whose messages; NULL: the thread's */
    cohort_reads_sink sink;
    char format; /* '>' FASTA, '@' FASTQ, 0 not known yet */
    enum reads_section section;
    enum reads_line line;
    int returned;         /* the last line ended by a carriage return: a newline after it belongs to it */
    uint64_t line_number; /* of the current line, from 1 */
    uint64_t record_line; /* of the current record's header */
    uint64_t letters, qualities;
    char name[256]; /* of the file, for messages */
};

/* context may be NULL. */
void reads_begin(cohort_reads *reads, cohort_context *context, const char *name, cohort_reads_sink sink);

/* Faults are COHORT_CORRUPT and begin with "FILE:LINE: ". */
cohort_status reads_feed(cohort_reads *reads, const char *bytes, size_t n);

/* The file is at its end; an empty one is fine. */
cohort_status reads_finish(cohort_reads *reads);

#endif
