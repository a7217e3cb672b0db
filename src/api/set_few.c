/* set_few.c: updates of a working set by few integers in the host's memory. They are put in order where
 * the call has them, and cut into pieces: no collection is made of them. */
#include <stdlib.h>
#include <string.h>

#include "api/set_change.h"
#include "shape/sets_chunk.h"

#define FEW_MOST      1024u /* members */
#define INSERTED_MOST 24u   /* of so many each is put in its place, of more than so many sorted by bytes */

struct few {
    uint64_t n;
    co_u64 member[FEW_MOST], room[FEW_MOST];
};

int set_few_fit(const cohort_set *set, const cohort_sets_source *d)
{
    const unsigned bytes = sets_member_bytes(d->type);
    if (d->form != COHORT_FORM_MEMBERS || d->groups || d->offsets || d->sets > 1 || d->lasts || d->bases)
        return 0;
    if (d->blob_type || d->bits || d->stride || d->bits_offset)
        return 0;
    return d->n && d->n <= FEW_MOST && d->members && (uintptr_t)d->members % bytes == 0 &&
           set->context->backend->own_memory == MEMORY_HOST &&
           context_memory_kind(set->context, d->members) == MEMORY_HOST;
}

/* ---- order --------------------------------------------------------------------------------------------- */

static void insert_all(struct few *f)
{
    co_u64 *at = f->member;
    for (uint64_t i = 1; i < f->n; i++) {
        const co_u64 v = at[i];
        uint64_t k = i;
        for (; k && at[k - 1] > v; k--)
            at[k] = at[k - 1];
        at[k] = v;
    }
}

/* By the byte from that bit on; those that are alike stay in their order. */
static void sort_by_byte(struct few *f, co_u32 shift)
{
    co_u32 place[256] = {0}, sum = 0;
    for (uint64_t i = 0; i < f->n; i++)
        place[f->member[i] >> shift & 255]++;
    for (co_u32 k = 0; k < 256; k++) {
        const co_u32 n = place[k];
        place[k] = sum;
        sum += n;
    }
    for (uint64_t i = 0; i < f->n; i++)
        f->room[place[f->member[i] >> shift & 255]++] = f->member[i];
    memcpy(f->member, f->room, f->n * sizeof *f->member);
}

/* differ: bits in which not all are the same. */
static void put_in_order(struct few *f, co_u64 differ)
{
    if (f->n <= INSERTED_MOST) {
        insert_all(f);
        return;
    }
    for (co_u32 shift = 0; shift < 64; shift += 8)
        if (differ >> shift & 255)
            sort_by_byte(f, shift);
}

static void drop_duplicates(struct few *f)
{
    uint64_t kept = 1;
    for (uint64_t i = 1; i < f->n; i++) {
        f->member[kept] = f->member[i];
        kept += f->member[i] != f->member[kept - 1];
    }
    f->n = kept;
}

static void read_all(struct few *f, const cohort_sets_source *d)
{
    const int wide = d->type == COHORT_U64;
    co_u64 differ = 0, falls = 0;
    f->n = d->n;
    for (uint64_t i = 0; i < f->n; i++) {
        f->member[i] = sets_number(d->members, i, wide);
        differ |= f->member[i] ^ f->member[0];
        falls |= i && f->member[i] < f->member[i - 1];
    }
    if (falls)
        put_in_order(f, differ);
    drop_duplicates(f);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

/* A piece for each chunk: a part of the list. */
static cohort_status cut(struct changing *c, const struct few *f)
{
    uint64_t chunks = 1, k = 0;
    for (uint64_t i = 1; i < f->n; i++)
        chunks += f->member[i] >> CO_CHUNK_BITS != f->member[i - 1] >> CO_CHUNK_BITS;
    cohort_status status = set_pieces_room(c->context, c->call, chunks, &c->by);
    for (uint64_t i = 0; i < f->n && !status; i++) {
        struct set_piece *p = &c->by.piece[k];
        const co_u64 key = f->member[i] >> CO_CHUNK_BITS;
        if (i && key != p->key)
            p = &c->by.piece[++k];
        if (!p->entries) {
            p->at = &f->member[i];
            p->key = key;
            p->kind = SETS_CHUNK_LIST64;
        }
        p->entries++;
    }
    return status;
}

cohort_status set_few(cohort_set *set, const char *call, enum set_change_kind kind,
                      const cohort_sets_source *d)
{
    struct changing c = {.context = set->context, .call = call, .set = set, .kind = kind};
    struct few f;
    c.rooms = sets_rooms_begin(set->context);
    read_all(&f, d);
    cohort_status status = cut(&c, &f);
    if (!status)
        status = set_check_greatest(&c, f.member[f.n - 1]);
    if (!status)
        status = set_change_listed(&c);
    free(c.by.piece);
    sets_rooms_end(&c.rooms);
    return status;
}
