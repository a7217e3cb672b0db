/* split_part.c: how a pass cuts its entries: into parts, contiguous runs of which each is one thread's, and
 * these into chunks, whose buckets and arrays both halves of a pass take here. */
#include "split.h"

co_u64 cpu_part_begin(const struct cpu_pass *p, co_u64 part)
{
    co_u64 each = p->n / p->parts / CPU_CHUNK * CPU_CHUNK;
    return part < p->parts ? each * part : p->n;
}

const co_u16 *cpu_chunk_digits(const struct cpu_pass *p, co_u64 i, co_u32 count, co_u16 *own)
{
    if (p->source == CPU_FROM_KEPT)
        return p->kept + i;
    cpu_pass_digits(p, i, count, own);
    return own;
}

static const char *count_on(co_u64 first, co_u32 count, co_u32 bytes, co_u64 *numbers)
{
    co_u32 *narrow = (co_u32 *)(void *)numbers;
    for (co_u32 i = 0; i < count && bytes == 4; i++)
        narrow[i] = (co_u32)(first + i);
    for (co_u32 i = 0; i < count && bytes == 8; i++)
        numbers[i] = first + i;
    return (const char *)numbers;
}

const char *cpu_chunk_of(const struct cpu_pass *p, const struct cpu_array *array, co_u64 i, co_u32 count,
                         co_u64 *numbers)
{
    return array->in ? (const char *)array->in + i * array->bytes
                     : count_on(p->first + i, count, array->bytes, numbers);
}
