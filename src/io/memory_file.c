/* memory_file.c: objects in files as they lie in memory. Three sections: the numbers and the two parts; of a
 * multimap's table five. The numbers are so many, and the first part a multiple of 128 bytes, that all of a
 * mapped file is aligned as in memory. */
#include "io/memory_file.h"

#include "core/context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static unsigned parts_of(enum file_kind kind)
{
    return kind == FILE_MULTIMAP_TABLE ? 4 : 2;
}

/* What leaves the parts at byte 256, each section having 16 bytes in the header. */
static unsigned numbers_of(enum file_kind kind)
{
    return MEMORY_FILE_NUMBERS - 2 * (parts_of(kind) - 2);
}

cohort_status memory_file_write(cohort_context *context, const struct file_stream *to, enum file_kind kind,
                                const struct memory_file *file)
{
    struct file_section sections[1 + MEMORY_FILE_PARTS] = {
        {file->numbers, numbers_of(kind) * sizeof *file->numbers}};
    for (unsigned i = 0; i < parts_of(kind); i++)
        sections[1 + i] = (struct file_section){file->parts[i], file->bytes[i]};
    return file_write(context, to, kind, 1 + parts_of(kind), sections);
}

static cohort_status begin(struct file_reader *f, cohort_context *context, const struct file_stream *from,
                           enum file_kind kind, struct memory_file *out)
{
    memset(out, 0, sizeof *out);
    cohort_status status = file_open(f, context, from, kind, 1 + parts_of(kind));
    if (status)
        return status;
    status = file_read_options(f, numbers_of(kind), out->numbers);
    for (unsigned i = 0; i < parts_of(kind); i++)
        out->bytes[i] = f->bytes[1 + i];
    if (status)
        file_close(f);
    return status;
}

cohort_status memory_file_read(cohort_context *context, const struct file_stream *from, enum file_kind kind,
                               struct memory_file *out)
{
    struct file_reader f;
    cohort_status status = begin(&f, context, from, kind, out);
    if (status)
        return status;
    out->read = 1;
    for (unsigned i = 0; i < parts_of(kind) && !status; i++) {
        void *part = NULL;
        status = file_read(&f, &part);
        out->parts[i] = part;
    }
    if (!status)
        status = file_end(&f);
    file_close(&f);
    if (status)
        memory_file_free(out);
    return status;
}

cohort_status memory_file_map(cohort_context *context, const struct file_stream *from, enum file_kind kind,
                              int validate, struct memory_file *out)
{
    struct file_reader f;
    cohort_status status = begin(&f, context, from, kind, out);
    if (status)
        return status;
    status = file_map(&f, &out->mapped);
    out->mapped_bytes = status ? 0 : f.size;
    for (unsigned i = 0; i < parts_of(kind) && !status; i++) {
        out->parts[i] = (const char *)out->mapped + file_place(&f, i + 1);
        status = file_check_mapped(&f, i + 1, out->parts[i], i == 0 || validate);
    }
    file_close(&f);
    if (status)
        memory_file_free(out);
    return status;
}

cohort_status memory_file_bad(cohort_context *context, const struct file_stream *from,
                              const struct memory_file *file, unsigned number, const char *name)
{
    return file_fail(context, COHORT_CORRUPT, from, "the number %u (%s) is 0x%llx", number, name,
                     (unsigned long long)file->numbers[number]);
}

cohort_status memory_file_reserved(cohort_context *context, const struct file_stream *from,
                                   const struct memory_file *file, unsigned first)
{
    for (unsigned i = first; i < MEMORY_FILE_NUMBERS; i++)
        if (file->numbers[i])
            return memory_file_bad(context, from, file, i, "reserved");
    return COHORT_OK;
}

void *memory_file_give(struct memory_file *file)
{
    void *mapped = file->mapped;
    file->mapped = NULL;
    return mapped;
}

void memory_file_unmap(void *mapped, uint64_t bytes)
{
    munmap(mapped, (size_t)bytes);
}

void memory_file_free(struct memory_file *file)
{
    if (file->mapped)
        memory_file_unmap(file->mapped, file->mapped_bytes);
    for (unsigned i = 0; i < MEMORY_FILE_PARTS; i++) {
        if (file->read)
            free((void *)file->parts[i]);
        file->parts[i] = NULL;
    }
    file->mapped = NULL;
}
