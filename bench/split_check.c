/* split_check.c: is what came out right? Windows of the output are brought to the host: all of a small one,
 * 64 of a large one. */
#include "split.h"

#include <stdlib.h>
#include <string.h>

enum { WHOLE = 1 << 20, WINDOW = 4096, WINDOWS = 64 };

typedef struct window {
    const split_data *s;
    const split_claim *claim;
    uint64_t first, n;
    char *keys, *column[SPLIT_COLUMNS];
    char wrong[128];
} window;

static uint64_t number_at(const char *from, unsigned bytes, uint64_t i)
{
    if (bytes == 8)
        return ((const uint64_t *)(const void *)from)[i];
    return ((const uint32_t *)(const void *)from)[i];
}

static int says(window *w, uint64_t i, const char *what)
{
    snprintf(w->wrong, sizeof w->wrong, "entry %llu %s", (unsigned long long)(w->first + i), what);
    return 0;
}

static int entry_right(window *w, uint64_t i)
{
    const split_data *s = w->s;
    const split_claim *c = w->claim;
    unsigned key_bytes = s->width->key, bytes = s->width->column;
    uint64_t key = number_at(w->keys, key_bytes, i), at = w->first + i, index = 0;
    int part_goes_on = 0;
    if (c->offsets) {
        uint32_t part = c->part(c->arg, key);
        if (part >= c->parts || at < c->offsets[part] || at >= c->offsets[part + 1])
            return says(w, i, "is in another part than its key");
        part_goes_on = i && c->part(c->arg, number_at(w->keys, key_bytes, i - 1)) == part;
    }
    for (unsigned k = 0; k < s->width->columns; k++) {
        index = number_at(w->column[k], bytes, i);
        if (index >= s->n || bench_input_key(&s->input, index) != key)
            return says(w, i, "has the payload of another key");
        if (i && c->stable && part_goes_on && index <= number_at(w->column[k], bytes, i - 1))
            return says(w, i, "comes after one that it should precede");
    }
    if (i && c->sorted) {
        uint64_t before = number_at(w->keys, key_bytes, i - 1);
        if (before > key)
            return says(w, i, "has a lesser key than the one before");
        if (before == key && s->width->columns && index <= number_at(w->column[0], bytes, i - 1))
            return says(w, i, "comes after one that it should precede");
    }
    return 1;
}

static cohort_status window_take(window *w, uint64_t first, uint64_t n)
{
    const split_data *s = w->s;
    cohort_context *context = s->b->dev.context;
    unsigned key = s->width->key, bytes = s->width->column;
    w->first = first;
    w->n = n;
    cohort_status status = cohort_copy(context, w->keys, (char *)s->keys_out + first * key, n * key);
    for (unsigned k = 0; k < s->width->columns && !status; k++)
        status = cohort_copy(context, w->column[k], (char *)s->column[k].out + first * bytes, n * bytes);
    return status;
}

static cohort_status windows_take(window *w)
{
    uint64_t n = w->claim->n, count = n <= WHOLE ? 1 : WINDOWS, size = n <= WHOLE ? n : WINDOW;
    cohort_status status = COHORT_OK;
    for (uint64_t k = 0; k < count && !status && n && !*w->wrong; k++) {
        status = window_take(w, count > 1 ? (n - size) / (count - 1) * k : 0, size);
        for (uint64_t i = 0; i < size && !status && entry_right(w, i); i++)
            ;
    }
    return status;
}

static cohort_status sums_take(window *w)
{
    const split_data *s = w->s;
    cohort_context *context = s->b->dev.context;
    uint64_t sum = 0, expected = s->key_sum;
    cohort_status status = cohort_reduce(context, COHORT_OP_ADD, s->n,
                                         s->width->key == 8 ? COHORT_U64 : COHORT_U32, s->keys_out, &sum);
    if (!status && sum != expected)
        snprintf(w->wrong, sizeof w->wrong, "the sum of the keys is another");
    for (unsigned k = 0; k < s->width->columns && !status && !*w->wrong; k++) {
        status = cohort_reduce(context, COHORT_OP_ADD, s->n, s->width->column == 8 ? COHORT_U64 : COHORT_U32,
                               s->column[k].out, &sum);
        if (!status && sum != s->column_sum)
            snprintf(w->wrong, sizeof w->wrong, "the sum of payload column %u is another", k);
    }
    return status == COHORT_UNSUPPORTED ? COHORT_OK : status; /* a device without sums goes without */
}

/* With keys alone order inside a part cannot be told from an entry: the host splits them too. */
static cohort_status order_take(window *w)
{
    const split_data *s = w->s;
    const split_claim *c = w->claim;
    uint64_t *at = malloc((c->parts + 1) * sizeof *at);
    if (!at)
        return COHORT_NO_MEMORY;
    memcpy(at, c->offsets, (c->parts + 1) * sizeof *at);
    for (uint64_t i = 0; i < s->n && !*w->wrong; i++) {
        uint64_t key = bench_input_key(&s->input, i), part = c->part(c->arg, key);
        if (part < c->parts && number_at(w->keys, s->width->key, at[part]++) != key)
            says(w, at[part] - 1, "is not the one that input order puts there");
    }
    free(at);
    return COHORT_OK;
}

int split_check(const split_data *s, const split_claim *claim, const bench_row *row, fault *fault)
{
    window w = {s, claim, 0, 0, NULL, {NULL}, ""};
    uint64_t size = claim->n <= WHOLE ? claim->n : WINDOW;
    char text[256];
    cohort_status status = COHORT_OK;
    w.keys = malloc((size + 1) * s->width->key);
    if (!w.keys)
        status = COHORT_NO_MEMORY;
    for (unsigned k = 0; k < s->width->columns && !status; k++)
        if (!(w.column[k] = malloc((size + 1) * s->width->column)))
            status = COHORT_NO_MEMORY;
    if (!status)
        status = windows_take(&w);
    if (!status && !*w.wrong && claim->sums && s->n)
        status = sums_take(&w);
    if (!status && !*w.wrong && claim->stable && !s->width->columns && s->n <= WHOLE)
        status = order_take(&w);
    free(w.keys);
    for (unsigned k = 0; k < s->width->columns; k++)
        free(w.column[k]);
    if (status)
        return bench_fault(s->b, status, bench_row_text(text, row), fault);
    if (*w.wrong)
        return fault_set(fault, CLI_FAILED, "%s: wrong result: %s", bench_row_text(text, row), w.wrong);
    return CLI_OK;
}

int split_check_offsets(const split_data *s, const uint64_t *device, const uint64_t *expected, uint64_t count,
                        const bench_row *row, fault *fault)
{
    char text[256];
    uint64_t *got = malloc((count + 1) * sizeof *got), i = 0;
    cohort_status status =
        got ? cohort_copy(s->b->dev.context, got, device, count * sizeof *got) : COHORT_NO_MEMORY;
    while (!status && i < count && got[i] == expected[i])
        i++;
    if (status)
        bench_fault(s->b, status, bench_row_text(text, row), fault);
    else if (i < count)
        fault_set(fault, CLI_FAILED, "%s: wrong result: number %llu is %llu, must be %llu",
                  bench_row_text(text, row), (unsigned long long)i, (unsigned long long)got[i],
                  (unsigned long long)expected[i]);
    free(got);
    return status || i < count ? fault->status : CLI_OK;
}
