/* The argument reader: a table of options, read strictly. Every error names the argument and its value. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

uint64_t size_unit(char suffix)
{
    return suffix == 'K' || suffix == 'k' ? 1000 : suffix == 'M' ? 1000000 : suffix == 'G' ? 1000000000 : 0;
}

/* Digits only, no sign, no space; a suffix if `sizes`. 0 if the text is no such number or does not fit. */
static int number_read(const char *text, int sizes, uint64_t *out)
{
    uint64_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    if (c == text)
        return 0;
    uint64_t unit = 1;
    if (sizes && *c) {
        unit = size_unit(*c);
        c++;
    }
    if (*c || !unit || value > UINT64_MAX / unit)
        return 0;
    *out = value * unit;
    return 1;
}

static int value_take(arg *arg, const char *text, fault *fault)
{
    if (arg->kind == ARG_TEXT) {
        if (!*text)
            return fault_set(fault, CLI_BAD_INPUT, "%s: its value is empty", arg->name);
        *(const char **)arg->value = text;
        return CLI_OK;
    }
    if (arg->kind == ARG_TEXTS) {
        arg_texts *texts = arg->value;
        if (!*text)
            return fault_set(fault, CLI_BAD_INPUT, "%s: its value is empty", arg->name);
        if (texts->n == sizeof texts->text / sizeof texts->text[0])
            return fault_set(fault, CLI_BAD_INPUT, "%s %s: given more than %zu times", arg->name, text,
                             texts->n);
        texts->text[texts->n++] = text;
        return CLI_OK;
    }
    uint64_t number;
    if (number_read(text, arg->kind == ARG_SIZE, &number) && number >= arg->min && number <= arg->max) {
        *(uint64_t *)arg->value = number;
        return CLI_OK;
    }
    if (arg->max == UINT64_MAX)
        return fault_set(fault, CLI_BAD_INPUT, "%s %s: must be a whole number, at least %llu", arg->name,
                         text, (unsigned long long)arg->min);
    return fault_set(fault, CLI_BAD_INPUT, "%s %s: must be a whole number from %llu to %llu", arg->name, text,
                     (unsigned long long)arg->min, (unsigned long long)arg->max);
}

static arg *arg_find(arg *args, size_t n, const char *text, size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(args[i].name) == length && !memcmp(args[i].name, text, length))
            return &args[i];
    return NULL;
}

int args_read(arg *args, size_t n, int argc, char **argv, size_t *rest, fault *fault)
{
    size_t kept = 0;
    int i = 0;
    for (; i < argc && strcmp(argv[i], "--"); i++) {
        if (argv[i][0] != '-' || !argv[i][1]) {
            argv[kept++] = argv[i];
            continue;
        }
        size_t length = strcspn(argv[i], "=");
        const char *value = argv[i][length] ? argv[i] + length + 1 : NULL;
        arg *arg = arg_find(args, n, argv[i], length);
        if (!arg)
            return fault_set(fault, CLI_BAD_INPUT, "%.*s: no such option", (int)length, argv[i]);
        if (arg->given && arg->kind != ARG_TEXTS)
            return fault_set(fault, CLI_BAD_INPUT, "%s: given twice", arg->name);
        arg->given = 1;
        if (arg->kind == ARG_FLAG) {
            if (value)
                return fault_set(fault, CLI_BAD_INPUT, "%s: takes no value", argv[i]);
            *(int *)arg->value = 1;
            continue;
        }
        if (!value && ++i == argc)
            return fault_set(fault, CLI_BAD_INPUT, "%s: needs a value", arg->name);
        int status = value_take(arg, value ? value : argv[i], fault);
        if (status)
            return status;
    }
    for (i++; i < argc; i++)
        argv[kept++] = argv[i];
    *rest = kept;
    return CLI_OK;
}
