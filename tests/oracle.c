/* oracle.c: the oracle's table: open addressing, linear probing from a place that the high bits of a mixed
 * key choose. judge.c, which says what a batch may do to it, goes by those mixed keys from the least to the
 * greatest, so it walks memory in order. */
#include "oracle.h"

/* ---- the table ----------------------------------------------------------------------------------------- */

struct entry {
    uint64_t key, value;
    uint64_t *choices; /* the values it may have instead, where that is not known */
    uint32_t choice_count;
    uint8_t used;
    uint8_t maybe_absent; /* it may also be that the key is not in */
    uint8_t seen;
};

struct oracle {
    cohort_width width;
    uint64_t size;
    unsigned bits; /* 2^bits places; at most half of them are used */
    struct entry *place;
};

static uint64_t places(const struct oracle *o)
{
    return 1ull << o->bits;
}

static void make_places(struct oracle *o, unsigned bits)
{
    o->bits = bits;
    o->size = 0;
    o->place = calloc(places(o), sizeof *o->place);
    if (!o->place)
        abort();
}

struct oracle *oracle_new(cohort_width width)
{
    struct oracle *o = calloc(1, sizeof *o);
    if (!o)
        abort();
    o->width = width;
    make_places(o, 8);
    return o;
}

static void drop_places(struct oracle *o)
{
    for (uint64_t i = 0; i < places(o); i++)
        free(o->place[i].choices);
    free(o->place);
}

void oracle_clear(struct oracle *o)
{
    drop_places(o);
    make_places(o, 8);
}

void oracle_free(struct oracle *o)
{
    if (!o)
        return;
    drop_places(o);
    free(o);
}

uint64_t oracle_rank(uint64_t key)
{
    return test_mix(key + 1);
}

static struct entry *home(const struct oracle *o, uint64_t key)
{
    return o->place + (oracle_rank(key) >> (64 - o->bits));
}

static struct entry *after(const struct oracle *o, const struct entry *e)
{
    return o->place + (((uint64_t)(e - o->place) + 1) & (places(o) - 1));
}

/* Where the key is, or would be: then the place is not used. */
static struct entry *find(const struct oracle *o, uint64_t key)
{
    struct entry *e = home(o, key);
    while (e->used && e->key != key)
        e = after(o, e);
    return e;
}

void oracle_reserve(struct oracle *o, uint64_t size)
{
    struct oracle old = *o;
    unsigned bits = o->bits;
    while (size * 2 > 1ull << bits)
        bits++;
    if (bits == o->bits)
        return;
    make_places(o, bits);
    for (uint64_t i = 0; i < places(&old); i++)
        if (old.place[i].used) {
            *find(o, old.place[i].key) = old.place[i];
            o->size++;
        }
    free(old.place);
}

static void forget_choices(struct entry *e)
{
    free(e->choices);
    e->choices = NULL;
    e->choice_count = 0;
    e->maybe_absent = 0;
}

void oracle_put(struct oracle *o, uint64_t key, uint64_t value)
{
    if (o->size * 2 >= places(o))
        oracle_reserve(o, o->size * 2);
    struct entry *e = find(o, key);
    if (!e->used) {
        *e = (struct entry){.key = key, .used = 1};
        o->size++;
    }
    forget_choices(e);
    e->value = value & value_mask(o->width);
}

/* Later entries of the run move up into the hole where it is not before their home. */
static void take_out(struct oracle *o, struct entry *hole)
{
    free(hole->choices);
    for (struct entry *e = after(o, hole); e->used; e = after(o, e)) {
        uint64_t mask = places(o) - 1, from_home = (uint64_t)(e - home(o, e->key)) & mask;
        if (from_home >= ((uint64_t)(e - hole) & mask)) {
            *hole = *e;
            hole = e;
        }
    }
    *hole = (struct entry){0};
    o->size--;
}

int oracle_remove(struct oracle *o, uint64_t key)
{
    struct entry *e = find(o, key);
    if (!e->used)
        return 0;
    take_out(o, e);
    return 1;
}

cohort_width oracle_width(const struct oracle *o)
{
    return o->width;
}

uint64_t oracle_size(const struct oracle *o)
{
    return o->size;
}

int oracle_get(const struct oracle *o, uint64_t key, uint64_t *value)
{
    const struct entry *e = find(o, key);
    if (e->used && value)
        *value = e->value;
    return e->used;
}

