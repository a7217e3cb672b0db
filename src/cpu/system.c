/* system.c: the processor's name, its caches, and how much memory and how many cores there are for us, from
 * /proc and /sys. */
#define _GNU_SOURCE /* sched_getaffinity, CPU_ALLOC */
#include "system.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The rest of the first line of a file that begins with `key`, without blanks and colon before it and the
 * newline after. */
static int read_line(const char *path, const char *key, char *rest, size_t bytes)
{
    char line[512];
    int found = 0;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)))
            continue;
        const char *start = line + strlen(key);
        start += strspn(start, " \t:");
        snprintf(rest, bytes, "%.*s", (int)strcspn(start, "\n"), start);
        found = 1;
    }
    if (file)
        fclose(file);
    return found;
}

/* The number there, in bytes: "123 kB", "32768K", "16M" and "9" are understood. 0 if there is none. */
static uint64_t read_bytes(const char *path, const char *key)
{
    char text[64], *end;
    if (!read_line(path, key, text, sizeof text))
        return 0;
    uint64_t n = strtoull(text, &end, 10);
    end += strspn(end, " ");
    return *end == 'k' || *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

void system_processor(char *name, size_t bytes)
{
    struct utsname machine;
    if (read_line("/proc/cpuinfo", "model name", name, bytes))
        return;
    snprintf(name, bytes, "%s", uname(&machine) ? "processor" : machine.machine);
}

uint64_t system_cache_bytes(void)
{
    uint64_t most = 0;
    for (int i = 0; i < 8; i++) { /* the levels, smallest first, instructions' among them */
        char path[80];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        uint64_t n = read_bytes(path, "");
        most = n > most ? n : most;
    }
    long level3 = most ? 0 : sysconf(_SC_LEVEL3_CACHE_SIZE);
    return level3 > 0 ? (uint64_t)level3 : most;
}

/* ---- control groups: limits that batch systems and containers set -------------------------------------- */

struct group_limits {
    uint64_t memory, memory_left, cores;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t read_in(const char *folder, const char *file, const char *key)
{
    char path[1200];
    return snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path ? read_bytes(path, key) : 0;
}

/* What a group uses includes page cache, of which the inactive part can be dropped. No limit reads as 0 in
 * version 2 ("max"), as a very large number in version 1. */
static void memory_of_group(const char *folder, int version, struct group_limits *limits)
{
    uint64_t most = read_in(folder, version == 2 ? "memory.max" : "memory.limit_in_bytes", "");
    uint64_t used = read_in(folder, version == 2 ? "memory.current" : "memory.usage_in_bytes", "");
    uint64_t cache = read_in(folder, "memory.stat", version == 2 ? "inactive_file " : "total_inactive_file ");
    if (!most)
        return;
    used -= least(cache, used);
    limits->memory = least(most, limits->memory);
    limits->memory_left = least(most - least(used, most), limits->memory_left);
}

/* Microseconds of work in a period. No limit reads as 0 ("max") or as more than a period has. */
static void cores_of_group(const char *folder, int version, struct group_limits *limits)
{
    char path[1200], text[64];
    uint64_t quota = 0, period = 0;
    if (version == 1) {
        quota = read_in(folder, "cpu.cfs_quota_us", "");
        period = read_in(folder, "cpu.cfs_period_us", "");
    } else if (snprintf(path, sizeof path, "%s/cpu.max", folder) < (int)sizeof path &&
               read_line(path, "", text, sizeof text))
        sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period);
    if (quota && period)
        limits->cores = least(quota / period + (quota % period != 0), limits->cores);
}

typedef void visit_group(const char *folder, int version, struct group_limits *limits);

/* The group and those above it. */
static void visit_up(const char *root, char *path, int version, visit_group *visit,
                     struct group_limits *limits)
{
    char folder[1100];
    for (;;) {
        if (snprintf(folder, sizeof folder, "%s%s", root, path) < (int)sizeof folder)
            visit(folder, version, limits);
        char *last = strrchr(path, '/');
        if (!last)
            return;
        *last = 0;
    }
}

/* Every group of this process that the controller has a say in: lines "4:memory:/path", "3:cpu,cpuacct:/path"
 * in version 1, "0::/path" in version 2. */
static void visit_groups(const char *controller, visit_group *visit, struct group_limits *limits)
{
    char line[1024], root[64];
    FILE *file = fopen("/proc/self/cgroup", "re");
    snprintf(root, sizeof root, "/sys/fs/cgroup/%s", controller);
    while (file && fgets(line, sizeof line, file)) {
        char *names = strchr(line, ':'), *path = names ? strchr(++names, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        if (!*names)
            visit_up("/sys/fs/cgroup", path, 2, visit, limits);
        else if (!strncmp(names, controller, strlen(controller)) && strchr(",", names[strlen(controller)]))
            visit_up(root, path, 1, visit, limits);
    }
    if (file)
        fclose(file);
}

void system_memory(uint64_t *all, uint64_t *available)
{
    struct group_limits limits = {.memory = read_bytes("/proc/meminfo", "MemTotal:"),
                                  .memory_left = read_bytes("/proc/meminfo", "MemAvailable:")};
    visit_groups("memory", memory_of_group, &limits);
    *all = limits.memory;
    *available = limits.memory_left;
}

/* ---- cores --------------------------------------------------------------------------------------------- */

static uint64_t cores_of_affinity(void)
{
    for (size_t cpus = 1024; cpus <= 1u << 20; cpus *= 2) { /* a mask too small for the machine is refused */
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set)
            break;
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        int cores = sched_getaffinity(0, bytes, set) ? 0 : CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (cores > 0)
            return (uint64_t)cores;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint64_t)online : 1;
}

unsigned system_cores(void)
{
    struct group_limits limits = {.cores = cores_of_affinity()};
    visit_groups("cpu", cores_of_group, &limits);
    return (unsigned)limits.cores;
}
