/* reads.c: a record of FASTQ always has the same number of bytes, so that all cores write their share of a
 * stretch of reads into one buffer. A read's letters follow from its number and the seed alone, as the
 * genome's do from their place. */
#define _XOPEN_SOURCE 700

#include "reads.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cli/parallel.h"
#include "keys.h"

enum { STRETCH = 1 << 16 };

reads_plan reads_plan_make(uint64_t bytes, double depth, double error, uint64_t seed)
{
    reads_plan plan = {bytes / READ_BYTES ? bytes / READ_BYTES : 1, 0, seed, error};
    plan.genome = (uint64_t)((double)plan.reads * READ_LETTERS / depth);
    plan.genome = plan.genome > READ_LETTERS ? plan.genome : READ_LETTERS + 1;
    return plan;
}

/* Two bits: A, C, G, T. */
static unsigned genome_letter(const reads_plan *plan, uint64_t place)
{
    return (unsigned)(bench_mix_64(bench_mix_64(plan->seed) + place / 32) >> 2 * (place % 32)) & 3;
}

static void read_make(const reads_plan *plan, uint64_t index, char *to)
{
    uint64_t state = bench_mix_64(plan->seed ^ 0x9e3779b97f4a7c15ull) + index * 0xd1342543de82ef95ull;
    uint64_t draw = bench_mix_64(state++), errors = (uint64_t)(plan->error * 0x1p32);
    uint64_t place = (uint64_t)(((bench_wide)draw * (plan->genome - READ_LETTERS)) >> 64);
    unsigned other_strand = draw & 1;
    char *quality = to + 12 + READ_LETTERS + 3;
    *to++ = '@';
    *to++ = 'r';
    for (uint64_t part = 100000000; part; part /= 10)
        *to++ = (char)('0' + index / part % 10);
    *to++ = '\n';
    for (unsigned i = 0; i < READ_LETTERS; i++) {
        uint64_t chance = bench_mix_64(state * 0x9e3779b97f4a7c15ull + i);
        int wrong = (chance & 0xffffffff) < errors;
        unsigned letter = other_strand ? 3 - genome_letter(plan, place + READ_LETTERS - 1 - i)
                                       : genome_letter(plan, place + i);
        letter = wrong ? (letter + 1 + (unsigned)(chance >> 32) % 3) & 3 : letter;
        to[i] = "ACGT"[letter];
        quality[i] = wrong ? '#' : (char)('A' + (chance >> 40) % 8);
    }
    memcpy(to + READ_LETTERS, "\n+\n", 3);
    quality[READ_LETTERS] = '\n';
}

typedef struct stretch {
    const reads_plan *plan;
    uint64_t first, n;
    char *to;
} stretch;

static void stretch_share(void *user, unsigned share, unsigned shares)
{
    const stretch *s = user;
    for (uint64_t i = parallel_first(s->n, share, shares); i < parallel_first(s->n, share + 1, shares); i++)
        read_make(s->plan, s->first + i, s->to + i * READ_BYTES);
}

int reads_write(const reads_plan *plan, const char *path, fault *fault)
{
    output *file;
    char *buffer = malloc((size_t)STRETCH * READ_BYTES);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!buffer)
        return fault_set(fault, CLI_FAILED, "bench count: no memory for reads");
    int status = output_open(&file, path, "--reads", fault);
    for (uint64_t first = 0; first < plan->reads && !status; first += STRETCH) {
        stretch s = {plan, first, plan->reads - first < STRETCH ? plan->reads - first : STRETCH, buffer};
        parallel_run(cores > 0 ? (unsigned)cores : 1, stretch_share, &s);
        status = output_write(file, buffer, s.n * READ_BYTES, fault);
    }
    free(buffer);
    return status ? status : output_close(file, fault);
}
