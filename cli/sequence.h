/* FASTA and FASTQ, read as a stream.
 *
 * Bytes are fed in pieces of any size. The parser finds the lines that hold letters of a sequence and hands them on in
 * place, piece by piece, without looking at the letters. It accepts any line wrapping in both formats, also of
 * qualities, lines that end in LF, CRLF or CR, blank lines and old FASTA's comments (';'), and wants of a FASTQ record exactly as many quality values as letters. */
#ifndef COHORT_CLI_SEQUENCE_H
#define COHORT_CLI_SEQUENCE_H

#include "cli.h"

/* Told of the next letters of a sequence, and when it ends. `letters` holds no line ends. */
typedef struct sequence_sink {
    void (*letters)(void *user, const char *letters, size_t n);
    void (*end)(void *user);
    void *user;
} sequence_sink;

typedef enum sequence_line {
    LINE_NONE, /* at the start of a line */
    LINE_BLANK,
    LINE_HEADER,
    LINE_COMMENT,
    LINE_LETTERS,
    LINE_PLUS,
    LINE_QUALITY
} sequence_line;

typedef enum sequence_section { SECTION_BETWEEN, SECTION_LETTERS, SECTION_QUALITY } sequence_section;

typedef struct sequence_parser {
    const char *name; /* of the file, for messages */
    sequence_sink sink;
    char format; /* '>' FASTA, '@' FASTQ, 0 not known yet */
    sequence_section section;
    sequence_line line;
    int returned;         /* the last line ended by a carriage return: a newline after it belongs to it */
    uint64_t line_number; /* of the current line, from 1 */
    uint64_t record_line; /* of the current record's header */
    uint64_t letters, qualities;
} sequence_parser;

void sequence_begin(sequence_parser *parser, const char *name, sequence_sink sink);

/* Faults are CLI_BAD_INPUT and begin with "FILE:LINE: ". */
int sequence_feed(sequence_parser *parser, const char *bytes, size_t n, fault *fault);

/* The file is at its end; an empty one is fine. */
int sequence_finish(sequence_parser *parser, fault *fault);

#endif
