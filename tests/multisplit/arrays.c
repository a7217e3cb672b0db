/* arrays.c: what arrays.h says. */
#include "arrays.h"

struct arrays arrays_new(struct test *t)
{
    struct arrays a = {
        column_new(t, ARRAYS_N, 4), column_new(t, ARRAYS_N, 4), {0}, {0}, NULL, NULL, NULL, {{0}}};
    for (uint64_t i = 0; i < ARRAYS_N; i++)
        column_put(a.keys, i, i * 7 % 31);
    for (int c = 0; c < 2; c++) {
        a.in[c] = column_new(t, ARRAYS_N, 8);
        a.to[c] = column_new(t, ARRAYS_N, 8);
        payload_fill(a.in[c], (unsigned)c);
        memset(a.to[c]->data, 0x5c, ARRAYS_N * 8);
        a.column[c] = (cohort_payload){column_send(a.in[c]), column_send(a.to[c]), 8, 0};
    }
    a.permutation = column_new(t, ARRAYS_N, 4);
    a.offsets = column_new(t, 65537, 8);
    a.counts = column_new(t, 5, 8);
    memset(a.out->data, 0x5c, ARRAYS_N * 4);
    memset(a.permutation->data, 0x5c, ARRAYS_N * 4);
    memset(a.offsets->data, 0x5c, 65537 * 8);
    memset(a.counts->data, 0x5c, 40);
    struct column *const all[] = {a.keys, a.out, a.permutation, a.offsets, a.counts};
    for (int i = 0; i < 5; i++)
        column_send(all[i]);
    return a;
}

static int untouched(const struct column *c)
{
    for (uint64_t i = 0; i < c->count * c->width; i++)
        if (((unsigned char *)c->data)[i] != 0x5c)
            return 0;
    return 1;
}

void arrays_unharmed(struct test *t, const struct arrays *a)
{
    struct column *const outputs[] = {a->out, a->to[0], a->to[1], a->permutation, a->offsets, a->counts};
    OK(t, cohort_wait(t->context));
    for (int i = 0; i < 6; i++) {
        column_fetch(outputs[i]);
        CHECKF(t, untouched(outputs[i]), "output %d was written", i);
    }
    column_fetch(a->keys);
    for (uint64_t i = 0; i < ARRAYS_N; i++)
        EQUAL(t, column_get(a->keys, i), i * 7 % 31);
}
