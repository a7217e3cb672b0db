/* groups.c: tables, keys and aggregates at random, and what is due of each group, by a walk over all rows. */
#include "groups.h"

#include <float.h>
#include <math.h>

/* ---- tables -------------------------------------------------------------------------------------------- */

static int is_number(const char *f)
{
    return !f[1] && strchr("bcCsSiIlLefg", f[0]);
}

int is_float(const char *f)
{
    return !f[1] && strchr("efg", f[0]);
}

static int is_decimal(const char *f)
{
    return f[0] == 'd';
}

static int allowed(cohort_aggregate_op op, const char *format)
{
    switch (op) {
    case COHORT_AGGREGATE_SUM:
    case COHORT_AGGREGATE_MEAN:
    case COHORT_AGGREGATE_VAR:
    case COHORT_AGGREGATE_SD:
        return is_number(format) || is_decimal(format);
    case COHORT_AGGREGATE_ANY:
    case COHORT_AGGREGATE_ALL:
        return is_number(format) && !is_float(format);
    default:
        return op != COHORT_AGGREGATE_ROWS;
    }
}

void add_aggregates(struct test *t, struct plan *p)
{
    p->aggregate[p->aggregates++] = (cohort_aggregate){COHORT_AGGREGATE_ROWS, 0, NULL, NULL};
    for (uint32_t c = p->keys; c < p->keys + p->values; c++)
        for (unsigned op = COHORT_AGGREGATE_COUNT; op <= COHORT_AGGREGATE_NUNIQUE; op++)
            if (allowed(op, p->format[c]) && p->aggregates < 64 && test_below(t, 3)) {
                p->column[p->aggregates] = c;
                p->aggregate[p->aggregates++] = (cohort_aggregate){op, 0, p->name[c], NULL};
            }
}

static void suit_device(const struct test *t, struct model *m)
{
    for (uint32_t i = 0; t->kind != TEST_CPU && i < m->columns; i++)
        if (strchr("uUzZv", m->column[i].format[0]) && !m->column[i].index[0])
            strcpy(m->column[i].index, "i");
}

void plan_open(struct test *t, struct plan *p, uint32_t keys, uint64_t rows, uint64_t distinct)
{
    uint64_t types = 0;
    memset(p, 0, sizeof *p);
    while (model_formats[types])
        types++;
    p->keys = keys ? keys : 1 + (uint32_t)test_below(t, 3);
    p->values = (uint32_t)test_below(t, 6);
    p->frames = 1 + (uint32_t)test_below(t, FRAMES);
    p->reproducible = (int)test_below(t, 2);
    p->skips = (int)test_below(t, 2);
    for (uint32_t c = 0; c < p->keys + p->values; c++) {
        snprintf(p->name[c], sizeof p->name[c], "%c%u", c < p->keys ? 'k' : 'v', c);
        p->format[c] = model_formats[test_below(t, types)];
        if (c >= p->keys && test_below(t, 2))
            p->format[c] = model_formats[test_below(t, 12)]; /* numbers */
    }
    for (uint32_t c = 0; c < p->keys; c++) {
        p->key[c] = p->name[c];
        p->nulls_equal[c] = test_below(t, 2) != 0;
    }
    add_aggregates(t, p);
    int wild = test_below(t, 4) == 0;
    for (uint32_t i = 0; i < p->frames; i++) {
        struct model_plan plan = {.rows = test_below(t, rows), .dictionaries = test_below(t, 8) ? 1 : 3};
        plan.nulls = test_below(t, 2) || plan.dictionaries == 3 ? (uint32_t)test_below(t, 60) : 0;
        plan.distinct = 1 + test_below(t, distinct);
        model_open(&p->model[i], plan.rows, p->keys + p->values);
        for (uint32_t c = 0; c < p->keys + p->values; c++) {
            plan.wild = wild || (c < p->keys && test_below(t, 2));
            model_fill(t, &p->model[i], c, p->name[c], model_another_layout(t, p->format[c]), &plan);
        }
        for (uint32_t k = 0; keys && k <= i; k++)
            model_repeat(t, &p->model[i], &p->model[k], keys);
        suit_device(t, &p->model[i]);
        p->frame[i] = model_frame(t, &p->model[i], t->context);
    }
}

void plan_close(struct plan *p)
{
    for (uint32_t i = 0; i < p->frames; i++) {
        cohort_frame_release(p->frame[i]);
        model_close(&p->model[i]);
    }
}

