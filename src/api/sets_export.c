/* sets_export.c: collections into arrays: members, ranges, bitmaps. Blobs are in sets_export_roaring.c.
 *
 * First the sizes of the sets asked for, summed up; if the arrays have room for them, all chunks at once
 * (shape/sets_ask.h). */
#include "api/sets.h"

#include <string.h>

#include "api/options.h"

struct export
{
    cohort_sets_target target;
    const cohort_sets *sets;
    struct batch batch;
    struct sets_rooms rooms;
    struct sets_take take;
    uint64_t jobs;
};

/* ---- checks -------------------------------------------------------------------------------------------- */

static cohort_status check_numbers(const struct batch *b, cohort_sets_target *d)
{
    if ((int)d->form < COHORT_FORM_MEMBERS || (int)d->form > COHORT_FORM_ROARING)
        return batch_fail(b, COHORT_RANGE, "target.form is %d; there are %d to %d", (int)d->form,
                          COHORT_FORM_MEMBERS, COHORT_FORM_ROARING);
    if (d->reserved)
        return batch_fail(b, COHORT_RANGE, "target.reserved is %u; it must be 0", d->reserved);
    if (d->lasts && d->form != COHORT_FORM_RANGES)
        return batch_fail(b, COHORT_RANGE, "target.lasts is given, which form %d has no use for",
                          (int)d->form);
    if (d->groups && d->form > COHORT_FORM_RANGES)
        return batch_fail(b, COHORT_RANGE, "target.groups is given, which form %d has no use for",
                          (int)d->form);
    if ((d->bits || d->stride || d->bits_offset) && d->form != COHORT_FORM_BITMAPS)
        return batch_fail(b, COHORT_RANGE, "target.%s is given, which form %d has no use for",
                          d->bits     ? "bits"
                          : d->stride ? "stride"
                                      : "bits_offset",
                          (int)d->form);
    if (d->offsets && d->form == COHORT_FORM_BITMAPS)
        return batch_fail(b, COHORT_RANGE, "target.offsets is given, which form %d has no use for",
                          (int)d->form);
    if (d->blob_type && d->form != COHORT_FORM_ROARING)
        return batch_fail(b, COHORT_RANGE, "target.blob_type is given, which form %d has no use for",
                          (int)d->form);
    if (!d->group_type)
        d->group_type = COHORT_U32;
    return d->groups ? sets_check_type(b->context, b->call, "target.group_type", d->group_type) : COHORT_OK;
}

/* From the first bit of the first to the last of the last. */
static uint64_t bitmaps_bits(const cohort_sets_target *d)
{
    return d->n ? (d->n - 1) * d->stride * 8 + d->bits : 0;
}

static cohort_status check_bitmaps(const struct batch *b, cohort_sets_target *d)
{
    uint64_t least = d->bits / 32 * 4 + (d->bits % 32 ? 4 : 0);
    if (d->bits > UINT64_MAX / 16)
        return batch_fail(b, COHORT_OVERFLOW, "target.bits is %llu", (unsigned long long)d->bits);
    if (!d->stride)
        d->stride = least;
    if (d->stride % 4 || d->stride < least)
        return batch_fail(
            b, COHORT_RANGE,
            "target.stride is %llu; with target.bits = %llu it must be a multiple of 4 from %llu on",
            (unsigned long long)d->stride, (unsigned long long)d->bits, (unsigned long long)least);
    if (d->stride && d->n > UINT64_MAX / 16 / d->stride)
        return batch_fail(b, COHORT_OVERFLOW,
                          "target.n is %llu; so many bitmaps do not fit in 64 bits of bytes",
                          (unsigned long long)d->n);
    d->total = bits_bytes(d->bits_offset % 8, bitmaps_bits(d));
    return COHORT_OK;
}

