/* schedules_plan.c: plans, drawn at random. A family says what is to be made likely:
 *
 *   mixed     one or two buckets, all operations, keys that look like marks, 0, neighbours
 *   collide   keys with the same home bucket, among others that were there before
 *   full      a table in which two slots at most are left
 *   wrap      several tiny pages, keys that live in the last one and go on in the first
 *   churn     one or two keys, erased and put in again and again
 *   values    one key or two, and what changes values */
#include "schedules_lines.h"

const char *const family_names[] = {"mixed", "collide", "full", "wrap", "churn", "values"};

/* How often an operation is drawn, by family: find insert assign erase add min max or and exchange count,
 * then the calls find contains insert assign erase. */
static const unsigned char weights[FAMILIES][16] = {
    {3, 3, 3, 3, 3, 1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1}, {3, 4, 2, 2, 2, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1},
    {2, 5, 2, 2, 3, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}, {3, 5, 2, 2, 2, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1},
    {4, 4, 2, 6, 3, 0, 0, 0, 0, 2, 1, 1, 1, 1, 1, 2}, {3, 1, 3, 1, 3, 2, 2, 1, 1, 3, 2, 1, 0, 0, 1, 0}};

static unsigned draw_kind(struct dice *d, cohort_width width, enum family family)
{
    unsigned sum = 0, kind;
    for (kind = 0; kind < 16; kind++)
        sum += weights[family][kind];
    do {
        unsigned at = (unsigned)dice_below(d, sum);
        for (kind = 0; at >= weights[family][kind]; kind++)
            at -= weights[family][kind];
    } while (!value_bytes(width) && kind > CO_OP_ERASE && kind < CO_OPS);
    return kind < CO_OPS ? kind : kind - CO_OPS + LIST_FIND;
}

void plan_shape(struct plan *p, struct shape shape)
{
    memset(p, 0, sizeof *p);
    p->shape = shape;
    table_clear(&p->shape, p->table);
}

/* LINES: one home to three, or a window and one home to three more, so that there are partner places. */
static struct shape draw_lines(cohort_width width, enum family family, struct dice *d)
{
    static const unsigned char small[FAMILIES] = {2, 2, 3, 0, 3, 3}; /* of four */
    struct shape s = {.width = width, .lines = 1, .pages = 1 + (uint32_t)dice_below(d, 3)};
    if (dice_below(d, 4) >= small[family])
        s.pages += (uint32_t)homes_window(width);
    s.seed = dice_below(d, 2) ? dice_next(d) : 0;
    return s;
}