cohort_group *group_of(struct test *t, cohort_context *context, const struct plan *p)
{
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_group *g = NULL;
    o.keys = p->keys;
    o.key = p->key;
    o.nulls_equal = p->skips ? p->nulls_equal : NULL;
    o.aggregates = p->aggregates;
    o.aggregate = p->aggregate;
    o.reproducible = (uint32_t)p->reproducible;
    cohort_status s = cohort_group_create(context, &o, &g);
    REQUIREF(t, !s || s == COHORT_NO_MEMORY, "create: %s", cohort_message(context));
    return g;
}

/* ---- two columns ------------------------------------------------------------------------------------- */

cohort_group *simple(struct test *t, cohort_context *context, uint32_t aggregates, const cohort_aggregate *a,
                     uint32_t reproducible)
{
    static const char *const key[] = {"key"};
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_group *g = NULL;
    o.keys = 1;
    o.key = key;
    o.aggregates = aggregates;
    o.aggregate = a;
    o.reproducible = reproducible;
    OK(t, cohort_group_create(context, &o, &g));
    return g;
}

cohort_frame *two_columns(struct test *t, cohort_context *context, uint64_t n, const uint32_t *key,
                          cohort_type type, const void *value)
{
    cohort_array arrays[2] = {{"key", COHORT_U32, 0, key, NULL}, {"v", type, 0, value, NULL}};
    cohort_frame *f = NULL;
    OK(t, cohort_frame_create(context, n, 2, arrays, &f));
    return f;
}

const void *column_at(struct test *t, cohort_frame *frame, uint32_t column, uint64_t bytes, void *to)
{
    struct model m;
    model_of_frame(t, &m, frame);
    for (uint64_t i = 0; i < m.rows; i++)
        if (m.column[column].cell[i].bytes)
            memcpy((char *)to + i * bytes, m.column[column].cell[i].bytes, bytes);
    model_close(&m);
    return to;
}

wide decimal_value(struct test *t, int positive)
{
    wide most = 1, v = (wide)((wide_bits)test_random(t) << 36) + (int64_t)test_random(t);
    for (int i = 0; i < 38; i++)
        most *= 10;
    v = !test_below(t, 3) ? v : most / (1 + (wide)test_below(t, 2)) - 1;
    /* such that a sum past the last digit may have a lower word below that digit's */
    if (test_below(t, 2))
        v &= ~(wide)UINT64_MAX;
    return positive || test_below(t, 2) ? v : -v;
}

/* ---- the oracle ---------------------------------------------------------------------------------------- */

int same_keys(const struct plan *p, struct row a, struct row b)
{
    for (uint32_t c = 0; c < p->keys; c++)
        if (!cell_same(p->format[c], a.model->column[c].cell[a.row], b.model->column[c].cell[b.row]))
            return 0;
    return 1;
}

void walk(const struct plan *p, struct due *d)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < p->frames; i++)
        all += p->model[i].rows;
    *d = (struct due){0, 0, calloc(all + 1, sizeof *d->first), calloc(all + 1, sizeof *d->row),
                      calloc(all + 1, sizeof *d->group)};
    if (!d->first || !d->row || !d->group)
        abort();
    for (uint32_t i = 0; i < p->frames; i++)
        for (uint64_t row = 0; row < p->model[i].rows; row++) {
            struct row r = {&p->model[i], row};
            uint64_t g = 0;
            int out = 0;
            for (uint32_t c = 0; c < p->keys; c++)
                out |= p->skips && !p->nulls_equal[c] && !r.model->column[c].cell[row].bytes;
            while (!out && g < d->groups && !same_keys(p, d->first[g], r))
                g++;
            if (out)
                continue;
            if (g == d->groups)
                d->first[d->groups++] = r;
            d->row[d->rows] = r;
            d->group[d->rows++] = g;
        }
}

void due_close(struct due *d)
{
    free(d->first);
    free(d->row);
    free(d->group);
}

static wide integer_of(const char *format, struct cell c)
{
    uint64_t v = 0;
    memcpy(&v, c.bytes, c.length);
    if (strchr("csil", format[0]) && c.length < 8 && v >> (8 * c.length - 1))
        v |= ~0ull << 8 * c.length;
    return strchr("csil", format[0]) ? (wide)(int64_t)v : (wide)v;
}

static double float_of(const char *format, struct cell c)
{
    float f;
    double d;
    uint16_t h;
    if (format[0] == 'e') {
        memcpy(&h, c.bytes, 2);
        int e = h >> 10 & 31;
        double m = h & 0x3ff, v = e == 31 ? (m != 0 ? NAN : INFINITY)
                                  : e     ? ldexp(m + 1024, e - 25)
                                          : ldexp(m, -24);
        return h >> 15 ? -v : v;
    }
    memcpy(&f, c.bytes, 4);
    if (format[0] == 'f')
        return f;
    memcpy(&d, c.bytes, 8);
    return d;
}