static cohort_status list_arrays(struct export *k)
{
    cohort_sets_target *d = &k->target;
    struct sets_take *t = &k->take;
    struct batch *b = &k->batch;
    const unsigned flags = BATCH_OUT | BATCH_OPTIONAL | BATCH_PARTLY;
    unsigned bytes = t->view.wide ? 8 : 4;
    if (d->form == COHORT_FORM_ROARING) {
        batch_array(b, "target.which", BATCH_IN | BATCH_EITHER | BATCH_OPTIONAL, d->which, d->n, 8, NULL);
        batch_array(b, "target.members", BATCH_OUT | BATCH_OPTIONAL, d->members, d->capacity, 1, NULL);
        return COHORT_OK;
    }
    if (d->which)
        batch_array(b, "target.which", BATCH_IN | BATCH_EITHER, d->which, d->n, 8, &t->which);
    if (d->form == COHORT_FORM_BITMAPS) {
        cohort_status status = check_bitmaps(b, d);
        if (!status)
            batch_bitmap(b, "target.members", BATCH_OUT, d->members, d->bits_offset, bitmaps_bits(d),
                         &t->bitmaps)
                ->bits_flags |= BITS_WHOLE;
        return status;
    }
    batch_array(b, "target.members", flags, d->members, d->capacity, bytes, &t->members)->written =
        BATCH_SOME;
    batch_array(b, "target.lasts", flags, d->lasts, d->capacity, bytes, &t->lasts)->written = BATCH_SOME;
    batch_array(b, "target.groups", flags, d->groups, d->capacity, sets_member_bytes(d->group_type),
                &t->groups)
        ->written = BATCH_SOME;
    return COHORT_OK;
}

/* The offsets come from the sums; they have no room of their own in between. */
static cohort_status check_offsets(const struct export *k)
{
    const cohort_sets_target *d = &k->target;
    enum memory_kind kind;
    if (!d->offsets)
        return COHORT_OK;
    if ((uintptr_t)d->offsets % 8)
        return batch_fail(&k->batch, COHORT_BAD_POINTER,
                          "target.offsets is %p, which is not aligned to 8 bytes", (void *)d->offsets);
    return pointer_check(k->batch.context, "target.offsets", d->offsets, &kind);
}

/* ---- work ---------------------------------------------------------------------------------------------- */

static cohort_status do_take(struct export *k, enum sets_take_kind kind, uint64_t items)
{
    k->take.items = items;
    return k->batch.context->backend->sets->take(k->batch.context, &k->take, kind);
}

static cohort_status fail_which(const struct export *k, uint64_t at)
{
    uint64_t set = 0;
    cohort_status status = sets_read(k->batch.context, &set, k->take.which + at);
    return status
               ? status
               : batch_fail(&k->batch, COHORT_RANGE, "target.which[%llu] is %llu; the collection has %llu %s",
                            (unsigned long long)at, (unsigned long long)set,
                            COUNTED(k->take.view.sets, "set", "sets"));
}

#define SIZES_AT_ONCE 1024u

/* A set may be asked for again and again: do all members that are asked for fit in 64 bits? Those of the
 * collection do. */
static cohort_status check_sum(const struct export *k)
{
    const struct sets_take *t = &k->take;
    cohort_context *context = k->batch.context;
    uint64_t all = 0, sum = 0, sizes[SIZES_AT_ONCE];
    if (!t->which || k->target.form != COHORT_FORM_MEMBERS)
        return COHORT_OK;
    cohort_status status = sets_read(context, &all, t->view.before + t->view.chunks);
    all += k->sets->counts.listed;
    if (status || !all || t->n <= UINT64_MAX / all)
        return status;
    for (uint64_t at = 0, n; at < t->n && !status; at += n) {
        n = t->n - at < SIZES_AT_ONCE ? t->n - at : SIZES_AT_ONCE;
        status = context_copy(context, sizes, t->entries + at, n * sizeof *sizes);
        for (uint64_t i = 0; i < n && !status; i++)
            if (__builtin_add_overflow(sum, sizes[i], &sum))
                return batch_fail(&k->batch, COHORT_OVERFLOW,
                                  "target.n is %llu; the sets of target.which have more members than fit in "
                                  "64 bits",
                                  (unsigned long long)t->n);
    }
    return status;
}

/* Jobs and entries of the sets asked for. */
static cohort_status measure(struct export *k, uint64_t *total)
{
    struct sets_take *t = &k->take;
    cohort_context *context = k->batch.context;
    uint64_t bad = UINT64_MAX;
    cohort_status status = sets_room(&k->rooms, t->n + 1, 8, &t->jobs);
    if (!status)
        status = sets_room(&k->rooms, t->n + 1, 8, &t->entries);
    if (!status)
        status = sets_room(&k->rooms, 1, 8, &t->first_bad);
    if (!status)
        status = context_fill(context, t->first_bad, 0xff, 8);
    if (!status)
        status = do_take(k, SETS_TAKE_SIZES, t->n);
    if (!status)
        status = sets_read(context, &bad, t->first_bad);
    if (!status && bad != UINT64_MAX)
        status = fail_which(k, bad);
    if (!status)
        status = check_sum(k);
    if (!status)
        status = sets_sum(context, t->jobs, t->n, &k->jobs);
    return status ? status : sets_sum(context, t->entries, t->n, total);
}

