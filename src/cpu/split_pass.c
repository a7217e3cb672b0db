/* split_pass.c: one stable pass of multisplit or of radix sort over all the context's threads.
 *
 * The entries are cut into blocks of some thousands and these, in runs, into parts; a part is one thread's. First every block's
 * buckets are counted, and the sums of the parts scanned: now each part knows where its entries of each bucket go. Then the
 * blocks are taken once more. Inside a block an entry's place is known beforehand from the block's counts, so a block is put in
 * order of its buckets in the thread's own memory, in cache, without a test or a branch an entry; its runs are then written to
 * where they belong in whole lines of 16 entries, past the caches where the arrays are larger than these. What does not fill a
 * line is carried over to the next block. (Write-combining buffers as of Balkesen et al., "Main-Memory Hash Joins on Multi-Core CPUs",
 * ICDE 2013, but filled a block at a time.)
 *
 * A block is counted and ranked in four lanes, a quarter each with counts of its own, so that a run of equal keys does not make
 * each addition wait for the one before. */
#include "split.h"

#include <string.h>

#if defined(__x86_64__)
#    include <emmintrin.h>
#endif

#define LANES          4u
#define LINE           16u /* entries written together */
#define LEAST_PART     4u  /* blocks */
#define PARTS_EACH     4u  /* parts a thread */
#define COUNT_UP_GRAIN 65536u
#define CACHED_LEAST   (4ull << 20)

struct wide {
    co_u64 lo, hi;
};

/* A worker's own memory. */
struct own {
    co_u16 *digits;
    co_u16 *places;                 /* of the block's entries in `local` */
    co_u16 *next;                   /* a row a lane: where the next entry of each bucket goes */
    co_u32 *first;                  /* where each bucket begins in `local` */
    co_u32 *count, *write;          /* its entries there; those of them that are written now */
    co_u64 *to;                     /* where its first entry goes in the output */
    char *local;                    /* a block of one array, in order */
    char *carried[CPU_ARRAYS_MOST]; /* LINE entries a bucket, of each array */
};

static co_u32 widest(const struct cpu_pass *p)
{
    co_u32 most = 1;
    for (co_u32 a = 0; a < p->arrays; a++)
        most = p->array[a].bytes > most ? p->array[a].bytes : most;
    return most;
}

static void own_room(const struct cpu_pass *p, struct cpu_room *room, struct own *own)
{
    co_u64 row = p->stride;
    own->digits = cpu_room_take(room, 2ull * p->block);
    own->places = cpu_room_take(room, 2ull * p->block);
    own->next = cpu_room_take(room, 2 * LANES * row);
    own->first = cpu_room_take(room, 4 * row);
    own->count = cpu_room_take(room, 4 * row);
    own->write = cpu_room_take(room, 4 * row);
    own->to = cpu_room_take(room, 8 * row);
    own->local = cpu_room_take(room, (p->block + (row + 1) * LINE) * widest(p));
    for (co_u32 a = 0; a < p->arrays; a++)
        own->carried[a] = cpu_room_take(room, row * LINE * p->array[a].bytes);
}

static co_u64 least(co_u64 a, co_u64 b)
{
    return a < b ? a : b;
}

void cpu_pass_room(cohort_context *context, struct cpu_pass *p, struct cpu_room *room)
{
    co_u64 threads = cpu_device(context)->threads;
    struct cpu_room piece = {NULL, 0};
    struct own own;
    p->block = p->buckets <= 64 ? 8192 : p->buckets <= 512 ? 16384 : 32768;
    p->stride = (p->buckets + 1 + 31) / 32 * 32;
    p->blocks = p->n / p->block + (p->n % p->block != 0);
    p->parts = (co_u32)least(threads > 1 ? threads * PARTS_EACH : 1, p->blocks / LEAST_PART);
    p->parts = p->parts ? p->parts : 1;
    p->rows = cpu_room_take(room, p->blocks * LANES * p->stride * 2);
    p->starts = cpu_room_take(room, (co_u64)p->parts * p->stride * 8);
    p->firsts = cpu_room_take(room, (co_u64)p->parts * 8);
    own_room(p, &piece, &own);
    p->each = piece.bytes;
    p->scratch = cpu_room_take(room, p->each * (p->parts > 1 ? threads : 1));
}

/* ---- counting ------------------------------------------------------------------------------------------------------- */

/* The entries of each of a block's lanes, the last one's and the shorter one's. */
struct lanes {
    co_u32 each, common, length[LANES];
};

static struct lanes lanes_of(co_u32 count)
{
    struct lanes l;
    l.each = (count + LANES - 1) / LANES;
    for (co_u32 k = 0; k < LANES; k++) {
        co_u32 before = k * l.each < count ? k * l.each : count;
        l.length[k] = count - before < l.each ? count - before : l.each;
    }
    l.common = l.length[LANES - 1];
    return l;
}

