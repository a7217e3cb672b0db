/* memory_file.c: objects in files as they lie in memory. Three sections: the numbers and the two parts. The
 * numbers are so many, and the first part a multiple of 128 bytes, that all of a mapped file is aligned as in
 * memory. */
#include "io/memory_file.h"

#include "core/context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

cohort_status memory_file_write(cohort_context *context, const struct file_stream *to, enum file_kind kind,
                                const struct memory_file *file)
{
    const struct file_section sections[3] = {{file->numbers, sizeof file->numbers},
                                             {file->parts[0], file->bytes[0]},
                                             {file->parts[1], file->bytes[1]}};
    return file_write(context, to, kind, 3, sections);
}

static cohort_status begin(struct file_reader *f, cohort_context *context, const struct file_stream *from,
                           enum file_kind kind, struct memory_file *out)
{
    memset(out, 0, sizeof *out);
    cohort_status status = file_open(f, context, from, kind, 3);
    if (status)
        return status;
    status = file_read_options(f, MEMORY_FILE_NUMBERS, out->numbers);
    out->bytes[0] = f->bytes[1];
    out->bytes[1] = f->bytes[2];
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
    for (unsigned i = 0; i < 2 && !status; i++) {
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
    for (unsigned i = 0; i < 2 && !status; i++) {
        out->parts[i] = (const char *)out->mapped + file_place(&f, i + 1);
        status = file_check_mapped(&f, i + 1, out->parts[i], i == 0 || validate);
    }
    file_close(&f);
    if (status)
        memory_file_free(out);
    return status;
}

void memory_file_unmap(void *mapped, uint64_t bytes)
{
    munmap(mapped, (size_t)bytes);
}

void memory_file_free(struct memory_file *file)
{
    if (file->mapped) {
        memory_file_unmap(file->mapped, file->mapped_bytes);
    } else {
        free((void *)file->parts[0]);
        free((void *)file->parts[1]);
    }
    file->mapped = NULL;
    file->parts[0] = file->parts[1] = NULL;
}
