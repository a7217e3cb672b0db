/* cpu/combine.c: entries of equal keys become one, in a small table a thread, before they go to a map.
 *
 * Where few keys come often, as with sums by key, a map's slots are contended for by threads, and an
 * operation by whole words on a slot costs several times an addition in a table of one's own that is in
 * the cache. So each thread has such a table (combine_width.h). An entry whose key is in it, or finds
 * room, is combined; others go on as they are. What tables hold goes on when they are emptied, at the end.
 *
 * Whether that pays, and how large tables must be, a sample tells: of 4,096 entries drawn from all over
 * the batch it counts keys, those that came once, f1, and twice, f2. There are about d + f1^2 / (2 (f2 +
 * 1)) keys then (Chao, Scand. J. Statist. 11, 1984; a lower bound where some keys are much more frequent
 * than others). If all of them may be held, tables are for them; if there are many more but some come
 * again and again, tables take the 28,672 keys that come first, most of which are those; else nothing is
 * combined. That a sample was wrong, or that the batch changes, shows in entries that find no room: the
 * caller sees to that. */
#include "combine.h"

#include <string.h>

#define SAMPLE       4096u
#define SAMPLE_LEAST 256u         /* entries that take part, of them */
#define REPEATS      80u          /* one of so many must have come before */
#define OFTEN        4u           /* and of so many, for tables that would be too small for all */
#define TAGS         (2 * SAMPLE) /* a power of two */
#define LEAST_BITS   11u          /* keys a table has room for: what fits in a first cache, */
#define FEW_KEYS     128u         /* keys that are very few */
#define MOST_BITS    18u          /* or costs less than a map's slots, */
#define HOT_BITS     15u          /* or fits in a second one */
#define GROWS        1u           /* bits */
#define ENTRIES      4u           /* for each key of each thread, at least */
#define ROOM         (1ull << 22) /* entries */
#define FILLED       7u           /* eighths of a table, at most */
#define GRAIN        8192u

struct state {
    const struct cpu_combine_loops *loops;
    struct cpu_combiner *worker;
    unsigned workers, bits_most;
    unsigned bits; /* keys that a table has room for, if it is opened now, are 1 << bits, */
    int is_few;    /* and these are very few */
    unsigned next; /* to be emptied */
};

static const struct cpu_combine_loops *loops_of(cohort_context *context, co_u32 width)
{
#if CPU_VECTORS
    if (cpu_device(context)->level >= CPU_AVX2)
        return &cpu_combine_avx2[width];
#endif
    (void)context;
    return &cpu_combine_plain[width];
}

/* ---- the work laid out --------------------------------------------------------------------------------- */

/* Of a line. */
static co_u64 places(co_u32 width)
{
    return CPU_COMBINE_KEYS / map_key_bytes(width);
}

/* The largest tables that a batch of n entries may ask for. */
static unsigned bits_for(co_u64 n, unsigned workers)
{
    unsigned bits = LEAST_BITS;
    while (bits < MOST_BITS && (1ull << bits) * ENTRIES / 2 * workers <= n)
        bits++;
    return bits;
}

static void lay_out(cohort_context *context, struct combine *c, struct arena *arena)
{
    const co_u64 key = map_key_bytes(c->width), value = map_value_bytes(c->width);
    const unsigned workers = cpu_device(context)->threads;
    struct state *s = arena_take(arena, sizeof *s);
    struct cpu_combiner *worker = arena_take(arena, workers * sizeof *worker);
    const unsigned bits = bits_for(c->n, workers);
    const co_u64 lines = ((1ull << bits) / places(c->width)) + CPU_COMBINE_PROBES;
    c->room = c->n < ROOM ? c->n : ROOM;
    /* A table at least must go there, emptied, beside what may be there already. */
    if (c->room < (1ull << bits) + 2)
        c->room = (1ull << bits) + 2;
    c->out_keys = arena_take(arena, c->room * key);
    c->out_values = arena_take(arena, c->room * value);
    c->out = 0;
    if (!arena->asks) {
        memset(worker, 0, workers * sizeof *worker);
        *s = (struct state){loops_of(context, c->width), worker, workers, bits, 0, 0, 0};
    }
    for (unsigned i = 0; i < workers; i++) {
        struct cpu_combiner t = {.slots = arena_take(arena, lines * CPU_COMBINE_LINE),
                                 .few = arena_take(arena, 4 * CPU_COMBINE_SINGLE << CPU_COMBINE_FEW_BITS),
                                 .stage_keys = arena_take(arena, CPU_COMBINE_STAGE * key),
                                 .stage_values = arena_take(arena, CPU_COMBINE_STAGE * value)};
        if (!arena->asks)
            worker[i] = t;
    }
    c->state = s;
}

/* ---- the sample ---------------------------------------------------------------------------------------- */

struct sample {
    co_u64 entries, keys, once, twice;
};

