/* reads.c: FASTA and FASTQ, as a state machine over lines. What a line is follows from the section that it
 * stands in and its first byte, so the rest of it is found by memchr and passed over or handed on as a whole.
 * A line may be spread over any number of pieces.
 *
 *   section    first byte        line        and then
 *   BETWEEN    '>' or '@'        HEADER      LETTERS
 *              white space       BLANK       BETWEEN
 *   LETTERS    '>' (FASTA)       HEADER      LETTERS
 *              ';' (FASTA)       COMMENT     LETTERS
 *              '+' (FASTQ)       PLUS        QUALITY, or BETWEEN after an empty sequence
 *              '@', '+' (FASTA), '@', '>' (FASTQ): a fault, since what follows would be taken for letters
 *              other             LETTERS     LETTERS
 *   QUALITY    any               QUALITY     BETWEEN once there are as many values as letters
 *
 * In FASTQ the number of letters alone tells where the qualities end: '@' and '+' are quality values too.
 *
 * A line ends at a newline, a carriage return, or both in this order. A newline that comes right after a
 * carriage return is passed over as the next line begins, for which it may be in the next piece. */
#include "io/reads.h"

#include <stdio.h>
#include <string.h>

#include "core/context.h"

void reads_begin(cohort_reads *parser, cohort_context *context, const char *name, cohort_reads_sink sink)
{
    memset(parser, 0, sizeof *parser);
    parser->context = context;
    snprintf(parser->name, sizeof parser->name, "%s", name);
    parser->sink = sink;
    parser->line_number = 1;
}

static const char *byte_name(char to[8], char byte)
{
    if (byte > 0x20 && byte < 0x7f)
        snprintf(to, 8, "'%c'", byte);
    else
        snprintf(to, 8, "0x%02x", (unsigned char)byte);
    return to;
}

static cohort_status fault_header(const cohort_reads *parser, char byte)
{
    char found[8];
    byte_name(found, byte);
    unsigned long long line = parser->line_number;
    if (!parser->format)
        return context_fail(parser->context, COHORT_CORRUPT,
                            "%s:%llu: neither FASTA nor FASTQ: '>' or '@' expected, %s found", parser->name,
                            line, found);
    return context_fail(parser->context, COHORT_CORRUPT,
                        "%s:%llu: '@' expected after the FASTQ record of line %llu, %s found", parser->name,
                        line, (unsigned long long)parser->record_line, found);
}

static cohort_status fault_quality(const cohort_reads *parser)
{
    return context_fail(parser->context, COHORT_CORRUPT,
                        "%s:%llu: the FASTQ record of line %llu has %llu %s but %llu %s", parser->name,
                        (unsigned long long)parser->line_number, (unsigned long long)parser->record_line,
                        COUNTED(parser->letters, "letter", "letters"),
                        COUNTED(parser->qualities, "quality value", "quality values"));
}

static int is_space(char byte)
{
    return byte == '\n' || byte == '\r' || byte == ' ' || byte == '\t';
}

static void record_begin(cohort_reads *parser)
{
    parser->line = LINE_HEADER;
    parser->record_line = parser->line_number;
    parser->letters = parser->qualities = 0;
}