static struct shape draw_shape(cohort_width width, enum family family, struct dice *d)
{
    static const uint32_t masks[FAMILIES][4] = {{0, 0, 1, 3}, {1, 1, 3, 3}, {0, 0, 0, 1},
                                                {0, 1, 3, 3}, {0, 1, 1, 3}, {0, 0, 1, 1}};
    struct shape s = {.width = width, .pages = 1, .reach = 1};
    s.mask = masks[family][dice_below(d, 4)];
    s.linear = dice_below(d, 3) == 0;
    s.seed = dice_below(d, 2) ? dice_next(d) : 0;
    if (family == FAMILY_WRAP) {
        s.pages = 2 + (uint32_t)dice_below(d, 2);
        s.reach = 2;
    }
    if (!s.linear) /* without a throw of these dice */
        s.far = (uint32_t)(test_mix(d->state) % 4) % (s.mask ? 3 : 2);
    return s;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static int is_key(const struct plan *p, uint64_t key)
{
    for (unsigned i = 0; i < p->key_count; i++)
        if (p->keys[i] == key)
            return 1;
    return 0;
}

/* With the first of the keys. */
static int is_at_home(const struct plan *p, uint64_t key)
{
    return table_home_bucket(&p->shape, key) == table_home_bucket(&p->shape, p->keys[0]);
}

static int suits(const struct plan *p, enum family family, uint64_t key)
{
    if (is_key(p, key) || key >= table_empty_key(&p->shape) - 1)
        return 0;
    if (family == FAMILY_WRAP)
        return table_home_page(&p->shape, key) == p->shape.pages - 1;
    return (family != FAMILY_COLLIDE && !p->one_home) || !p->key_count || is_at_home(p, key);
}

/* Three times out of four a key that has a word in common with another of the plan's, or, with luck, each
 * word with one of two. */
static uint64_t of_two_words(const struct plan *p, uint64_t key, struct dice *d)
{
    const uint64_t choice = dice_below(d, 4);
    if (!p->key_count || !choice)
        return key;
    const uint64_t a = p->keys[dice_below(d, p->key_count)],
                   b = choice == 3 ? p->keys[dice_below(d, p->key_count)] : key;
    return choice & 1 ? (a & KEY_EVEN) | (b & ~KEY_EVEN) : (b & KEY_EVEN) | (a & ~KEY_EVEN);
}

static void draw_keys(struct plan *p, enum family family, struct dice *d)
{
    static const unsigned char most[FAMILIES] = {4, 4, 5, 4, 2, 2};
    uint64_t empty = table_empty_key(&p->shape);
    const uint64_t edges[] = {0, 1, empty, empty - 1, empty - 2, empty, empty - 1, empty >> 1};
    unsigned count = 1 + (unsigned)dice_below(d, most[family]);
    while (p->key_count < count) {
        uint64_t key = dice_next(d) & empty;
        int edge = family == FAMILY_MIXED ? dice_below(d, 2) == 0 : dice_below(d, 12) == 0;
        if (edge)
            key = edges[dice_below(d, 8)];
        if (p->shape.width == COHORT_WIDTH_128_64 && !edge)
            key = of_two_words(p, key, d);
        if (edge ? !is_key(p, key) : suits(p, family, key))
            p->keys[p->key_count++] = key;
    }
}

/* ---- the table at first -------------------------------------------------------------------------------- */

static void put_fillers(struct plan *p, struct dice *d, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = dice_next(d) & table_empty_key(&p->shape);
        if (is_key(p, key) || key >= table_empty_key(&p->shape) - 1 || (p->one_home && !is_at_home(p, key)))
            continue;
        table_put(&p->shape, p->table, key, dice_next(d));
        if (dice_below(d, 8) == 0)
            table_erase(&p->shape, p->table, key);
    }
}

/* Fills the table up until so many slots are free. The fewer of a home's keys there are among all, the more
 * are tried. */
static void fill_up(struct plan *p, struct dice *d, uint64_t free)
{
    const int most = p->shape.width == COHORT_WIDTH_128_64 ? 900 : 400;
    for (int tries = 0; tries < most; tries++) {
        uint64_t taken = table_count(&p->shape, p->table).taken, slots = table_slots(&p->shape);
        if (taken + free >= slots)
            return;
        put_fillers(p, d, 1);
    }
}

