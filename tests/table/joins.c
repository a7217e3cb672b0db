/* joins.c: what joins are held against. */
#include "joins.h"

/* ---- the oracle: every row against every row ----------------------------------------------------------- */

void pairs_add(struct pairs *p, uint64_t left, uint64_t right)
{
    if (p->count == p->room) {
        p->room = 2 * p->room + 64;
        p->left = realloc(p->left, p->room * 8);
        p->right = realloc(p->right, p->room * 8);
        if (!p->left || !p->right)
            abort();
    }
    p->left[p->count] = left;
    p->right[p->count++] = right;
}

void pairs_free(struct pairs *p)
{
    free(p->left);
    free(p->right);
    *p = (struct pairs){0};
}

int rows_match(const struct model *a, uint64_t i, const struct model *b, uint64_t j,
               const uint8_t *nulls_equal)
{
    for (uint32_t c = 0; c < a->columns; c++) {
        struct cell x = a->column[c].cell[i], y = b->column[c].cell[j];
        if (!cell_same(a->column[c].format, x, y) || (!x.bytes && !(nulls_equal && nulls_equal[c])))
            return 0;
    }
    return 1;
}

/* The pairs of a probe; met[j] is set for right rows that have one. */
struct pairs pairs_naive(const struct model *left, const struct model *right, const uint8_t *nulls_equal,
                         int kind, uint8_t *met)
{
    struct pairs p = {0};
    for (uint64_t i = 0; i < left->rows; i++) {
        uint64_t found = 0;
        for (uint64_t j = 0; j < right->rows; j++) {
            if (!rows_match(left, i, right, j, nulls_equal))
                continue;
            if (kind != COHORT_JOIN_ANTI && (kind != COHORT_JOIN_SEMI || !found))
                pairs_add(&p, i, j);
            if (kind == COHORT_JOIN_RIGHT || kind == COHORT_JOIN_FULL)
                met[j] = 1;
            found++;
        }
        if (!found && (kind == COHORT_JOIN_LEFT || kind == COHORT_JOIN_FULL || kind == COHORT_JOIN_ANTI))
            pairs_add(&p, i, COHORT_NO_ROW);
    }
    return p;
}

struct pairs pairs_naive_rest(uint64_t rows, const uint8_t *met)
{
    struct pairs p = {0};
    for (uint64_t j = 0; j < rows; j++)
        if (!met[j])
            pairs_add(&p, COHORT_NO_ROW, j);
    return p;
}

/* ---- pages --------------------------------------------------------------------------------------------- */

/* Reads all pairs of `from` (or, if NULL, of the join's rest) in pages of this size. */
void pairs_check(struct test *t, cohort_join *join, cohort_matches *from, const struct pairs *due,
                 uint64_t capacity, uint32_t bytes, int want)
{
    struct column *left = want & 1 ? column_new(t, capacity, bytes) : NULL;
    struct column *right = want & 2 ? column_new(t, capacity, bytes) : NULL;
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    uint64_t mask = bytes == 4 ? UINT32_MAX : UINT64_MAX;
    page.bytes = bytes;
    page.capacity = capacity;
    do {
        page.left = column_pointer(left);
        page.right = column_pointer(right);
        OK(t, from ? cohort_join_pairs(from, &page) : cohort_join_finish(join, &page));
        REQUIREF(t, page.total == due->count, "%llu pairs, not %llu", (unsigned long long)page.total,
                 (unsigned long long)due->count);
        uint64_t rest = due->count > page.first ? due->count - page.first : 0;
        REQUIRE(t, page.written == (rest < capacity ? rest : capacity));
        if (left)
            column_fetch(left);
        if (right)
            column_fetch(right);
        for (uint64_t i = 0; i < page.written; i++) {
            uint64_t at = page.first + i;
            uint64_t l = left ? column_get(left, i) : due->left[at] & mask;
            uint64_t r = right ? column_get(right, i) : due->right[at] & mask;
            REQUIREF(t, l == (due->left[at] & mask) && r == (due->right[at] & mask),
                     "pair %llu of %llu, pages of %llu: (%llx, %llx), not (%llx, %llx)",
                     (unsigned long long)at, (unsigned long long)due->count, (unsigned long long)capacity,
                     (unsigned long long)l, (unsigned long long)r, (unsigned long long)due->left[at],
                     (unsigned long long)due->right[at]);
        }
        page.first += page.written;
    } while (page.written);
    column_drop(t, NULL);
}

/* ---- by the arithmetic of keys ------------------------------------------------------------------------- */

void known_open(struct known *k, uint64_t n, const uint64_t *keys, uint64_t distinct)
{
    k->distinct = distinct;
    k->start = calloc(distinct + 2, 8);
    k->row = malloc((n + 1) * 8);
    if (!k->start || !k->row)
        abort();
    for (uint64_t i = 0; i < n; i++)
        k->start[keys[i] + 2]++;
    for (uint64_t i = 1; i < distinct + 2; i++)
        k->start[i] += k->start[i - 1];
    for (uint64_t i = 0; i < n; i++)
        k->row[k->start[keys[i] + 1]++] = i;
}

void known_close(struct known *k)
{
    free(k->start);
    free(k->row);
}

uint64_t spread(uint64_t key, int how)
{
    return how == 0 ? key + 1000 : how == 1 ? test_mix(key) : (0ull - 5) + key * 3;
}

cohort_join_method any_method(struct test *t)
{
    static const cohort_join_method methods[] = {COHORT_JOIN_AUTO, COHORT_JOIN_PARTITIONED,
                                                 COHORT_JOIN_FACTOR};
    return methods[test_below(t, 3)];
}
