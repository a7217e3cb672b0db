/* frame_type.c: Arrow's format strings: which of them frames have, and which two can be compared. */
#include "core/column.h"

#include <ctype.h>
#include <string.h>

struct plain {
    char format[4];
    struct table_type type;
};

static const struct plain plain[] = {
    {"b", {TABLE_BITS, TABLE_UNSIGNED, 0, 1}},    {"c", {TABLE_FIXED, TABLE_SIGNED, 1, 1}},
    {"C", {TABLE_FIXED, TABLE_UNSIGNED, 1, 1}},   {"s", {TABLE_FIXED, TABLE_SIGNED, 2, 1}},
    {"S", {TABLE_FIXED, TABLE_UNSIGNED, 2, 1}},   {"i", {TABLE_FIXED, TABLE_SIGNED, 4, 1}},
    {"I", {TABLE_FIXED, TABLE_UNSIGNED, 4, 1}},   {"l", {TABLE_FIXED, TABLE_SIGNED, 8, 1}},
    {"L", {TABLE_FIXED, TABLE_UNSIGNED, 8, 1}},   {"e", {TABLE_FIXED, TABLE_FLOAT, 2, 1}},
    {"f", {TABLE_FIXED, TABLE_FLOAT, 4, 1}},      {"g", {TABLE_FIXED, TABLE_FLOAT, 8, 1}},
    {"tdD", {TABLE_FIXED, TABLE_SIGNED, 4, 0}},   {"tdm", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"tts", {TABLE_FIXED, TABLE_SIGNED, 4, 0}},   {"ttm", {TABLE_FIXED, TABLE_SIGNED, 4, 0}},
    {"ttu", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},   {"ttn", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"tDs", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},   {"tDm", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"tDu", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},   {"tDn", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"u", {TABLE_OFFSETS_32, TABLE_BYTES, 0, 0}}, {"z", {TABLE_OFFSETS_32, TABLE_BYTES, 0, 0}},
    {"U", {TABLE_OFFSETS_64, TABLE_BYTES, 0, 0}}, {"Z", {TABLE_OFFSETS_64, TABLE_BYTES, 0, 0}},
    {"vu", {TABLE_VIEWS, TABLE_BYTES, 0, 0}},     {"vz", {TABLE_VIEWS, TABLE_BYTES, 0, 0}},
};

static int is_timestamp(const char *format)
{
    return !strncmp(format, "ts", 2) && format[2] && strchr("smun", format[2]) && format[3] == ':';
}

/* A decimal number of at most `digits` digits at *at, which is left behind it. -1: there is none. */
static int64_t number(const char **at, int digits)
{
    int64_t value = 0;
    if (!isdigit((unsigned char)**at))
        return -1;
    for (; isdigit((unsigned char)**at); (*at)++) {
        if (!digits--)
            return -1;
        value = value * 10 + (**at - '0');
    }
    return value;
}

/* d:PRECISION,SCALE[,128] */
static int is_decimal(const char *format)
{
    const char *at = format + 2;
    if (strncmp(format, "d:", 2))
        return 0;
    int64_t precision = number(&at, 2);
    if (precision < 1 || precision > 38 || *at++ != ',')
        return 0;
    at += *at == '-';
    return number(&at, 3) >= 0 && (!*at || !strcmp(at, ",128"));
}

/* w:BYTES */
static int64_t fixed_bytes(const char *format)
{
    const char *at = format + 2;
    if (strncmp(format, "w:", 2))
        return -1;
    int64_t bytes = number(&at, 9);
    return *at ? -1 : bytes;
}

int table_type_parse(const char *format, struct table_type *type)
{
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (format[0] == plain[i].format[0] && !strcmp(format, plain[i].format)) {
            *type = plain[i].type;
            return 1;
        }
    if (is_timestamp(format)) {
        *type = (struct table_type){TABLE_FIXED, TABLE_SIGNED, 8, 0};
        return 1;
    }
    if (is_decimal(format)) {
        *type = (struct table_type){TABLE_FIXED, TABLE_SIGNED, 16, 1};
        return 1;
    }
    int64_t bytes = fixed_bytes(format);
    *type = (struct table_type){TABLE_FIXED, TABLE_BYTES, bytes > 0 ? (co_u32)bytes : 0, 0};
    return bytes > 0;
}

/* u or z for strings in whatever layout, else 0. */
static char string_kind(const char *format)
{
    const char *at = format[0] == 'v' ? format + 1 : format;
    return at[0] && !at[1] && strchr("uUzZ", at[0]) ? (char)tolower((unsigned char)at[0]) : 0;
}

/* The scale of two decimals decides, not the precision. */
static int same_scale(const char *a, const char *b)
{
    const char *x = strchr(a, ',') + 1, *y = strchr(b, ',') + 1;
    return strtol(x, NULL, 10) == strtol(y, NULL, 10);
}

int table_types_agree(const char *a, const char *b)
{
    if (!strcmp(a, b))
        return 1;
    if (string_kind(a) || string_kind(b))
        return string_kind(a) == string_kind(b);
    if (is_timestamp(a) && is_timestamp(b))
        return a[2] == b[2] && !a[4] == !b[4];
    if (is_decimal(a) && is_decimal(b))
        return same_scale(a, b);
    return 0;
}