static void count_block(const struct cpu_pass *p, const co_u16 *restrict digits, co_u32 count,
                        co_u16 *restrict row)
{
    const struct lanes l = lanes_of(count);
    co_u16 *r1 = row + p->stride, *r2 = r1 + p->stride, *r3 = r2 + p->stride;
    memset(row, 0, 2ull * LANES * p->stride);
    for (co_u32 i = 0; i < l.common; i++) {
        row[digits[i]]++;
        r1[digits[l.each + i]]++;
        r2[digits[2 * l.each + i]]++;
        r3[digits[3 * l.each + i]]++;
    }
    for (co_u32 k = 0; k < LANES; k++)
        for (co_u32 i = l.common; i < l.length[k]; i++)
            row[k * p->stride + digits[k * l.each + i]]++;
}

static co_u32 block_count(const struct cpu_pass *p, co_u64 block)
{
    return (co_u32)least(p->block, p->n - block * p->block);
}

static const co_u16 *block_digits(const struct cpu_pass *p, co_u64 block, co_u16 *room)
{
    if (p->source == CPU_FROM_KEPT)
        return p->kept + block * p->block;
    cpu_pass_digits(p, block * p->block, block_count(p, block), room);
    return room;
}

static co_u64 part_begin(const struct cpu_pass *p, co_u64 part)
{
    return p->blocks / p->parts * part + least(part, p->blocks % p->parts);
}

static void add_row(const struct cpu_pass *p, const co_u16 *restrict row, co_u64 *restrict sums)
{
    for (co_u32 b = 0; b <= p->buckets; b++)
        sums[b] += (co_u64)row[b] + row[b + p->stride] + row[b + 2 * p->stride] + row[b + 3 * p->stride];
}

static co_u64 first_bad(const struct cpu_pass *p, const co_u16 *digits, co_u64 block)
{
    co_u32 i = 0;
    while (digits[i] < p->buckets)
        i++;
    return block * p->block + i;
}

static void own_of(const struct cpu_pass *p, unsigned worker, struct own *own)
{
    struct cpu_room room = {p->scratch + (p->parts > 1 ? worker : 0) * p->each, 0};
    own_room(p, &room, own);
}

static void count_parts(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct cpu_pass *p = arg;
    struct own own;
    own_of(p, worker, &own);
    for (co_u64 part = begin; part < end; part++) {
        co_u64 *sums = p->starts + part * p->stride;
        memset(sums, 0, 8ull * p->stride);
        p->firsts[part] = ~0ull;
        for (co_u64 block = part_begin(p, part); block < part_begin(p, part + 1); block++) {
            co_u16 *row = p->rows + block * LANES * p->stride;
            const co_u16 *digits = block_digits(p, block, own.digits);
            count_block(p, digits, block_count(p, block), row);
            add_row(p, row, sums);
            if (sums[p->buckets] && p->firsts[part] == ~0ull)
                p->firsts[part] = first_bad(p, digits, block);
        }
    }
}

/* From counts to where each part's entries go. */
static void scan_starts(struct cpu_pass *p)
{
    co_u64 sum = 0;
    for (co_u32 b = 0; b <= p->buckets; b++) {
        p->offsets[b] = sum;
        for (co_u32 part = 0; part < p->parts; part++) {
            co_u64 *start = p->starts + (co_u64)part * p->stride + b, count = *start;
            *start = sum;
            sum += count;
        }
    }
    p->bad = p->n - p->offsets[p->buckets];
    p->first_bad = ~0ull;
    for (co_u32 part = p->parts; p->bad && part--;)
        p->first_bad = p->firsts[part] == ~0ull ? p->first_bad : p->firsts[part];
}

void cpu_pass_count(cohort_context *context, struct cpu_pass *p)
{
    if (!p->blocks)
        memset(p->starts, 0, 8ull * p->stride);
    else
        cpu_parallel(context, p->parts, 1, count_parts, p);
    scan_starts(p);
}

/* ---- moving --------------------------------------------------------------------------------------------------------- */

