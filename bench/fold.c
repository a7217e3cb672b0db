/* fold.c: text in lines that can be read where lines are not broken; rows of tables stay as they are. */
#include "bench.h"

#include <string.h>

enum { COLUMNS = 110 };

/* Where a line of `bytes` bytes is broken: at its last blank that fits, or the first one behind that. */
static size_t break_of(const char *line, size_t bytes)
{
    size_t at = COLUMNS;
    while (at && line[at] != ' ')
        at--;
    for (at = at ? at : COLUMNS; at < bytes && line[at] != ' ';)
        at++;
    return at;
}

void bench_fold(const char *text, FILE *out)
{
    while (*text) {
        size_t bytes = strcspn(text, "\n");
        while (*text != '|' && bytes > COLUMNS) {
            const size_t at = break_of(text, bytes), next = at + (at < bytes);
            fwrite(text, 1, at, out);
            if (at < bytes)
                fputc('\n', out);
            text += next;
            bytes -= next;
        }
        const size_t rest = bytes + (text[bytes] == '\n');
        fwrite(text, 1, rest, out);
        text += rest;
    }
}