int oracle_next(const struct oracle *o, uint64_t *cursor, uint64_t *key, uint64_t *value)
{
    while (*cursor < places(o)) {
        const struct entry *e = &o->place[(*cursor)++];
        if (!e->used)
            continue;
        *key = e->key;
        *value = e->value;
        return 1;
    }
    return 0;
}

struct oracle *oracle_copy(const struct oracle *o)
{
    struct oracle *copy = oracle_new(o->width);
    uint64_t cursor = 0, key, value;
    while (oracle_next(o, &cursor, &key, &value))
        oracle_put(copy, key, value);
    return copy;
}

uint64_t oracle_combine(cohort_width width, cohort_op op, uint64_t old, uint64_t operand)
{
    uint64_t mask = value_mask(width);
    operand &= mask;
    switch (op) {
    case COHORT_OP_INSERT:
        return old;
    case COHORT_OP_ADD:
        return (old + operand) & mask;
    case COHORT_OP_COUNT:
        return (old + 1) & mask;
    case COHORT_OP_MIN:
        return old < operand ? old : operand;
    case COHORT_OP_MAX:
        return old > operand ? old : operand;
    case COHORT_OP_OR:
        return old | operand;
    case COHORT_OP_AND:
        return old & operand;
    default:
        return operand;
    }
}

uint64_t oracle_first(cohort_width width, cohort_op op, uint64_t operand)
{
    return (op == COHORT_OP_COUNT ? 1 : operand) & value_mask(width);
}

/* ---- being shown the state ----------------------------------------------------------------------------- */

static int wrong(char message[300], const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(char message[300], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, 300, format, arguments);
    va_end(arguments);
    return 0;
}

void oracle_choices(struct oracle *o, uint64_t key, uint64_t count, const uint64_t *values, int maybe_absent)
{
    oracle_put(o, key, values[0]);
    struct entry *e = find(o, key);
    e->choices = malloc(count * sizeof *values);
    e->choice_count = (uint32_t)count;
    e->maybe_absent = (uint8_t)maybe_absent;
    for (uint64_t i = 0; i < count; i++)
        e->choices[i] = values[i] & value_mask(o->width);
}

static int allows(const struct entry *e, uint64_t value)
{
    if (!e->choice_count)
        return e->value == value;
    for (uint64_t i = 0; i < e->choice_count; i++)
        if (e->choices[i] == value)
            return 1;
    return 0;
}

int oracle_allows(const struct oracle *o, uint64_t key, uint64_t value)
{
    const struct entry *e = find(o, key);
    return e->used && allows(e, value);
}

static int observe_pair(struct oracle *o, uint64_t key, uint64_t value, char message[300])
{
    struct entry *e = find(o, key);
    if (!e->used)
        return wrong(message, "the map holds key 0x%llx, which was not put in", (unsigned long long)key);
    if (e->seen)
        return wrong(message, "the map holds key 0x%llx twice", (unsigned long long)key);
    if (!allows(e, value))
        return wrong(message, "the map holds 0x%llx for key 0x%llx, due is 0x%llx%s",
                     (unsigned long long)value, (unsigned long long)key,
                     (unsigned long long)(e->choice_count ? e->choices[0] : e->value),
                     e->choice_count > 1 ? " or another" : "");
    forget_choices(e);
    e->value = value;
    e->seen = 1;
    return 1;
}

/* What was not seen goes if it may be absent. */
static int observe_absent(struct oracle *o, char message[300])
{
    for (uint64_t i = 0; i < places(o); i++) {
        struct entry *e = &o->place[i];
        while (e->used && !e->seen) {
            if (!e->maybe_absent)
                return wrong(message, "the map does not hold key 0x%llx", (unsigned long long)e->key);
            take_out(o, e); /* another may move up to here */
        }
    }
    for (uint64_t i = 0; i < places(o); i++)
        o->place[i].seen = 0;
    return 1;
}

#define AHEAD 16 /* pairs whose places are fetched before they are looked at */

int oracle_observe(struct oracle *o, uint64_t n, const struct column *keys, const struct column *values,
                   char message[300])
{
    for (uint64_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(home(o, column_get(keys, i + AHEAD)));
        if (!observe_pair(o, column_get(keys, i), values ? column_get(values, i) : 0, message))
            return 0;
    }
    return observe_absent(o, message);
}