/* Where the buckets of a block lie in `local`, and up to where each can be written: to the last whole line. */
static void lay_out(const struct cpu_pass *p, const co_u16 *restrict row, struct own *own)
{
    co_u32 at = 0, stride = p->stride;
    for (co_u32 b = 0; b <= p->buckets; b++) {
        co_u32 carried = own->count[b] - own->write[b], place = at + carried;
        co_u64 to = own->to[b] + own->write[b];
        own->first[b] = at;
        for (co_u32 k = 0; k < LANES; k++) {
            own->next[k * stride + b] = (co_u16)place;
            place += row[k * stride + b];
        }
        co_u64 line = ((to + (place - at) + p->phase) & ~(co_u64)(LINE - 1)) - p->phase;
        own->count[b] = place - at;
        own->write[b] = line + p->phase > to + p->phase ? (co_u32)(line - to) : 0;
        own->to[b] = to;
        at = place;
    }
    own->write[p->buckets] = own->count[p->buckets]; /* those with no bucket are not carried on */
}

CO_INLINE void rank(const struct cpu_pass *p, const co_u16 *restrict digits, co_u32 count,
                    const struct own *own)
{
    const struct lanes l = lanes_of(count);
    co_u16 *restrict places = own->places;
    co_u16 *n0 = own->next, *n1 = n0 + p->stride, *n2 = n1 + p->stride, *n3 = n2 + p->stride;
    for (co_u32 i = 0; i < l.common; i++) {
        places[i] = n0[digits[i]]++;
        places[l.each + i] = n1[digits[l.each + i]]++;
        places[2 * l.each + i] = n2[digits[2 * l.each + i]]++;
        places[3 * l.each + i] = n3[digits[3 * l.each + i]]++;
    }
    for (co_u32 k = 0; k < LANES; k++)
        for (co_u32 i = l.common; i < l.length[k]; i++)
            places[k * l.each + i] = own->next[k * p->stride + digits[k * l.each + i]]++;
}

#define PLACE(T, value)                \
    for (co_u32 i = 0; i < count; i++) \
    ((T *)(void *)own->local)[own->places[i]] = (value)

/* A block of one array into `local`, in order. */
static void place(const struct cpu_pass *p, const struct cpu_array *array, co_u64 first, co_u32 count,
                  const struct own *own)
{
    co_u64 number = p->first + first;
    const void *in = array->in ? (const char *)array->in + first * array->bytes : NULL;
    if (!in && array->bytes == 4)
        PLACE(co_u32, (co_u32)(number + i));
    else if (!in)
        PLACE(co_u64, number + i);
    else if (array->bytes == 1)
        PLACE(co_u8, ((const co_u8 *)in)[i]);
    else if (array->bytes == 2)
        PLACE(co_u16, ((const co_u16 *)in)[i]);
    else if (array->bytes == 4)
        PLACE(co_u32, ((const co_u32 *)in)[i]);
    else if (array->bytes == 8)
        PLACE(co_u64, ((const co_u64 *)in)[i]);
    else
        PLACE(struct wide, ((const struct wide *)in)[i]);
}

/* Before a block: what was carried goes to the front of each bucket. Whole lines; what is too much is overwritten by what follows. */
CO_INLINE void put_carried(const struct cpu_pass *p, const struct own *own, const char *carried, co_u32 bytes)
{
    for (co_u32 b = 0; b < p->buckets; b++)
        memcpy(own->local + (co_u64)own->first[b] * bytes, carried + (co_u64)b * LINE * bytes, LINE * bytes);
}