static long double number_of(const char *format, struct cell c)
{
    if (is_decimal(format)) {
        wide value;
        memcpy(&value, c.bytes, 16);
        return (long double)value / powl(10, atoi(strchr(format, ',') + 1));
    }
    return is_float(format) ? (long double)float_of(format, c) : (long double)integer_of(format, c);
}

/* What there is of a group's column that is not null. */
struct cells {
    uint64_t count, rows;
    struct cell *cell;
};

static struct cells cells_of(const struct due *d, uint64_t group, uint32_t column)
{
    struct cells v = {0, 0, calloc(d->rows + 1, sizeof *v.cell)};
    for (uint64_t i = 0; v.cell && i < d->rows; i++) {
        struct cell c = d->row[i].model->column[column].cell[d->row[i].row];
        if (d->group[i] != group)
            continue;
        v.rows++;
        if (c.bytes)
            v.cell[v.count++] = c;
    }
    if (!v.cell)
        abort();
    return v;
}

/* The sum of decimals: its words of 64 bits, the upper ones with a sign, of which there may be many. 0: it
 * has more than 38 digits. */
static int decimal_sum(const struct cells *v, wide *sum)
{
    wide high = 0, low = 0, most = 1;
    for (uint64_t i = 0; i < v->count; i++) {
        uint64_t word[2];
        memcpy(word, v->cell[i].bytes, 16);
        low += word[0];
        high += (int64_t)word[1];
    }
    high += low >> 64;
    *sum = (wide)((wide_bits)high << 64 | (uint64_t)low);
    for (int i = 0; i < 38; i++)
        most *= 10;
    return *sum >> 64 == high && *sum<most && * sum> - most;
}

/* Does an integer sum of some group not fit? */
int overflows(const struct plan *p, const struct due *d)
{
    for (uint32_t i = 0; i < p->aggregates; i++)
        for (uint64_t g = 0; p->aggregate[i].op == COHORT_AGGREGATE_SUM && g < d->groups; g++) {
            const char *f = p->format[p->column[i]];
            struct cells v = cells_of(d, g, p->column[i]);
            wide sum = 0;
            const int is_wide = is_decimal(f), fits = !is_wide || decimal_sum(&v, &sum);
            for (uint64_t k = 0; !is_float(f) && !is_wide && k < v.count; k++)
                sum += integer_of(f, v.cell[k]);
            free(v.cell);
            if (!fits)
                return 1;
            if (is_wide)
                continue;
            if (strchr("csil", f[0]) ? sum != (wide)(int64_t)sum : sum != (wide)(uint64_t)sum)
                return 1;
        }
    return 0;
}

static int near(long double due, double got, long double size)
{
    if (isnan(due) || isnan((double)due) || size > 1e290L)
        return 1;
    if (isinf((double)due))
        return got == (double)due;
    return fabsl(due - got) <= 1e-11L * size + 1e-300L;
}

static int check_float(cohort_aggregate_op op, const char *f, const struct cells *v, double got)
{
    long double sum = 0, size = 0, mean, squares = 0, most = 0;
    for (uint64_t i = 0; i < v->count; i++) {
        long double x = number_of(f, v->cell[i]);
        sum += x;
        size += fabsl(x);
        most = fabsl(x) > most ? fabsl(x) : most;
    }
    if (isnan(sum))
        return isnan(got);
    if (op == COHORT_AGGREGATE_SUM)
        return near(sum, got, size);
    mean = sum / (long double)v->count;
    if (op == COHORT_AGGREGATE_MEAN)
        return near(mean, got, size);
    if (isinf(sum) || most > 1e140L)
        return 1;
    for (uint64_t i = 0; i < v->count; i++)
        squares += (number_of(f, v->cell[i]) - mean) * (number_of(f, v->cell[i]) - mean);
    squares /= (long double)v->count - 1;
    if (op == COHORT_AGGREGATE_VAR)
        return near(squares, got, most * most);
    return fabsl(got * (long double)got - squares) <= 1e-10L * most * most + 1e-300L;
}

