/* oracle.c: the oracle's table. judge.c says what a batch may do to it. */
#include "oracle.h"

/* ---- the table ------------------------------------------------------------------------------------------------------ */

struct node {
    uint64_t key, value;
    uint64_t *choices; /* the values it may have instead, where that is not known */
    uint64_t choice_count;
    int maybe_absent; /* it may also be that the key is not in */
    int seen;
    struct node *next;
};

struct oracle {
    cohort_width width;
    uint64_t size, heads;
    struct node **head;
};

struct oracle *oracle_new(cohort_width width)
{
    struct oracle *o = calloc(1, sizeof *o);
    if (!o)
        abort();
    o->width = width;
    o->heads = 1024;
    o->head = calloc(o->heads, sizeof *o->head);
    return o;
}

void oracle_clear(struct oracle *o)
{
    for (uint64_t i = 0; i < o->heads; i++)
        while (o->head[i]) {
            struct node *node = o->head[i];
            o->head[i] = node->next;
            free(node->choices);
            free(node);
        }
    o->size = 0;
}

void oracle_free(struct oracle *o)
{
    if (!o)
        return;
    oracle_clear(o);
    free(o->head);
    free(o);
}

static struct node **find(const struct oracle *o, uint64_t key)
{
    struct node **at = &o->head[test_mix(key + 1) & (o->heads - 1)];
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

static void grow(struct oracle *o)
{
    struct node **old = o->head;
    uint64_t heads = o->heads;
    o->heads *= 4;
    o->head = calloc(o->heads, sizeof *o->head);
    for (uint64_t i = 0; i < heads; i++)
        while (old[i]) {
            struct node *node = old[i], **at;
            old[i] = node->next;
            node->next = NULL;
            at = find(o, node->key);
            *at = node;
        }
    free(old);
}

static void forget_choices(struct node *node)
{
    free(node->choices);
    node->choices = NULL;
    node->choice_count = 0;
    node->maybe_absent = 0;
}

void oracle_put(struct oracle *o, uint64_t key, uint64_t value)
{
    if (o->size > o->heads)
        grow(o);
    struct node **at = find(o, key);
    if (!*at) {
        *at = calloc(1, sizeof **at);
        (*at)->key = key;
        o->size++;
    }
    forget_choices(*at);
    (*at)->value = value & value_mask(o->width);
}

static void take_out(struct oracle *o, struct node **at)
{
    struct node *node = *at;
    *at = node->next;
    free(node->choices);
    free(node);
    o->size--;
}

int oracle_remove(struct oracle *o, uint64_t key)
{
    struct node **at = find(o, key);
    if (!*at)
        return 0;
    take_out(o, at);
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
    struct node *node = *find(o, key);
    if (node && value)
        *value = node->value;
    return node != NULL;
}

int oracle_next(const struct oracle *o, uint64_t *cursor, uint64_t *key, uint64_t *value)
{
    uint64_t rank = *cursor & 0xffffffff, head = *cursor >> 32;
    for (; head < o->heads; head++, rank = 0) {
        struct node *node = o->head[head];
        for (uint64_t i = 0; node && i < rank; i++)
            node = node->next;
        if (node) {
            *key = node->key;
            *value = node->value;
            *cursor = head << 32 | (rank + 1);
            return 1;
        }
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

/* ---- being shown the state ------------------------------------------------------------------------------------------ */

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
    struct node *node = *find(o, key);
    node->choices = malloc(count * sizeof *values);
    node->choice_count = count;
    node->maybe_absent = maybe_absent;
    for (uint64_t i = 0; i < count; i++)
        node->choices[i] = values[i] & value_mask(o->width);
}

int oracle_allows(const struct oracle *o, uint64_t key, uint64_t value)
{
    const struct node *node = *find(o, key);
    if (!node)
        return 0;
    if (!node->choice_count)
        return node->value == value;
    for (uint64_t i = 0; i < node->choice_count; i++)
        if (node->choices[i] == value)
            return 1;
    return 0;
}

int oracle_observe(struct oracle *o, uint64_t n, const struct column *keys, const struct column *values,
                   char message[300])
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = column_get(keys, i), value = values ? column_get(values, i) : 0;
        struct node *node = *find(o, key);
        if (!node)
            return wrong(message, "the map holds key 0x%llx, which was not put in", (unsigned long long)key);
        if (node->seen)
            return wrong(message, "the map holds key 0x%llx twice", (unsigned long long)key);
        if (!oracle_allows(o, key, value))
            return wrong(message, "the map holds 0x%llx for key 0x%llx, due is 0x%llx%s",
                         (unsigned long long)value, (unsigned long long)key,
                         (unsigned long long)(node->choice_count ? node->choices[0] : node->value),
                         node->choice_count > 1 ? " or another" : "");
        forget_choices(node);
        node->value = value;
        node->seen = 1;
    }
    for (uint64_t i = 0; i < o->heads; i++)
        for (struct node **at = &o->head[i]; *at;) {
            struct node *node = *at;
            if (!node->seen && !node->maybe_absent)
                return wrong(message, "the map does not hold key 0x%llx", (unsigned long long)node->key);
            if (!node->seen) {
                take_out(o, at);
                continue;
            }
            node->seen = 0;
            at = &node->next;
        }
    return 1;
}
