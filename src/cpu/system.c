/* system.c: the processor's name, its caches, and how much memory there is, from /proc and /sys. */
#include "system.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The rest of the first line of a file that begins with `key`, without blanks and colon before it and the newline after. */
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

/* Narrows both by a control group's limit. What it uses includes page cache, of which the inactive part can be dropped. */
static void narrow(const char *limit, const char *used, const char *stat, const char *inactive, uint64_t *all,
                   uint64_t *available)
{
    uint64_t most = read_bytes(limit, "");
    if (!most || most >= *all) /* "max" reads as 0, version 1's "none" as a very large number */
        return;
    uint64_t taken = read_bytes(used, ""), cache = read_bytes(stat, inactive);
    taken -= cache < taken ? cache : taken;
    uint64_t left = taken < most ? most - taken : 0;
    *all = most;
    *available = left < *available ? left : *available;
}

void system_memory(uint64_t *all, uint64_t *available)
{
    *all = read_bytes("/proc/meminfo", "MemTotal");
    *available = read_bytes("/proc/meminfo", "MemAvailable");
    narrow("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
           "inactive_file", all, available);
    narrow("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
           "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file", all, available);
}
