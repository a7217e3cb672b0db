/* frame_type.c: Arrow's format strings: which of them frames have, and which two can be compared. */
#include "core/column.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plain {
    char format[4], name[13];
    struct table_type type;
};

static const struct plain plain[] = {
    {"b", "bool", {TABLE_BITS, TABLE_UNSIGNED, 0, 1}},
    {"c", "int8", {TABLE_FIXED, TABLE_SIGNED, 1, 1}},
    {"C", "uint8", {TABLE_FIXED, TABLE_UNSIGNED, 1, 1}},
    {"s", "int16", {TABLE_FIXED, TABLE_SIGNED, 2, 1}},
    {"S", "uint16", {TABLE_FIXED, TABLE_UNSIGNED, 2, 1}},
    {"i", "int32", {TABLE_FIXED, TABLE_SIGNED, 4, 1}},
    {"I", "uint32", {TABLE_FIXED, TABLE_UNSIGNED, 4, 1}},
    {"l", "int64", {TABLE_FIXED, TABLE_SIGNED, 8, 1}},
    {"L", "uint64", {TABLE_FIXED, TABLE_UNSIGNED, 8, 1}},
    {"e", "float16", {TABLE_FIXED, TABLE_FLOAT, 2, 1}},
    {"f", "float32", {TABLE_FIXED, TABLE_FLOAT, 4, 1}},
    {"g", "float64", {TABLE_FIXED, TABLE_FLOAT, 8, 1}},
    {"tdD", "date", {TABLE_FIXED, TABLE_SIGNED, 4, 0}},
    {"tdm", "date64", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"tts", "time[s]", {TABLE_FIXED, TABLE_SIGNED, 4, 0}},
    {"ttm", "time[ms]", {TABLE_FIXED, TABLE_SIGNED, 4, 0}},
    {"ttu", "time[us]", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"ttn", "time[ns]", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"tDs", "duration[s]", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"tDm", "duration[ms]", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"tDu", "duration[us]", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"tDn", "duration[ns]", {TABLE_FIXED, TABLE_SIGNED, 8, 0}},
    {"u", "string", {TABLE_OFFSETS_32, TABLE_BYTES, 0, 0}},
    {"z", "binary", {TABLE_OFFSETS_32, TABLE_BYTES, 0, 0}},
    {"U", "string", {TABLE_OFFSETS_64, TABLE_BYTES, 0, 0}},
    {"Z", "binary", {TABLE_OFFSETS_64, TABLE_BYTES, 0, 0}},
    {"vu", "string", {TABLE_VIEWS, TABLE_BYTES, 0, 0}},
    {"vz", "binary", {TABLE_VIEWS, TABLE_BYTES, 0, 0}},
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

const char *table_type_name(const char *format, char own[TYPE_TEXT])
{
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (!strcmp(format, plain[i].format))
            return plain[i].name;
    if (is_timestamp(format))
        snprintf(own, TYPE_TEXT, format[4] ? "timestamp[%c%s, %.24s]" : "timestamp[%c%s]", format[2],
                 format[2] == 's' ? "" : "s", format + 4);
    else if (is_decimal(format))
        snprintf(own, TYPE_TEXT, "decimal(%d, %d)", atoi(format + 2), atoi(strchr(format, ',') + 1));
    else if (fixed_bytes(format) > 0)
        snprintf(own, TYPE_TEXT, "binary(%lld)", (long long)fixed_bytes(format));
    else
        snprintf(own, TYPE_TEXT, "%.40s", format);
    return own;
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