static int check_cell(cohort_aggregate_op op, const char *f, const struct cells *v, struct cell got)
{
    int least = op == COHORT_AGGREGATE_VAR || op == COHORT_AGGREGATE_SD ? 2 : 1;
    uint64_t number = 0, known = 0, trues = 0;
    double d;
    wide sum = 0;
    struct cell best;
    int counts =
        op == COHORT_AGGREGATE_ROWS || op == COHORT_AGGREGATE_COUNT || op == COHORT_AGGREGATE_NUNIQUE;
    if (!got.bytes)
        return !counts && v->count < (uint64_t)least;
    if (!counts && v->count < (uint64_t)least)
        return 0;
    memcpy(&number, got.bytes, got.length < 8 ? got.length : 8);
    memcpy(&d, &number, 8);
    switch (op) {
    case COHORT_AGGREGATE_ROWS:
        return number == v->rows;
    case COHORT_AGGREGATE_COUNT:
        return number == v->count;
    case COHORT_AGGREGATE_NUNIQUE:
        for (uint64_t i = 0, k; i < v->count; i++) {
            for (k = 0; k < i && !cell_same(f, v->cell[i], v->cell[k]); k++)
                ;
            known += k == i;
        }
        return number == known;
    case COHORT_AGGREGATE_SUM:
        if (is_float(f))
            return check_float(op, f, v, d);
        if (is_decimal(f))
            return decimal_sum(v, &sum) && got.length == 16 && !memcmp(got.bytes, &sum, 16);
        for (uint64_t i = 0; i < v->count; i++)
            sum += integer_of(f, v->cell[i]);
        return number == (uint64_t)(wide_bits)sum;
    case COHORT_AGGREGATE_MEAN:
    case COHORT_AGGREGATE_VAR:
    case COHORT_AGGREGATE_SD:
        return check_float(op, f, v, d);
    case COHORT_AGGREGATE_FIRST:
    case COHORT_AGGREGATE_LAST:
        best = v->cell[op == COHORT_AGGREGATE_FIRST ? 0 : v->count - 1];
        return best.length == got.length && !memcmp(best.bytes, got.bytes, got.length);
    case COHORT_AGGREGATE_ANY:
    case COHORT_AGGREGATE_ALL:
        for (uint64_t i = 0; i < v->count; i++)
            trues += integer_of(f, v->cell[i]) != 0;
        return number == (op == COHORT_AGGREGATE_ANY ? trues > 0 : trues == v->count);
    default:
        best = v->cell[0];
        for (uint64_t i = 1; i < v->count; i++) {
            int order = cell_order(f, v->cell[i], best);
            best = (op == COHORT_AGGREGATE_MIN ? order < 0 : order > 0) ? v->cell[i] : best;
        }
        return cell_same(f, best, got);
    }
}

void check_result(struct test *t, const struct plan *p, const struct due *d, const struct model *m)
{
    if (!EQUAL(t, m->rows, d->groups) || !EQUAL(t, m->columns, p->keys + p->aggregates))
        return;
    for (uint64_t g = 0; g < d->groups; g++) {
        struct row own = {m, g};
        CHECKF(t, same_keys(p, own, d->first[g]), "group %llu has another key", (unsigned long long)g);
    }
    for (uint32_t i = 0; i < p->aggregates; i++)
        for (uint64_t g = 0; g < d->groups; g++) {
            struct cells v = cells_of(d, g, p->column[i]);
            int good =
                check_cell(p->aggregate[i].op, p->format[p->column[i]], &v, m->column[p->keys + i].cell[g]);
            uint64_t count = v.count;
            free(v.cell);
            REQUIREF(t, good, "group %llu: %s of (%s) is wrong; it has %llu values", (unsigned long long)g,
                     m->column[p->keys + i].name, p->format[p->column[i]], (unsigned long long)count);
        }
}

cohort_frame *group_result(struct test *t, const struct plan *p, cohort_group *g, uint32_t flags,
                           int overflow)
{
    cohort_frame *out = NULL;
    cohort_status s = cohort_group_finish(g, flags, &out);
    if (overflow) {
        CHECKF(t, s == COHORT_OVERFLOW && strstr(cohort_message(t->context), "column 'v"), "status %d: %s", s,
               cohort_message(t->context));
        CHECK(t, !out);
    } else {
        REQUIREF(t, !s, "%u keys, %u aggregates: %s", p->keys, p->aggregates, cohort_message(t->context));
    }
    return out;
}

void check_finish(struct test *t, const struct plan *p, const struct due *d, cohort_group *g, int overflow)
{
    struct model m;
    cohort_frame *out = group_result(t, p, g, 0, overflow);
    if (!out)
        return;
    model_of_frame(t, &m, out);
    check_result(t, p, d, &m);
    model_close(&m);
    cohort_frame_release(out);
}