/* Keys are told apart by 32 bits of their hash, which mistakes less than two of them a sample. */
static struct sample sample_of(const struct combine *c, co_u64 begin)
{
    co_u32 tag[TAGS];
    co_u8 times[TAGS];
    struct sample s = {0, 0, 0, 0};
    const co_u64 step = (c->n - begin) / SAMPLE;
    memset(tag, 0, sizeof tag);
    for (co_u64 k = 0; k < SAMPLE && step; k++) {
        const co_u64 i = begin + k * step + co_hash(k, begin) % step;
        if (c->where && !(c->where[i / 32] >> i % 32 & 1))
            continue;
        const co_u64 hash = co_hash(
            map_key_bytes(c->width) == 4 ? ((const co_u32 *)c->keys)[i] : ((const co_u64 *)c->keys)[i], c->n);
        const co_u32 own = (co_u32)(hash >> 32) | 1;
        co_u32 at = (co_u32)hash % TAGS;
        while (tag[at] && tag[at] != own)
            at = (at + 1) % TAGS;
        times[at] = tag[at] ? times[at] + (times[at] < 3) : 1;
        tag[at] = own;
        s.entries++;
        s.keys += times[at] == 1;
    }
    for (co_u32 at = 0; at < TAGS; at++) {
        s.once += tag[at] && times[at] == 1;
        s.twice += tag[at] && times[at] == 2;
    }
    return s;
}

/* Bits of the keys that tables have room for; 0: nothing is combined. */
static unsigned bits_wanted(const struct combine *c, struct state *state, co_u64 begin)
{
    const struct sample s = sample_of(c, begin);
    const co_u64 keys = s.keys + s.once * s.once / (2 * (s.twice + 1));
    unsigned bits = LEAST_BITS;
    if (s.entries < SAMPLE_LEAST || (s.entries - s.keys) * REPEATS < s.entries)
        return 0;
    state->is_few = keys <= FEW_KEYS;
    while (bits < MOST_BITS && (2ull << bits) < keys * 5)
        bits++;
    if (keys > (1ull << MOST_BITS) / 2)
        bits = HOT_BITS;
    if (bits > state->bits_most)
        bits = (s.entries - s.keys) * OFTEN >= s.entries ? state->bits_most : 0;
    return bits;
}

static int pays(cohort_context *context, struct combine *c, co_u64 begin)
{
    struct state *s = c->state;
    const unsigned bits = bits_wanted(c, s, begin);
    (void)context;
    s->bits = bits;
    return bits != 0;
}

static int larger(cohort_context *context, struct combine *c)
{
    struct state *s = c->state;
    const unsigned bits = s->bits + GROWS < s->bits_most ? s->bits + GROWS : s->bits_most, now = s->bits;
    (void)context;
    s->bits = bits;
    s->is_few = 0;
    return bits > now;
}

/* ---- the batch ----------------------------------------------------------------------------------------- */

static void shape(struct cpu_combiner *t, const struct state *s, co_u32 width)
{
    const co_u64 homes = (1ull << s->bits) / places(width);
    t->shift = 64 - (unsigned)__builtin_ctzll(homes * CPU_COMBINE_LINE);
    t->lines = homes + CPU_COMBINE_PROBES - 1;
    t->is_few = s->is_few;
    t->limit = (1ull << s->bits) / 8 * FILLED;
}

static void combine_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct combine *c = arg;
    struct state *s = c->state;
    struct cpu_combiner *t = &s->worker[worker];
    if (!t->open)
        shape(t, s, c->width);
    s->loops->entries(t, c, begin, end);
}

struct stretch {
    struct combine *c;
    co_u64 begin;
};

static void stretch_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct stretch *s = arg;
    combine_range(s->c, s->begin + begin, s->begin + end, worker);
}

static void entries(cohort_context *context, struct combine *c, co_u64 begin, co_u64 end)
{
    struct stretch s = {c, begin};
    cpu_parallel(context, end - begin, GRAIN, stretch_range, &s);
}

static void empty_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct combine *c = arg;
    struct state *s = c->state;
    (void)worker;
    for (co_u64 i = s->next + begin; i < s->next + end; i++)
        if (s->worker[i].open)
            s->loops->empty(&s->worker[i], c);
}

static int empty(cohort_context *context, struct combine *c)
{
    struct state *s = c->state;
    co_u64 left = c->room - c->out;
    unsigned many = 0;
    while (s->next + many < s->workers && s->worker[s->next + many].held + 1 <= left)
        left -= s->worker[s->next + many++].held + 1;
    cpu_parallel(context, many, 1, empty_range, c);
    s->next += many;
    const int more = s->next < s->workers;
    s->next = more ? s->next : 0;
    return more;
}

const struct combine_ways cpu_combine_ways = {lay_out, pays, entries, larger, empty};
