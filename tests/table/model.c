/* model.c: random tables, value by value. */
#include "model.h"

#include <float.h>
#include <math.h>

const char *const model_formats[] = {"b",    "c",   "C",   "s",    "S",    "i",       "I",
                                     "l",    "L",   "e",   "f",    "g",    "tdD",     "tdm",
                                     "tts",  "ttm", "ttu", "ttn",  "tss:", "tsm:UTC", "tsu:Europe/Berlin",
                                     "tsn:", "tDs", "tDm", "tDu",  "tDn",  "d:38,10", "d:9,-2",
                                     "w:1",  "w:3", "w:8", "w:16", "w:21", "u",       "U",
                                     "vu",   "z",   "Z",   "vz",   NULL};

const char *model_another_layout(struct test *t, const char *format)
{
    static const char *const texts[] = {"u", "U", "vu"}, *const binaries[] = {"z", "Z", "vz"};
    char kind = format[0] == 'v' ? format[1] : format[0];
    if (kind == 'u' || kind == 'U')
        return texts[test_below(t, 3)];
    return kind == 'z' || kind == 'Z' ? binaries[test_below(t, 3)] : format;
}

int model_is_word(const char *format)
{
    if (format[0] == 'w')
        return atoi(format + 2) <= 8;
    return !strchr("uUzZvd", format[0]);
}

int model_stays(const struct model *m)
{
    for (uint32_t c = 0; c < m->columns; c++)
        if (!model_is_word(m->column[c].format) && !m->column[c].index[0])
            return 0;
    return 1;
}

struct model_block {
    struct model_block *next;
    uint64_t used, room;
    unsigned char bytes[];
};

void model_open(struct model *m, uint64_t rows, uint32_t columns)
{
    memset(m, 0, sizeof *m);
    m->rows = rows;
    m->columns = columns;
    m->column = calloc(columns + 1, sizeof *m->column);
    for (uint32_t i = 0; m->column && i < columns; i++)
        if (!(m->column[i].cell = calloc(rows + 1, sizeof(struct cell))))
            abort();
    if (!m->column)
        abort();
}

