/* results.c: files of figures read back, ours and peers'. Both are objects with "rows"; a peer's says who it
 * is in "peer": {"name", "version", "date", "machine"}, of the whole file or of a row. What is missing in a
 * row is empty or zero, except its name and its median. */
#include "bench.h"

#include <errno.h>
#include <string.h>

#ifdef COHORT_JANSSON
#    include <jansson.h>

static void text_take(char *to, size_t room, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text)
        snprintf(to, room, "%s", text);
}

static double number_of(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static uint64_t whole_of(const json_t *object, const char *key)
{
    double value = number_of(object, key, 0);
    return value > 0 && value < 1e18 ? (uint64_t)(value + 0.5) : 0;
}

static void peer_take(bench_row *row, const json_t *peer)
{
    text_take(row->peer, sizeof row->peer, peer, "name");
    text_take(row->version, sizeof row->version, peer, "version");
    text_take(row->date, sizeof row->date, peer, "date");
    text_take(row->machine, sizeof row->machine, peer, "machine");
}

static int row_take(bench_rows *rows, json_t *object, const json_t *peer, size_t index, const char *from,
                    fault *fault)
{
    bench_row row = {0};
    const char *key;
    json_t *value;
    text_take(row.experiment, sizeof row.experiment, object, "experiment");
    text_take(row.name, sizeof row.name, object, "name");
    text_take(row.width, sizeof row.width, object, "width");
    text_take(row.keys, sizeof row.keys, object, "keys");
    text_take(row.variant, sizeof row.variant, object, "variant");
    text_take(row.at_name, sizeof row.at_name, object, "at_name");
    text_take(row.unit, sizeof row.unit, object, "unit");
    text_take(row.limit_name, sizeof row.limit_name, object, "limit");
    row.at = number_of(object, "at", 0);
    row.n = whole_of(object, "n");
    row.threads = whole_of(object, "threads");
    row.runs = whole_of(object, "runs");
    row.load = number_of(object, "load", BENCH_NO_LOAD);
    row.scale = number_of(object, "scale", 1e-9);
    row.median = number_of(object, "median", 0);
    row.least = number_of(object, "least", row.median);
    row.most = number_of(object, "most", row.median);
    row.limit = number_of(object, "limit_rate", 0);
    json_object_foreach(json_object_get(object, "extras"), key, value)
        bench_extra_set(&row, key, json_number_value(value));
    peer_take(&row, peer);
    peer_take(&row, json_object_get(object, "peer"));
    if (!*row.unit)
        snprintf(row.unit, sizeof row.unit, "G/s");
    if (!*row.name || !(row.median > 0) ||
        !(row.least > 0 && row.least <= row.median && row.median <= row.most))
        return fault_set(fault, CLI_BAD_INPUT, "%s: row %zu: needs a name, and 0 < least <= median <= most",
                         from, index);
    return bench_rows_add(rows, &row, fault);
}

static int results_take(bench_results *results, const json_t *root, const char *from, fault *fault)
{
    const cohort_limits none = COHORT_LIMITS_INIT;
    bench_limit list[BENCH_LIMITS];
    json_t *rows = json_object_get(root, "rows"), *row;
    size_t i;
    if (!json_is_array(rows))
        return fault_set(fault, CLI_BAD_INPUT, "%s: no file of figures: it has no \"rows\"", from);
    text_take(results->device, sizeof results->device, root, "device");
    text_take(results->commit, sizeof results->commit, root, "commit");
    text_take(results->date, sizeof results->date, root, "date");
    text_take(results->command, sizeof results->command, root, "command");
    bench_limits_list(list, &none);
    for (i = 0; i < BENCH_LIMITS; i++)
        results->limits[i] = number_of(json_object_get(root, "per_second"), list[i].key, 0);
    json_array_foreach(rows, i, row) if (row_take(&results->rows, row, json_object_get(root, "peer"), i, from,
                                                  fault)) return fault->status;
    return CLI_OK;
}

int bench_results_parse(bench_results *results, const char *text, size_t bytes, const char *from,
                        fault *fault)
{
    json_error_t error;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return fault_set(fault, CLI_BAD_INPUT, "%s:%d: no JSON: %s", from, error.line, error.text);
    int status = results_take(results, root, from, fault);
    json_decref(root);
    return status;
}

int bench_results_read(bench_results *results, const char *path, const char *argument, fault *fault)
{
    json_error_t error;
    char from[1024];
    FILE *file = fopen(path, "r");
    if (!file)
        return fault_set(fault, CLI_BAD_INPUT, "%s %s: cannot open: %s", argument, path, strerror(errno));
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    fclose(file);
    if (!root)
        return fault_set(fault, CLI_BAD_INPUT, "%s %s:%d: no JSON: %s", argument, path, error.line,
                         error.text);
    snprintf(from, sizeof from, "%s %s", argument, path);
    int status = results_take(results, root, from, fault);
    json_decref(root);
    return status;
}

int bench_results_possible(void)
{
    return 1;
}

#else

static int not_built(const char *from, fault *fault)
{
    return fault_set(fault, CLI_BAD_INPUT,
                     "%s: this build reads no JSON: libjansson was not there (Debian: libjansson-dev)", from);
}

int bench_results_parse(bench_results *results, const char *text, size_t bytes, const char *from,
                        fault *fault)
{
    return (void)results, (void)text, (void)bytes, not_built(from, fault);
}

int bench_results_read(bench_results *results, const char *path, const char *argument, fault *fault)
{
    return (void)results, (void)path, not_built(argument, fault);
}

int bench_results_possible(void)
{
    return 0;
}

#endif