static cohort_status measure_ranges(struct export *k, uint64_t *total)
{
    struct sets_take *t = &k->take;
    cohort_status status = sets_room(&k->rooms, k->jobs + 1, 8, &t->ranges);
    if (!status)
        status = do_take(k, SETS_TAKE_COUNT, k->jobs);
    return status ? status : sets_sum(k->batch.context, t->ranges, k->jobs, total);
}

static cohort_status tell_offsets(struct export *k)
{
    struct sets_take *t = &k->take;
    cohort_status status = COHORT_OK;
    if (!k->target.offsets)
        return COHORT_OK;
    if (k->target.form == COHORT_FORM_RANGES)
        status = do_take(k, SETS_TAKE_OFFSETS, t->n + 1);
    if (status)
        return status;
    return context_copy(k->batch.context, k->target.offsets, t->entries, (t->n + 1) * 8);
}

static cohort_status check_room(const struct export *k, uint64_t total)
{
    const cohort_sets_target *d = &k->target;
    if ((!d->members && !d->lasts && !d->groups) || total <= d->capacity)
        return COHORT_OK;
    return batch_fail(&k->batch, COHORT_FULL, "target.capacity is %llu; there %s %llu %s",
                      (unsigned long long)d->capacity, total == 1 ? "is" : "are",
                      COUNTED(total, "entry", "entries"));
}

static cohort_status write_entries(struct export *k)
{
    cohort_sets_target *d = &k->target;
    uint64_t total = 0;
    int ranges = d->form == COHORT_FORM_RANGES;
    cohort_status status = measure(k, &total);
    if (!status && ranges)
        status = measure_ranges(k, &total);
    if (!status) {
        d->total = total;
        status = check_room(k, total);
    }
    if (!status && (d->members || d->lasts || d->groups))
        status = do_take(k, ranges ? SETS_TAKE_RANGES : SETS_TAKE_MEMBERS, k->jobs);
    if (!status || status == COHORT_FULL) {
        cohort_status told = tell_offsets(k);
        status = status ? status : told;
    }
    return status;
}

static cohort_status write_bitmaps(struct export *k)
{
    cohort_context *context = k->batch.context;
    uint64_t total;
    cohort_status status = measure(k, &total);
    if (!status)
        status = context_fill(context, k->take.bitmaps, 0, batch_bitmap_words(bitmaps_bits(&k->target)) * 4);
    return status ? status : do_take(k, SETS_TAKE_BITS, k->jobs);
}

static cohort_status export_of(struct export *k)
{
    cohort_sets_target *d = &k->target;
    struct batch *b = &k->batch;
    cohort_status status = check_numbers(b, d);
    if (status)
        return status;
    if (!d->which)
        d->n = k->sets->view.sets;
    d->total = 0;
    memset(&k->take, 0, sizeof k->take);
    b->step = &k->take;
    k->rooms = sets_rooms_begin(b->context);
    k->take.view = k->sets->view;
    k->take.n = d->n;
    k->take.group_bytes = sets_member_bytes(d->group_type);
    status = batch_check_n(b, d->n);
    if (!status)
        status = list_arrays(k);
    k->take.bits = d->bits;
    k->take.stride = d->stride;
    return status;
}

static cohort_status export_run(struct export *k)
{
    uint64_t written[BATCH_WRITTEN_KINDS] = {0, 0, 0};
    cohort_status status = batch_begin(&k->batch);
    if (!status)
        status = k->target.form == COHORT_FORM_BITMAPS ? write_bitmaps(k) : write_entries(k);
    written[BATCH_SOME] = k->target.total;
    sets_rooms_end(&k->rooms);
    cohort_status waited = context_wait(k->batch.context);
    return batch_end(&k->batch, status ? status : waited, written);
}

cohort_status cohort_sets_export(const cohort_sets *sets, cohort_sets_target *target)
{
    CALL_ON(sets);
    struct export k;
    if (!sets)
        return context_fail(NULL, COHORT_NULL, "cohort_sets_export: sets is NULL");
    k.sets = sets;
    cohort_status status = batch_named(&k.batch, sets->context, "cohort_sets_export", "target", target,
                                       sizeof k.target, &k.target);
    if (!status)
        status = export_of(&k);
    if (!status)
        status = batch_check(&k.batch);
    if (!status)
        status = check_offsets(&k);
    if (!status)
        status = k.target.form == COHORT_FORM_ROARING ? sets_export_roaring(sets, &k.target) : export_run(&k);
    if (!status || status == COHORT_FULL)
        target->total = k.target.total;
    return status;
}
