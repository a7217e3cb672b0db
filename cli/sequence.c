/* A state machine over lines. What a line is follows from the section that it stands in and its first byte, so the
 * rest of it is found by memchr and passed over or handed on as a whole. A line may be spread over any number of
 * pieces.
 *
 *   section    first byte      line        and then
 *   BETWEEN    '>' or '@'      HEADER      LETTERS
 *              white space     BLANK       BETWEEN
 *   LETTERS    '>' (FASTA)     HEADER      LETTERS
 *              '+' (FASTQ)     PLUS        QUALITY, or BETWEEN after an empty sequence
 *              other           LETTERS     LETTERS
 *   QUALITY    any             QUALITY     BETWEEN once there are as many values as letters
 *
 * In FASTQ the number of letters alone tells where the qualities end: '@' and '+' are quality values too. */
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
    parser->held = 0;
}

/* A piece of a line; `ends` if a newline follows it. A carriage return belongs to the line end if it is the last
 * byte before the newline, which may be the first of the next piece. */
static int line_piece(sequence_parser *parser, const char *bytes, size_t n, int ends, fault *fault)
{
    if (parser->held && n) {
        parser->held = 0;
        if (line_take(parser, "\r", 1, fault))
            return fault->status;
    }
    if (n && bytes[n - 1] == '\r') {
        n--;
        parser->held = 1;
    }
    if (n && line_take(parser, bytes, n, fault))
        return fault->status;
    if (ends)
        line_end(parser);
    return CLI_OK;
}

int sequence_feed(sequence_parser *parser, const char *bytes, size_t n, fault *fault)
{
    for (const char *end = bytes + n; bytes < end;) {
        if (parser->line == LINE_NONE && line_begin(parser, *bytes, fault))
            return fault->status;
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        const char *stop = newline ? newline : end;
        if (line_piece(parser, bytes, (size_t)(stop - bytes), newline != NULL, fault))
            return fault->status;
        if (newline)
            parser->line_number++;
        bytes = stop + (newline != NULL);
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
