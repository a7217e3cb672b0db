/* open.c: the simulated GPU as a device string asks for it: "42", "42,schedule=pct,arch=80". */
#include "device.h"

#include <stdlib.h>
#include <string.h>

static int word_of(const char *value, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(value, names[i]))
            return i;
    return -1;
}

/* One option, "name=value"; 0 if there is none of this kind. */
static int set_option(struct device *d, size_t *limit, const char *name, const char *value)
{
    static const char *const kinds[] = {"random", "pct", "lane", "warp", "search", "any"};
    static const char *const memories[] = {"auto", "weak", "strong"};
    struct sim_schedule *s = &d->schedule;
    char *end;
    uint64_t n = strtoull(value, &end, 0);
    int word = -1, number = *value && !*end && n > 0;
    if (!strcmp(name, "schedule")) {
        word = word_of(value, kinds, 6);
        s->kind = (enum sim_kind)word;
        return word >= 0 && word != SIM_SEARCH;
    }
    if (!strcmp(name, "memory")) {
        word = word_of(value, memories, 3);
        s->memory = (enum sim_memory)word;
        return word >= 0;
    }
    if (!strcmp(name, "arch"))
        s->architecture = (unsigned)n;
    else if (!strcmp(name, "sm"))
        d->multiprocessors = (unsigned)n;
    else if (!strcmp(name, "bytes"))
        *limit = n;
    else if (!strcmp(name, "burst"))
        s->burst = (unsigned)n;
    else if (!strcmp(name, "depth"))
        s->depth = (unsigned)n;
    else if (!strcmp(name, "live"))
        s->live = (unsigned)n;
    else if (!strcmp(name, "steps"))
        s->steps = n;
    else
        return 0;
    return number;
}

static int parse(struct device *d, size_t *limit, const char *rest, const char **why)
{
    static _Thread_local char complaint[200];
    char text[sizeof d->text], *end, *save = NULL;
    if (snprintf(text, sizeof text, "%s", rest) >= (int)sizeof text) {
        *why = "the simulated GPU's options are too long";
        return -1;
    }
    d->schedule.seed = strtoull(text, &end, 0);
    if ((end == text && *text) || (*end && *end != ',')) {
        *why = "the simulated GPU's seed is not a number: sim:SEED[,option=value]...";
        return -1;
    }
    for (char *o = strtok_r(end, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
        char *value = strchr(o, '=');
        if (value)
            *value++ = 0;
        if (value && set_option(d, limit, o, value))
            continue;
        snprintf(complaint, sizeof complaint,
                 "the simulated GPU has no option \"%.60s\", or not with the value \"%.60s\"", o,
                 value ? value : "");
        *why = complaint;
        return -1;
    }
    return 0;
}

const struct cuda_driver *sim_open(const char *rest, const char **why)
{
    struct device d = {.schedule = SIM_SCHEDULE_INIT, .multiprocessors = 2};
    size_t limit = (size_t)1 << 30;
    d.schedule.kind = SIM_ANY;
    d.schedule.architecture = 90;
    rest = rest ? rest : "";
    if (parse(&d, &limit, rest, why))
        return NULL;
    device_lock();
    if (arena_open()) {
        *why = "no memory for the simulated GPU";
        device_unlock();
        return NULL;
    }
    snprintf(d.text, sizeof d.text, "%s", rest);
    d.random = d.schedule.seed;
    if (device.references) { /* contexts are alive: their launches go on counting */
        d.references = device.references;
        d.launches = device.launches;
        d.random = device.random;
        d.error = device.error;
        d.nanoseconds = device.nanoseconds;
    }
    device = d;
    arena.limit = limit;
    device_unlock();
    return &device_table;
}
