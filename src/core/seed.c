/* seed.c: where seeds of hashes come from. */
#include "core/seed.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>

static uint64_t fixed_seed;
static int is_fixed;

void seed_draw_fix(const uint64_t *seed)
{
    is_fixed = seed != NULL;
    fixed_seed = seed ? *seed : 0;
}

uint64_t seed_draw(void)
{
    uint64_t seed;
    if (is_fixed)
        return fixed_seed;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        seed = ((uint64_t)t.tv_nsec ^ (uint64_t)(uintptr_t)&seed) * 0xd6e8feb86659fd93ull;
        seed = (seed ^ seed >> 32 ^ (uint64_t)t.tv_sec) * 0xd6e8feb86659fd93ull;
        seed ^= seed >> 32;
    }
    return seed;
}

static uint64_t of_process;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void draw_once(void)
{
    of_process = seed_draw();
}

uint64_t seed_of_process(void)
{
    pthread_once(&once, draw_once);
    return of_process;
}

void seed_fix(uint64_t seed)
{
    pthread_once(&once, draw_once);
    of_process = seed;
}