static void draw_table(struct plan *p, enum family family, struct dice *d)
{
    for (unsigned i = 0; i < p->key_count; i++) {
        uint64_t choice = dice_below(d, 8);
        for (uint64_t before = choice == 7 ? 2 : choice == 6; before; before--) {
            table_put(&p->shape, p->table, p->keys[i], 1);
            table_erase(&p->shape, p->table, p->keys[i]);
        }
        if (choice == 4 || choice == 5 || choice == 6 || (p->one_home && choice < 3))
            table_put(&p->shape, p->table, p->keys[i], dice_below(d, 100));
    }
    if (family == FAMILY_FULL || (family == FAMILY_WRAP && dice_below(d, 2)))
        fill_up(p, d, dice_below(d, family == FAMILY_FULL ? 3 : 5));
    else if (family == FAMILY_WRAP || family == FAMILY_COLLIDE)
        put_fillers(p, d, dice_below(d, table_slots(&p->shape)));
    p->counters = table_count(&p->shape, p->table);
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static void draw_operands(struct plan *p, struct dice *d)
{
    uint64_t style = dice_below(d, 4);
    p->operand_count = LIST_OPERANDS;
    for (unsigned i = 0; i < LIST_OPERANDS; i++)
        p->operands[i] = style == 0   ? i + 1
                         : style == 1 ? (uint64_t)1 << (2 * i)
                         : style == 2 ? dice_next(d)
                                      : (i % 3 ? UINT64_MAX - i : i);
}

void plan_draw_ops(struct plan *p, enum family family, struct dice *d)
{
    for (unsigned i = 0; i < p->lanes * p->each; i++)
        p->ops[i] =
            LIST_OP(draw_kind(d, p->shape.width, family), dice_below(d, p->key_count), i % LIST_OPERANDS);
}

void plan_draw(struct plan *p, cohort_width width, cohort_layout layout, enum family family, struct dice *d)
{
    const int lines = layout == COHORT_LAYOUT_LINES;
    struct shape shape = lines ? draw_lines(width, family, d) : draw_shape(width, family, d);
    /* Without a throw of these dice. Keys of one home move from one to another of the homes that there
     * are. */
    const int one_home = lines && family == FAMILY_FULL && test_mix(d->state) % 8;
    shape.pages += one_home && shape.pages == 1;
    plan_shape(p, shape);
    p->one_home = one_home;
    draw_keys(p, family, d);
    draw_table(p, family, d);
    draw_operands(p, d);
    p->lanes = 2 + (unsigned)dice_below(d, PLAN_LANES - 1);
    p->each = 2 + (unsigned)dice_below(d, PLAN_EACH - 1);
    if (p->key_count == 1 && p->lanes * p->each > 16)
        p->each = 2;
    plan_draw_ops(p, family, d);
}

void plan_args(const struct plan *p, struct list_args *args)
{
    memcpy(args->keys, p->keys, sizeof args->keys);
    memcpy(args->operands, p->operands, sizeof args->operands);
    args->lanes = p->lanes;
    args->each = p->each;
}

uint64_t plan_hash(const struct plan *p)
{
    uint64_t h = p->shape.seed ^ ((uint64_t)p->shape.width << 40 | (uint64_t)p->shape.pages << 32 |
                                  (uint64_t)p->shape.mask << 16 | p->shape.far << 10 | p->shape.linear << 8 |
                                  p->shape.lines << 9 | p->lanes);
    for (unsigned i = 0; i < p->key_count; i++)
        h = test_mix(h + p->keys[i] + 1);
    for (unsigned i = 0; i < p->lanes * p->each; i++)
        h = test_mix(h + p->ops[i] + p->operands[p->ops[i] >> 16 & 255] + 1);
    for (unsigned i = 0; i < table_bytes(&p->shape); i++)
        h = (h ^ p->table[i]) * 0x100000001b3u;
    return h;
}

/* ---- for people ---------------------------------------------------------------------------------------- */

static const char *kind_name(unsigned kind)
{
    static const char *const names[] = {"find", "insert", "assign", "erase",    "add",  "min",
                                        "max",  "or",     "and",    "exchange", "count"};
    static const char *const calls[] = {"find()", "contains()", "insert()", "assign()", "erase()"};
    return kind < CO_OPS                             ? names[kind]
           : kind >= LIST_FIND && kind <= LIST_ERASE ? calls[kind - LIST_FIND]
                                                     : "-";
}

void plan_print(const struct plan *p, FILE *out)
{
    const struct shape *s = &p->shape;
    fprintf(out,
            "  width %s, %u %s of %u buckets, reach %u, %s, seed %#llx\n  at first:", width_name(s->width),
            s->pages, s->lines ? "homes" : "pages", s->mask + 1, s->reach,
            s->lines    ? "lines"
            : s->linear ? "linear"
                        : "double hashing",
            (unsigned long long)s->seed);
    for (uint64_t i = 0; i < table_slots(s) + table_side_slots(s); i++) {
        uint64_t key, value;
        enum slot_state state = table_get(s, p->table, i, &key, &value);
        if (state != SLOT_EMPTY)
            fprintf(out, state == SLOT_ERASED ? " [%llu] erased" : " [%llu] %#llx = %#llx",
                    (unsigned long long)i, (unsigned long long)key, (unsigned long long)value);
    }
    for (unsigned i = 0; i < p->lanes * p->each; i++) {
        unsigned kind = p->ops[i] & 255;
        if (i % p->each == 0)
            fprintf(out, "\n  lane %u:", i / p->each);
        if (kind != LIST_END)
            fprintf(out, " %s(%#llx, %#llx)", kind_name(kind),
                    (unsigned long long)p->keys[p->ops[i] >> 8 & 255],
                    (unsigned long long)p->operands[p->ops[i] >> 16 & 255]);
    }
    fprintf(out, "\n");
}
