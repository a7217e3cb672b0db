/* A state machine over lines. What a line is follows from the section that it stands in and its first byte, so the
 * rest of it is found by memchr and passed over or handed on as a whole. A line may be spread over any number of
 * pieces.
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
 * A line ends at a newline, a carriage return, or both in this order. A newline that comes right after a carriage return is passed over
 * as the next line begins, for which it may be in the next piece. */
#include <string.h>

#include "sequence.h"

void sequence_begin(sequence_parser *parser, const char *name, sequence_sink sink)
{
    memset(parser, 0, sizeof *parser);
    parser->name = name;
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

static int fault_header(const sequence_parser *parser, char byte, fault *fault)
{
    char found[8];
    byte_name(found, byte);
    unsigned long long line = parser->line_number;
    if (!parser->format)
        return fault_set(fault, CLI_BAD_INPUT,
                         "%s:%llu: neither FASTA nor FASTQ: '>' or '@' expected, %s found", parser->name,
                         line, found);
    return fault_set(fault, CLI_BAD_INPUT,
                     "%s:%llu: '@' expected after the FASTQ record of line %llu, %s found", parser->name,
                     line, (unsigned long long)parser->record_line, found);
}

static int fault_quality(const sequence_parser *parser, fault *fault)
{
    return fault_set(fault, CLI_BAD_INPUT,
                     "%s:%llu: the FASTQ record of line %llu has %llu letters but %llu quality values",
                     parser->name, (unsigned long long)parser->line_number,
                     (unsigned long long)parser->record_line, (unsigned long long)parser->letters,
                     (unsigned long long)parser->qualities);
}

static int is_space(char byte)
{
    return byte == '\n' || byte == '\r' || byte == ' ' || byte == '\t';
}

static void record_begin(sequence_parser *parser)
{
    parser->line = LINE_HEADER;
    parser->record_line = parser->line_number;
    parser->letters = parser->qualities = 0;
}

/* `byte` is the first of a line: sets what kind of line it is. */
static int line_begin(sequence_parser *parser, char byte, fault *fault)
{
    if (parser->section == SECTION_QUALITY) {
        parser->line = LINE_QUALITY;
    } else if (parser->section == SECTION_BETWEEN) {
        if (is_space(byte)) {
            parser->line = LINE_BLANK;
            return CLI_OK;
        }
        if (!parser->format && (byte == '>' || byte == '@'))
            parser->format = byte;
        if (byte != parser->format)
            return fault_header(parser, byte, fault);
        record_begin(parser);
    } else if (parser->format == '>' && byte == '>') {
        parser->sink.end(parser->sink.user);
        record_begin(parser);
    } else if (parser->format == '>' && byte == ';') {
        parser->line = LINE_COMMENT;
    } else if (parser->format == '>' && (byte == '@' || byte == '+')) {
        return fault_set(fault, CLI_BAD_INPUT,
                         "%s:%llu: '%c' begins a line in the FASTA record of line %llu: a file is FASTA or "
                         "FASTQ, not both",
                         parser->name, (unsigned long long)parser->line_number, byte,
                         (unsigned long long)parser->record_line);
    } else if (parser->format == '@' && byte == '+') {
        parser->sink.end(parser->sink.user);
        parser->line = LINE_PLUS;
    } else if (parser->format == '@' && (byte == '@' || byte == '>')) {
        return fault_set(fault, CLI_BAD_INPUT,
                         "%s:%llu: the FASTQ record of line %llu has no quality: '+' expected, '%c' found",
                         parser->name, (unsigned long long)parser->line_number,
                         (unsigned long long)parser->record_line, byte);
    } else {
        parser->line = LINE_LETTERS;
    }
    return CLI_OK;
}

/* `n` more bytes of the line, without its end. */
static int line_take(sequence_parser *parser, const char *bytes, size_t n, fault *fault)
{
    switch (parser->line) {
    case LINE_LETTERS:
        parser->letters += n;
        parser->sink.letters(parser->sink.user, bytes, n);
        break;
    case LINE_QUALITY:
        parser->qualities += n;
        if (parser->qualities > parser->letters)
            return fault_quality(parser, fault);
        break;
    case LINE_BLANK:
        for (size_t i = 0; i < n; i++)
            if (!is_space(bytes[i]))
                return fault_header(parser, bytes[i], fault);
        break;
    default:
        break;
    }
    return CLI_OK;
}

static void line_end(sequence_parser *parser)
{
    if (parser->line == LINE_HEADER)
        parser->section = SECTION_LETTERS;
    else if (parser->line == LINE_PLUS)
        parser->section = parser->letters ? SECTION_QUALITY : SECTION_BETWEEN;
    else if (parser->line == LINE_QUALITY && parser->qualities == parser->letters)
        parser->section = SECTION_BETWEEN;
    parser->line = LINE_NONE;
}

/* Where the line's end is, or `end`. *newline is the next newline that is known of, or `end`: what has no newlines is not searched for them
 * again and again. */
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

int sequence_feed(sequence_parser *parser, const char *bytes, size_t n, fault *fault)
{
    const char *end = bytes + n, *newline = NULL;
    if (n && parser->returned && *bytes == '\n')
        bytes++;
    parser->returned &= !n;
    while (bytes < end) {
        if (parser->line == LINE_NONE && line_begin(parser, *bytes, fault))
            return fault->status;
        const char *stop = line_stop(bytes, end, &newline);
        if (stop > bytes && line_take(parser, bytes, (size_t)(stop - bytes), fault))
            return fault->status;
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
    return CLI_OK;
}

int sequence_finish(sequence_parser *parser, fault *fault)
{
    if (parser->line != LINE_NONE)
        line_end(parser);
    if (parser->format == '>')
        parser->sink.end(parser->sink.user);
    if (parser->format != '@' || parser->section == SECTION_BETWEEN)
        return CLI_OK;
    if (parser->section == SECTION_QUALITY && parser->qualities)
        return fault_quality(parser, fault);
    return fault_set(fault, CLI_BAD_INPUT,
                     "%s:%llu: the file ends in the FASTQ record of line %llu: its quality is missing",
                     parser->name, (unsigned long long)parser->line_number,
                     (unsigned long long)parser->record_line);
}
