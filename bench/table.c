/* table.c: what people read: the machine, the rows, who the peers are. */
#include "bench.h"

#include <math.h>
#include <string.h>

void bench_print_heading(void)
{
    printf("\n%-24s %-6s %-26s %13s %3s %5s  %8s %-6s %-15s %-14s %s\n", "", "width", "keys", "n", "thr",
           "load", "median", "", "least - most", "of the limit", "of the best peer");
}

static void extras_text(char *to, size_t room, const bench_row *r)
{
    size_t n = 0;
    *to = 0;
    for (size_t i = 0; i < BENCH_EXTRAS && *r->extras[i].name && n < room; i++)
        n += (size_t)snprintf(to + n, room - n, "%s%s %.10g", i ? ", " : "", r->extras[i].name,
                              r->extras[i].value < 1e4 ? round(r->extras[i].value * 1e3) / 1e3
                                                       : round(r->extras[i].value));
}

void bench_print_row(const bench_row *r, const bench_row *best)
{
    char n[TEXT_NUMBER_BYTES], load[16] = "", keys[80], spread[40], limit[48] = "", peer[96] = "",
                               extras[400], threads[24] = "", name[72];
    if (r->load >= 0)
        snprintf(load, sizeof load, "%.2f", r->load);
    snprintf(name, sizeof name, "%s%s%s", r->name, *r->variant ? " " : "", r->variant);
    snprintf(keys, sizeof keys, "%s", r->keys);
    if (*r->at_name)
        snprintf(keys, sizeof keys, "%s, %s %g", r->keys, r->at_name, r->at);
    if (r->limit > 0)
        snprintf(limit, sizeof limit, "%.2f %s", r->median / r->limit, r->limit_name);
    if (*r->peer)
        snprintf(peer, sizeof peer, "<- %s", r->peer);
    else if (best)
        snprintf(peer, sizeof peer, "%.2f %s", r->median / best->median, best->peer);
    if (r->threads)
        snprintf(threads, sizeof threads, "%llu", (unsigned long long)r->threads);
    snprintf(spread, sizeof spread, "%.4g - %.4g", r->least * r->scale, r->most * r->scale);
    extras_text(extras, sizeof extras, r);
    printf("%-24s %-6s %-26s %13s %3s %5s  %8.4g %-6s %-15s %-14s %s%s%s\n", name, r->width, keys,
           text_grouped(n, r->n), threads, load, r->median * r->scale, r->unit, spread, limit, peer,
           *peer && *extras ? "  " : "", extras);
    fflush(stdout);
}

static void print_peer(const bench_row *r)
{
    printf("  %s%s%s%s%s%s%s\n", r->peer, *r->version ? " " : "", r->version, *r->date ? ", " : "", r->date,
           *r->machine ? ", on " : "", r->machine);
}

static int told(const bench_rows *peers, size_t i)
{
    const bench_row *r = &peers->row[i];
    for (size_t j = 0; j < i; j++)
        if (!strcmp(peers->row[j].peer, r->peer) && !strcmp(peers->row[j].version, r->version) &&
            !strcmp(peers->row[j].date, r->date) && !strcmp(peers->row[j].machine, r->machine))
            return 1;
    return 0;
}

void bench_print_peers(const bench_rows *rows, const bench_rows *peers)
{
    size_t beside = 0;
    for (size_t i = 0; i < rows->count; i++)
        beside += !*rows->row[i].peer && bench_rows_best(peers, &rows->row[i]);
    if (!peers->count)
        return;
    printf("\npeers, beside %zu of %zu rows:\n", beside, rows->count);
    for (size_t i = 0; i < peers->count; i++)
        if (!told(peers, i))
            print_peer(&peers->row[i]);
}

void bench_limits_list(bench_limit list[BENCH_LIMITS], const cohort_limits *limits)
{
    const bench_limit all[BENCH_LIMITS] = {
        {"copy, read and written", "copy_bytes", "GB/s", limits->copy_bytes, 1e-9},
        {"random reads, 32 bytes", "random_reads_32", "G/s", limits->random_reads_32, 1e-9},
        {"random reads, 8 bytes", "random_reads_8", "G/s", limits->random_reads_8, 1e-9},
        {"random compare-and-swaps, 8 bytes", "random_cas_8", "G/s", limits->random_cas_8, 1e-9},
        {"cached reads, 32 bytes", "cached_reads_32", "G/s", limits->cached_reads_32, 1e-9},
        {"cached compare-and-swaps, 8 bytes", "cached_cas_8", "G/s", limits->cached_cas_8, 1e-9},
        {"link to the device", "link_to_device", "GB/s", limits->link_to_device, 1e-9},
        {"link from the device", "link_from_device", "GB/s", limits->link_from_device, 1e-9},
        {"link, both at once", "link_both", "GB/s", limits->link_both, 1e-9},
    };
    memcpy(list, all, sizeof all);
}

void bench_print_machine(const bench_device *d)
{
    bench_limit list[BENCH_LIMITS];
    char table[TEXT_NUMBER_BYTES], text[TEXT_NUMBER_BYTES];
    bench_limits_list(list, &d->limits);
    printf("%s (%s, %s %s)\n", d->info.device, d->info.backend, text_grouped(text, d->info.threads),
           d->cpu ? "threads" : "multiprocessors");
    if (!(d->limits.copy_bytes > 0))
        return;
    printf("limits, with a table of %s\n", text_bytes(table, d->limits.table_bytes));
    for (size_t i = 0; i < BENCH_LIMITS; i++) {
        double value = list[i].value * list[i].scale;
        if (list[i].value > 0)
            printf("  %-36s %10.*f %s\n", list[i].name,
                   value < 10    ? 3
                   : value < 100 ? 2
                                 : 1,
                   value, list[i].unit);
        else
            printf("  %-36s %10s\n", list[i].name, "-");
    }
    fflush(stdout);
}