void model_close(struct model *m)
{
    for (uint32_t i = 0; i < m->columns; i++)
        free(m->column[i].cell);
    free(m->column);
    for (struct model_block *b = m->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    memset(m, 0, sizeof *m);
}

const unsigned char *model_bytes(struct model *m, const void *bytes, uint64_t length)
{
    struct model_block *b = m->blocks;
    if (!b || b->room - b->used < length + 1) {
        uint64_t room = length + 65536;
        b = malloc(sizeof *b + room);
        if (!b)
            abort();
        b->next = m->blocks;
        b->room = room;
        b->used = 0;
        m->blocks = b;
    }
    unsigned char *to = b->bytes + b->used;
    if (length)
        memcpy(to, bytes, length);
    b->used += length + 1;
    return to;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static struct cell whole(struct model *m, const void *bytes, uint64_t length)
{
    return (struct cell){model_bytes(m, bytes, length), length};
}

static uint64_t fixed_bytes(const char *format)
{
    switch (format[0]) {
    case 'b':
    case 'c':
    case 'C':
        return 1;
    case 's':
    case 'S':
    case 'e':
        return 2;
    case 'i':
    case 'I':
    case 'f':
        return 4;
    case 'l':
    case 'L':
    case 'g':
        return 8;
    case 'd':
        return 16;
    case 'w':
        return strtoull(format + 2, NULL, 10);
    case 't':
        return !strcmp(format, "tdD") || !strcmp(format, "tts") || !strcmp(format, "ttm") ? 4 : 8;
    default:
        return 0;
    }
}

static struct cell float_value(struct model *m, uint64_t bytes, uint64_t id, int wild)
{
    static const double wild64[] = {0.0,       -0.0,        NAN,     -NAN,    INFINITY,
                                    -INFINITY, DBL_MIN / 4, DBL_MAX, -DBL_MAX};
    static const uint16_t wild16[] = {0, 0x8000, 0x7e00, 0xfe01, 0x7c00, 0xfc00, 1, 0x7bff, 0x3c00};
    int pick = wild && id < 9;
    double d = pick ? wild64[id] : (double)(int64_t)(test_mix(id) % 2000001 - 1000000) / 128;
    float f = pick && id >= 6 ? (id == 6 ? FLT_MIN / 4 : id == 7 ? FLT_MAX : -FLT_MAX) : (float)d;
    uint16_t h = pick ? wild16[id] : (uint16_t)(test_mix(id) & 0x7bff);
    return bytes == 8 ? whole(m, &d, 8) : bytes == 4 ? whole(m, &f, 4) : whole(m, &h, 2);
}

static struct cell integer_value(struct model *m, uint64_t bytes, uint64_t id, int wild)
{
    unsigned char v[32] = {0};
    uint64_t low = wild ? test_mix(id + 1) : id * 3 + 1, high = wild ? test_mix(id + 77) : 0;
    if (wild && id < 4) { /* the ends of signed and unsigned ranges */
        memset(v, id & 1 ? 0xff : 0, sizeof v);
        v[bytes - 1] = id < 2 ? v[0] : id == 2 ? 0x80 : 0x7f;
        return whole(m, v, bytes);
    }
    memcpy(v, &low, 8);
    memcpy(v + 8, &high, 8);
    memcpy(v + 16, &low, 8);
    return whole(m, v, bytes);
}

static struct cell string_value(struct model *m, uint64_t id, int wild)
{
    char text[80];
    if (!wild)
        return whole(m, text, (uint64_t)sprintf(text, "id%llu", (unsigned long long)id));
    static const uint64_t lengths[] = {0, 1, 4, 11, 12, 13, 15, 16, 17, 31, 64, 300, 5000};
    uint64_t length = lengths[id % 13], x = test_mix(id / 13 + 5);
    unsigned char *bytes = malloc(length + 8);
    if (!bytes)
        abort();
    for (uint64_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)('a' + i % 3); /* long equal beginnings */
    for (uint64_t i = 0; i < 8 && i < length; i++)
        bytes[length - 1 - i] = (unsigned char)(x >> 8 * i);
    struct cell c = whole(m, bytes, length);
    free(bytes);
    return c;
}

struct cell model_value(struct model *m, const char *format, uint64_t id, int wild)
{
    uint64_t bytes = fixed_bytes(format);
    unsigned char bit = id & 1;
    if (format[0] == 'b')
        return whole(m, &bit, 1);
    if (strchr("efg", format[0]))
        return float_value(m, bytes, id, wild);
    if (bytes > 32) {
        unsigned char *v = calloc(1, bytes);
        if (!v)
            abort();
        memcpy(v, &id, 8);
        struct cell c = whole(m, v, bytes);
        free(v);
        return c;
    }
    return bytes ? integer_value(m, bytes, id, wild) : string_value(m, id, wild);
}

/* Indices that can say this many values. */
static const char *index_for(struct test *t, uint64_t values)
{
    static const char *const formats[] = {"c", "C", "s", "S", "i", "I", "l", "L"};
    static const uint64_t most[] = {127, 255, 32767, 65535, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    uint64_t pick;
    do
        pick = test_below(t, 8);
    while (most[pick] < values);
    return formats[pick];
}

void model_fill(struct test *t, struct model *m, uint32_t column, const char *name, const char *format,
                const struct model_plan *plan)
{
    struct model_column *c = &m->column[column];
    uint64_t distinct = plan->distinct ? plan->distinct : 1;
    struct cell *values = calloc(distinct, sizeof *values);
    if (!values)
        abort();
    for (uint64_t i = 0; i < distinct; i++)
        values[i] = model_value(m, format, i, plan->wild);
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->format, sizeof c->format, "%s", format);
    c->index[0] = 0;
    c->value_nulls = plan->dictionaries == 3;
    if (plan->dictionaries >= 2 || (plan->dictionaries && test_below(t, 3) == 0))
        snprintf(c->index, sizeof c->index, "%s", index_for(t, 2 * m->rows + 16));
    for (uint64_t i = 0; i < m->rows; i++) {
        int null = plan->nulls && test_below(t, 100) < plan->nulls;
        c->cell[i] = null ? (struct cell){NULL, 0} : values[test_below(t, distinct)];
    }
    free(values);
}

void model_repeat(struct test *t, struct model *m, const struct model *from, uint32_t columns)
{
    for (uint64_t i = 0; from->rows && i < m->rows; i++) {
        const uint64_t row = test_below(t, from->rows);
        for (uint32_t c = 0, half = test_below(t, 2) != 0; half && c < columns; c++)
            m->column[c].cell[i] = from->column[c].cell[row];
    }
}

void model_random(struct test *t, struct model *m, uint32_t columns, const struct model_plan *plan)
{
    uint64_t types = 0;
    while (model_formats[types])
        types++;
    model_open(m, plan->rows, columns);
    for (uint32_t i = 0; i < columns; i++) {
        char name[16];
        struct model_plan own = *plan;
        own.nulls = plan->nulls && test_below(t, 2) ? plan->nulls : 0;
        snprintf(name, sizeof name, "c%u", i);
        model_fill(t, m, i, name, model_formats[test_below(t, types)], &own);
    }
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

static double half_value(const unsigned char *bytes)
{
    uint16_t h;
    memcpy(&h, bytes, 2);
    double m = h & 0x3ff, sign = h >> 15 ? -1 : 1;
    int e = h >> 10 & 31;
    if (e == 31)
        return m != 0 ? NAN : sign * INFINITY;
    return sign * (e ? ldexp(m + 1024, e - 25) : ldexp(m, -24));
}

static double float_of(const char *format, const unsigned char *bytes)
{
    float f;
    double d;
    if (format[0] == 'e')
        return half_value(bytes);
    memcpy(&f, bytes, 4);
    if (format[0] == 'f')
        return f;
    memcpy(&d, bytes, 8);
    return d;
}

static int is_float(const char *format)
{
    return strchr("efg", format[0]) != NULL;
}

int cell_same(const char *format, struct cell a, struct cell b)
{
    if (!a.bytes || !b.bytes)
        return !a.bytes && !b.bytes;
    if (is_float(format)) {
        double x = float_of(format, a.bytes), y = float_of(format, b.bytes);
        return (isnan(x) && isnan(y)) || x == y;
    }
    return a.length == b.length && !memcmp(a.bytes, b.bytes, a.length);
}

static int order_integers(struct cell a, struct cell b, int is_signed)
{
    uint64_t top = a.length - 1;
    unsigned x = a.bytes[top] ^ (is_signed ? 0x80u : 0), y = b.bytes[top] ^ (is_signed ? 0x80u : 0);
    if (x != y)
        return x < y ? -1 : 1;
    for (uint64_t i = top; i-- > 0;)
        if (a.bytes[i] != b.bytes[i])
            return a.bytes[i] < b.bytes[i] ? -1 : 1;
    return 0;
}

int cell_order(const char *format, struct cell a, struct cell b)
{
    if (!a.bytes || !b.bytes)
        return (!a.bytes) - (!b.bytes);
    if (is_float(format)) {
        double x = float_of(format, a.bytes), y = float_of(format, b.bytes);
        if (isnan(x) || isnan(y))
            return (isnan(x) != 0) - (isnan(y) != 0);
        return (x > y) - (x < y);
    }
    if (format[0] == 'w' || !fixed_bytes(format)) {
        uint64_t both = a.length < b.length ? a.length : b.length;
        int order = memcmp(a.bytes, b.bytes, both);
        return order ? (order < 0 ? -1 : 1) : (a.length > b.length) - (a.length < b.length);
    }
    return order_integers(a, b, !strchr("bCSIL", format[0]));
}

void model_same(struct test *t, const struct model *a, const struct model *b)
{
    if (!EQUAL(t, a->rows, b->rows) || !EQUAL(t, a->columns, b->columns))
        return;
    for (uint32_t c = 0; c < a->columns; c++)
        for (uint64_t i = 0; i < a->rows; i++) {
            struct cell x = a->column[c].cell[i], y = b->column[c].cell[i];
            int same = (!x.bytes) == (!y.bytes) && x.length == y.length &&
                       (!x.bytes || !memcmp(x.bytes, y.bytes, x.length));
            REQUIREF(t, same, "column %u (%s), row %llu: %s and %s of %llu and %llu bytes", c,
                     a->column[c].format, (unsigned long long)i, x.bytes ? "a value" : "null",
                     y.bytes ? "a value" : "null", (unsigned long long)x.length,
                     (unsigned long long)y.length);
        }
}

cohort_frame *keys_frame(struct test *t, cohort_context *context, uint64_t n, const uint64_t *keys)
{
    cohort_array array = {"key", COHORT_U64, 0, keys, NULL};
    cohort_frame *frame = NULL;
    OK(t, cohort_frame_create(context, n, 1, &array, &frame));
    return frame;
}
