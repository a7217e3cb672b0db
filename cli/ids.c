/* Reading sets of integers from files.
 *
 * A Roaring file of 32 bits begins with its cookie: ':' or ';' and '0', which no text does. One of 64 bits
 * begins with the number of its parts, 8 bytes of which the last four are zeros as a rule and one is for
 * certain: texts have no zeros. All other files are texts.
 *
 * The files of a format lie one after the other in a heap, which is what a collection is built from in one
 * call. */
#include "ids.h"

#include <stdlib.h>
#include <string.h>

#include "input.h"

#define PIECE 65536u

/* ---- heaps --------------------------------------------------------------------------------------------- */

static size_t entry_bytes(ids_format format)
{
    return format == IDS_TEXT ? 8 : 1;
}

/* Room for n more entries. */
static int heap_room(ids_heap *heap, ids_format format, uint64_t n, const char *name, fault *fault)
{
    if (heap->room - heap->n >= n)
        return CLI_OK;
    uint64_t room = heap->room + heap->room / 2 + n, bytes = entry_bytes(format);
    void *at = room <= SIZE_MAX / bytes ? realloc(heap->at, (size_t)(room * bytes)) : NULL;
    if (!at)
        return fault_set(fault, CLI_FAILED, "%s: no memory for %llu %s", name, (unsigned long long)room,
                         format == IDS_TEXT ? "integers" : "bytes");
    heap->at = at;
    heap->room = room;
    return CLI_OK;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Where a text is being read: within a number or between two. */
typedef struct text {
    uint64_t value, place, greatest; /* place: of the next byte */
    int within;
} text;

static int is_between(unsigned char c)
{
    return c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static int text_fault(const text *t, unsigned char c, const char *name, fault *fault)
{
    char shown[16];
    if (c > 0x20 && c < 0x7f)
        snprintf(shown, sizeof shown, "'%c'", c);
    else
        snprintf(shown, sizeof shown, "0x%02x", c);
    return fault_set(fault, CLI_BAD_INPUT,
                     "%s: byte %llu: %s; a text of integers has digits, commas, spaces and ends of lines",
                     name, (unsigned long long)t->place, shown);
}

static void text_put(text *t, ids_heap *heap)
{
    ((uint64_t *)heap->at)[heap->n++] = t->value;
    t->greatest = t->value > t->greatest ? t->value : t->greatest;
    t->within = 0;
    t->value = 0;
}

/* There is room for as many integers as the bytes can make. */
static int text_take(text *t, ids_heap *heap, const unsigned char *at, size_t n, const char *name,
                     fault *fault)
{
    for (size_t i = 0; i < n; i++, t->place++) {
        unsigned digit = at[i] - (unsigned)'0';
        if (digit > 9) {
            if (!is_between(at[i]))
                return text_fault(t, at[i], name, fault);
            if (t->within)
                text_put(t, heap);
            continue;
        }
        if (t->value > (UINT64_MAX - digit) / 10)
            return fault_set(fault, CLI_BAD_INPUT, "%s: byte %llu: an integer above 2^64 - 1", name,
                             (unsigned long long)t->place);
        t->value = t->value * 10 + digit;
        t->within = 1;
    }
    return CLI_OK;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static ids_format format_of(const unsigned char *head, size_t n)
{
    if (n >= 2 && (head[0] == ':' || head[0] == ';') && head[1] == '0')
        return IDS_ROARING32;
    return n && memchr(head, 0, n < 8 ? n : 8) ? IDS_ROARING64 : IDS_TEXT;
}

/* Fills a piece as far as the file goes. */
static int piece_read(input *input, unsigned char *to, size_t *got, fault *fault)
{
    size_t part = 1;
    for (*got = 0; *got < PIECE && part; *got += part)
        if (input_read(input, to + *got, PIECE - *got, &part, fault))
            return fault->status;
    return CLI_OK;
}

static int piece_take(const ids_file *file, ids_heap *heap, text *t, const unsigned char *piece, size_t got,
                      fault *fault)
{
    /* One more, for a number that ends with the file. */
    if (heap_room(heap, file->format, (uint64_t)got + 1, file->name, fault))
        return fault->status;
    if (file->format == IDS_TEXT)
        return text_take(t, heap, piece, got, file->name, fault);
    memcpy((char *)heap->at + heap->n, piece, got);
    heap->n += got;
    return CLI_OK;
}

static int contents_read(ids *ids, ids_file *file, input *input, fault *fault)
{
    unsigned char piece[PIECE];
    text t = {0, 0, 0, 0};
    size_t got;
    if (piece_read(input, piece, &got, fault))
        return fault->status;
    file->format = format_of(piece, got);
    ids_heap *heap = &ids->heaps[file->format];
    file->index = heap->files;
    for (;;) {
        file->bytes += got;
        if (piece_take(file, heap, &t, piece, got, fault))
            return fault->status;
        if (got < PIECE)
            break;
        if (piece_read(input, piece, &got, fault))
            return fault->status;
    }
    if (t.within)
        text_put(&t, heap);
    if (t.greatest > UINT32_MAX || file->format == IDS_ROARING64)
        ids->type = COHORT_U64;
    heap->offsets[++heap->files] = heap->n;
    return CLI_OK;
}

static int file_read(ids *ids, ids_file *file, const char *path, fault *fault)
{
    input *input;
    file->name = strcmp(path, "-") ? path : "standard input";
    if (input_open(&input, path, 0, fault))
        return fault->status;
    int status = contents_read(ids, file, input, fault);
    input_close(input);
    return status;
}

int ids_read(ids *ids, char **paths, size_t n, fault *fault)
{
    ids->type = COHORT_U32;
    ids->n = n;
    ids->files = calloc(n, sizeof *ids->files);
    int there = ids->files != NULL;
    for (int f = 0; f < IDS_FORMATS; f++) {
        ids->heaps[f].offsets = calloc(n + 1, sizeof(uint64_t));
        there = there && ids->heaps[f].offsets;
    }
    if (!there)
        return fault_set(fault, CLI_FAILED, "no memory for %zu files", n);
    for (size_t i = 0; i < n; i++)
        if (file_read(ids, &ids->files[i], paths[i], fault))
            return fault->status;
    return CLI_OK;
}

/* ---- collections --------------------------------------------------------------------------------------- */

static cohort_sets_source source_of(const ids *ids, ids_format format)
{
    const ids_heap *heap = &ids->heaps[format];
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    source.type = ids->type;
    source.members = heap->at;
    source.offsets = heap->offsets;
    if (format == IDS_TEXT) {
        source.n = heap->n;
        source.sets = heap->files;
    } else {
        source.form = COHORT_FORM_ROARING;
        source.blob_type = format == IDS_ROARING32 ? COHORT_U32 : COHORT_U64;
        source.n = heap->files;
    }
    return source;
}

/* Of which file is the library's complaint? */
static int blame(const ids *ids, ids_format format, cohort_context *context, fault *fault)
{
    static const char front[] = "cohort_sets_build: blob 0: ";
    for (size_t i = 0; i < ids->n; i++) {
        const ids_file *file = &ids->files[i];
        cohort_sets_source source = source_of(ids, format);
        cohort_sets *alone;
        if (file->format != format)
            continue;
        source.offsets += file->index;
        source.n = 1;
        uint64_t offsets[2] = {0, source.offsets[1] - source.offsets[0]};
        source.members = (const char *)source.members + source.offsets[0];
        source.offsets = offsets;
        cohort_status status = cohort_sets_build(context, &source, &alone);
        cohort_sets_destroy(alone);
        if (status != COHORT_CORRUPT && status != COHORT_TRUNCATED)
            continue;
        const char *message = cohort_message(context);
        if (!strncmp(message, front, sizeof front - 1))
            message += sizeof front - 1;
        return fault_set(fault, CLI_BAD_INPUT, "%s: Roaring of %d bits: %s", file->name,
                         format == IDS_ROARING32 ? 32 : 64, message);
    }
    return 0;
}

static int collection_build(ids *ids, ids_format format, cohort_context *context, fault *fault)
{
    ids_heap *heap = &ids->heaps[format];
    if (format == IDS_TEXT && ids->type == COHORT_U32)
        for (uint64_t i = 0; i < heap->n; i++) {
            uint32_t narrow = (uint32_t)((const uint64_t *)heap->at)[i];
            memcpy((char *)heap->at + 4 * i, &narrow, 4);
        }
    const cohort_sets_source source = source_of(ids, format);
    cohort_sets **out = &ids->collections[ids->collections_count];
    cohort_status status = cohort_sets_build(context, &source, out);
    if (status) {
        int blamed = format == IDS_TEXT ? 0 : blame(ids, format, context, fault);
        return blamed ? blamed : fault_library(fault, status, context, "cannot build the sets");
    }
    ids->collections_count++;
    free(heap->at);
    heap->at = NULL;
    return CLI_OK;
}

int ids_build(ids *ids, cohort_context *context, fault *fault)
{
    uint64_t sets = 0;
    for (int f = 0; f < IDS_FORMATS; f++) {
        ids->first[f] = sets;
        sets += ids->heaps[f].files;
        if (ids->heaps[f].files && collection_build(ids, (ids_format)f, context, fault))
            return fault->status;
    }
    return CLI_OK;
}

uint64_t ids_set(const ids *ids, size_t file)
{
    return ids->first[ids->files[file].format] + ids->files[file].index;
}

void ids_free(ids *ids)
{
    for (uint32_t i = 0; i < ids->collections_count; i++)
        cohort_sets_destroy(ids->collections[i]);
    for (int f = 0; f < IDS_FORMATS; f++) {
        free(ids->heaps[f].at);
        free(ids->heaps[f].offsets);
    }
    free(ids->files);
    memset(ids, 0, sizeof *ids);
}