CO_INLINE void write_line(char *to, const char *from, co_u32 bytes, int streaming)
{
#if defined(__x86_64__)
    if (streaming) {
        for (co_u32 i = 0; i < LINE * bytes; i += 16)
            _mm_stream_si128((__m128i *)(void *)(to + i),
                             _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
        return;
    }
#endif
    (void)streaming;
    memcpy(to, from, LINE * bytes);
}

/* After a block: whole lines to the output, the rest is carried. The first line of a part's bucket may be a part of one. */
CO_INLINE void write_out(const struct cpu_pass *p, const struct own *own, const struct cpu_array *array,
                         char *carried, co_u32 bytes, int streaming)
{
    for (co_u32 b = 0; b < p->buckets; b++) {
        const char *from = own->local + (co_u64)own->first[b] * bytes;
        char *to = (char *)array->out + own->to[b] * bytes;
        co_u32 left = own->write[b], head = (co_u32) - (own->to[b] + p->phase) & (LINE - 1);
        if (left && head) {
            memcpy(to, from, (size_t)head * bytes);
            to += (size_t)head * bytes;
            from += (size_t)head * bytes;
            left -= head;
        }
        for (; left; left -= LINE, to += LINE * bytes, from += LINE * bytes)
            write_line(to, from, bytes, streaming);
        memcpy(carried + (co_u64)b * LINE * bytes, from, LINE * bytes);
    }
}

CO_INLINE void move_array(const struct cpu_pass *p, const struct own *own, co_u32 a, co_u64 first,
                          co_u32 count, co_u32 bytes)
{
    const struct cpu_array *array = &p->array[a];
    int aligned = ((co_u64)(uintptr_t)array->out - (co_u64)p->phase * bytes) % 64 == 0 && bytes >= 4;
    put_carried(p, own, own->carried[a], bytes);
    place(p, array, first, count, own);
    if (p->streaming && aligned)
        write_out(p, own, array, own->carried[a], bytes, 1);
    else
        write_out(p, own, array, own->carried[a], bytes, 0);
}

static void move_block(const struct cpu_pass *p, const struct own *own, co_u64 first, co_u32 count)
{
    for (co_u32 a = 0; a < p->arrays; a++)
        switch (p->array[a].bytes) {
        case 1:
            move_array(p, own, a, first, count, 1);
            break;
        case 2:
            move_array(p, own, a, first, count, 2);
            break;
        case 4:
            move_array(p, own, a, first, count, 4);
            break;
        case 8:
            move_array(p, own, a, first, count, 8);
            break;
        default:
            move_array(p, own, a, first, count, 16);
        }
}

/* What a part carries at its end. */
static void write_rest(const struct cpu_pass *p, const struct own *own)
{
    for (co_u32 a = 0; a < p->arrays; a++)
        for (co_u32 b = 0; b < p->buckets; b++) {
            co_u64 bytes = p->array[a].bytes, to = own->to[b] + own->write[b];
            memcpy((char *)p->array[a].out + to * bytes, own->carried[a] + b * LINE * bytes,
                   (own->count[b] - own->write[b]) * bytes);
        }
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

static void move_parts(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct cpu_pass *p = arg;
    struct own own;
    own_of(p, worker, &own);
    for (co_u64 part = begin; part < end; part++) {
        memset(own.count, 0, 4ull * p->stride);
        memset(own.write, 0, 4ull * p->stride);
        memcpy(own.to, p->starts + part * p->stride, 8ull * p->stride);
        for (co_u64 block = part_begin(p, part); block < part_begin(p, part + 1); block++) {
            const co_u16 *digits = block_digits(p, block, own.digits);
            lay_out(p, p->rows + block * LANES * p->stride, &own);
            rank(p, digits, block_count(p, block), &own);
            move_block(p, &own, block * p->block, block_count(p, block));
        }
        write_rest(p, &own);
    }
}

/* Lines are those of the first array that is 4 bytes wide or more; the others' are too where they are aligned alike. */
static void choose_lines(cohort_context *context, struct cpu_pass *p)
{
    co_u64 all = 0, cache = cpu_device(context)->cache_bytes;
    p->phase = 0;
    for (co_u32 a = p->arrays; a--;) {
        co_u32 bytes = p->array[a].bytes;
        all += p->n * bytes;
        if (bytes >= 4)
            p->phase = (co_u32)((uintptr_t)p->array[a].out / bytes) & (LINE - 1);
    }
    p->streaming = all > CACHED_LEAST && 2 * all > cache;
}

void cpu_pass_move(cohort_context *context, struct cpu_pass *p)
{
    choose_lines(context, p);
    if (p->arrays && p->blocks)
        cpu_parallel(context, p->parts, 1, move_parts, p);
}

void cpu_pass_arrays(struct cpu_pass *p, const void *keys, void *keys_out, co_u32 key_bytes,
                     const struct split_column *column, co_u32 columns, void *permutation,
                     co_u32 permutation_bytes)
{
    p->arrays = 0;
    if (keys_out)
        p->array[p->arrays++] = (struct cpu_array){keys, keys_out, key_bytes};
    for (co_u32 c = 0; c < columns; c++)
        if (column[c].out)
            p->array[p->arrays++] = (struct cpu_array){column[c].in, column[c].out, column[c].bytes};
    if (permutation)
        p->array[p->arrays++] = (struct cpu_array){NULL, permutation, permutation_bytes};
}

struct counting_up {
    const struct cpu_array *array;
    co_u64 first;
};

static void count_up(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct counting_up *c = arg;
    (void)worker;
    for (co_u64 i = begin; i < end && c->array->bytes == 4; i++)
        ((co_u32 *)c->array->out)[i] = (co_u32)(c->first + i);
    for (co_u64 i = begin; i < end && c->array->bytes == 8; i++)
        ((co_u64 *)c->array->out)[i] = c->first + i;
}

void cpu_pass_copy(cohort_context *context, const struct cpu_pass *p)
{
    for (co_u32 a = 0; a < p->arrays; a++) {
        const struct cpu_array *array = &p->array[a];
        struct counting_up c = {array, p->first};
        if (array->in)
            context->backend->copy(context, array->out, array->in, p->n * array->bytes);
        else
            cpu_parallel(context, p->n, COUNT_UP_GRAIN, count_up, &c);
    }
}
