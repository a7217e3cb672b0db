/* lists.c: options whose value is a list, words with commas between. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

int bench_list_next(const char **list, char word[32])
{
    size_t n = strcspn(*list, ",");
    if (!**list)
        return 0;
    snprintf(word, 32, "%.*s", (int)(n < 31 ? n : 31), *list);
    *list += n + ((*list)[n] == ',');
    return 1;
}

int bench_listed(const char *list, const char *word)
{
    for (size_t n = strlen(word); list && *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == n && !memcmp(list, word, n))
            return 1;
    return !list;
}

/* The number that a word begins with, and what comes after it. NULL: none. */
static const char *number_read(const char *word, double *out)
{
    char *end;
    *out = strtod(word, &end);
    return end == word ? NULL : end;
}

static int number_take(const char *option, const char *word, double least, double most, double *out,
                       fault *fault)
{
    const char *end = number_read(word, out);
    if (!end || *end || !(*out >= least && *out <= most))
        return fault_set(fault, CLI_BAD_INPUT, "%s %s: must be a number from %.12g to %.12g", option, word,
                         least, most);
    return CLI_OK;
}

static int whole_take(const char *option, const char *word, double least, double most, uint64_t *out,
                      fault *fault)
{
    double number;
    const char *end = number_read(word, &number);
    if (end && *end && size_unit(*end))
        number *= (double)size_unit(*end++);
    if (!end || *end || !(number >= least && number <= most) || number != (double)(uint64_t)number)
        return fault_set(fault, CLI_BAD_INPUT, "%s %s: must be a whole number from %.12g to %.12g", option,
                         word, least, most);
    *out = (uint64_t)number;
    return CLI_OK;
}

static int too_many(const char *option, const char *list, size_t room, fault *fault)
{
    return fault_set(fault, CLI_BAD_INPUT, "%s %s: more than %zu numbers", option, list, room);
}

int bench_numbers_take(const char *option, const char *list, double least, double most, double *out,
                       size_t room, size_t *count, fault *fault)
{
    char word[32];
    const char *rest = list;
    for (*count = 0; bench_list_next(&rest, word); (*count)++)
        if (*count == room)
            return too_many(option, list, room, fault);
        else if (number_take(option, word, least, most, &out[*count], fault))
            return fault->status;
    return CLI_OK;
}

int bench_wholes_take(const char *option, const char *list, double least, double most, uint64_t *out,
                      size_t room, size_t *count, fault *fault)
{
    char word[32];
    const char *rest = list;
    for (*count = 0; bench_list_next(&rest, word); (*count)++)
        if (*count == room)
            return too_many(option, list, room, fault);
        else if (whole_take(option, word, least, most, &out[*count], fault))
            return fault->status;
    return CLI_OK;
}

/* The index of the word among `names`; `count` if it is none of them. */
static size_t name_find(const char *word, const char *const *names, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(word, names[i]))
        i++;
    return i;
}

int bench_names_take(const char *option, const char *list, const char *const *names, size_t names_count,
                     unsigned *out, size_t *count, fault *fault)
{
    char word[32], all[512] = "";
    for (size_t i = 0, n = 0; i < names_count && n < sizeof all; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s",
                              !i                     ? ""
                              : i + 1 == names_count ? " or "
                                                     : ", ",
                              names[i]);
    for (*count = 0; bench_list_next(&list, word); (*count)++) {
        size_t i = name_find(word, names, names_count);
        if (i == names_count)
            return fault_set(fault, CLI_BAD_INPUT, "%s %s: must be %s", option, word, all);
        if (*count == names_count)
            return fault_set(fault, CLI_BAD_INPUT, "%s %s: more than %zu", option, word, names_count);
        out[*count] = (unsigned)i;
    }
    return CLI_OK;
}