/* `byte` is the first of a line: sets what kind of line it is. */
static cohort_status line_begin(cohort_reads *parser, char byte)
{
    if (parser->section == SECTION_QUALITY) {
        parser->line = LINE_QUALITY;
    } else if (parser->section == SECTION_BETWEEN) {
        if (is_space(byte)) {
            parser->line = LINE_BLANK;
            return COHORT_OK;
        }
        if (!parser->format && (byte == '>' || byte == '@'))
            parser->format = byte;
        if (byte != parser->format)
            return fault_header(parser, byte);
        record_begin(parser);
    } else if (parser->format == '>' && byte == '>') {
        parser->sink.end(parser->sink.user);
        record_begin(parser);
    } else if (parser->format == '>' && byte == ';') {
        parser->line = LINE_COMMENT;
    } else if (parser->format == '>' && (byte == '@' || byte == '+')) {
        return context_fail(
            parser->context, COHORT_CORRUPT,
            "%s:%llu: '%c' begins a line in the FASTA record of line %llu: a file is FASTA or "
            "FASTQ, not both",
            parser->name, (unsigned long long)parser->line_number, byte,
            (unsigned long long)parser->record_line);
    } else if (parser->format == '@' && byte == '+') {
        parser->sink.end(parser->sink.user);
        parser->line = LINE_PLUS;
    } else if (parser->format == '@' && (byte == '@' || byte == '>')) {
        return context_fail(parser->context, COHORT_CORRUPT,
                            "%s:%llu: the FASTQ record of line %llu has no quality: '+' expected, '%c' found",
                            parser->name, (unsigned long long)parser->line_number,
                            (unsigned long long)parser->record_line, byte);
    } else {
        parser->line = LINE_LETTERS;
    }
    return COHORT_OK;
}

/* `n` more bytes of the line, without its end. */
static cohort_status line_take(cohort_reads *parser, const char *bytes, size_t n)
{
    switch (parser->line) {
    case LINE_LETTERS:
        parser->letters += n;
        parser->sink.letters(parser->sink.user, bytes, n);
        break;
    case LINE_QUALITY:
        parser->qualities += n;
        if (parser->qualities > parser->letters)
            return fault_quality(parser);
        break;
    case LINE_BLANK:
        for (size_t i = 0; i < n; i++)
            if (!is_space(bytes[i]))
                return fault_header(parser, bytes[i]);
        break;
    default:
        break;
    }
    return COHORT_OK;
}

static void line_end(cohort_reads *parser)
{
    if (parser->line == LINE_HEADER)
        parser->section = SECTION_LETTERS;
    else if (parser->line == LINE_PLUS)
        parser->section = parser->letters ? SECTION_QUALITY : SECTION_BETWEEN;
    else if (parser->line == LINE_QUALITY && parser->qualities == parser->letters)
        parser->section = SECTION_BETWEEN;
    parser->line = LINE_NONE;
}

/* Where the line's end is, or `end`. *newline is the next newline that is known of, or `end`: what has no
 * newlines is not searched for them again and again. */
static const char *line_stop(const char *bytes, const char *end, const char **newline)
{
    if (!*newline || *newline < bytes) {
        *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        if (!*newline)
            *newline = end;
    }
    const char *back = memchr(bytes, '\r', (size_t)(*newline - bytes));
    return back ? back : *newline;
}

cohort_status reads_feed(cohort_reads *parser, const char *bytes, size_t n)
{
    const char *end = bytes + n, *newline = NULL;
    if (n && parser->returned && *bytes == '\n')
        bytes++;
    parser->returned &= !n;
    while (bytes < end) {
        if (parser->line == LINE_NONE && line_begin(parser, *bytes))
            return COHORT_CORRUPT;
        const char *stop = line_stop(bytes, end, &newline);
        if (stop > bytes && line_take(parser, bytes, (size_t)(stop - bytes)))
            return COHORT_CORRUPT;
        bytes = stop;
        if (stop == end)
            break;
        line_end(parser);
        parser->line_number++;
        bytes++;
        parser->returned = *stop == '\r' && bytes == end;
        if (*stop == '\r' && bytes < end && *bytes == '\n')
            bytes++;
    }
    return COHORT_OK;
}

cohort_status reads_finish(cohort_reads *parser)
{
    if (parser->line != LINE_NONE)
        line_end(parser);
    if (parser->format == '>')
        parser->sink.end(parser->sink.user);
    if (parser->format != '@' || parser->section == SECTION_BETWEEN)
        return COHORT_OK;
    if (parser->section == SECTION_QUALITY && parser->qualities)
        return fault_quality(parser);
    return context_fail(parser->context, COHORT_CORRUPT,
                        "%s:%llu: the file ends in the FASTQ record of line %llu: its quality is missing",
                        parser->name, (unsigned long long)parser->line_number,
                        (unsigned long long)parser->record_line);
}
