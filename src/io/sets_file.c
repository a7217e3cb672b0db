/* sets_file.c: collections of sets in files. Three sections: the numbers, the directory, the members. The numbers are so
 * many, and the directory a multiple of 128 bytes, that all parts of a mapped file are aligned as in memory. */
#include "io/sets_file.h"

#include "core/context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

cohort_status sets_file_write(cohort_context *context, const struct file_stream *to,
                              const struct sets_file *file)
{
    const struct file_section sections[3] = {{file->numbers, sizeof file->numbers},
                                             {file->directory, file->directory_bytes},
                                             {file->members, file->members_bytes}};
    return file_write(context, to, FILE_SETS, 3, sections);
}

static cohort_status begin(struct file_reader *f, cohort_context *context, const struct file_stream *from,
                           struct sets_file *out)
{
    memset(out, 0, sizeof *out);
    cohort_status status = file_open(f, context, from, FILE_SETS, 3);
    if (status)
        return status;
    status = file_read_options(f, SETS_FILE_NUMBERS, out->numbers);
    out->directory_bytes = f->bytes[1];
    out->members_bytes = f->bytes[2];
    if (status)
        file_close(f);
    return status;
}

cohort_status sets_file_read(cohort_context *context, const struct file_stream *from, struct sets_file *out)
{
    struct file_reader f;
    void *directory = NULL, *members = NULL;
    cohort_status status = begin(&f, context, from, out);
    if (status)
        return status;
    status = file_read(&f, &directory);
    if (!status)
        status = file_read(&f, &members);
    if (!status)
        status = file_end(&f);
    file_close(&f);
    out->directory = directory;
    out->members = members;
    if (status)
        sets_file_free(out);
    return status;
}

cohort_status sets_file_map(cohort_context *context, const struct file_stream *from, int validate,
                            struct sets_file *out)
{
    struct file_reader f;
    cohort_status status = begin(&f, context, from, out);
    if (status)
        return status;
    status = file_map(&f, &out->mapped);
    out->mapped_bytes = status ? 0 : f.size;
    for (unsigned section = 1; section < 3 && !status; section++) {
        const void *at = (const char *)out->mapped + file_place(&f, section);
        if (section == 1)
            out->directory = at;
        else
            out->members = at;
        status = file_check_mapped(&f, section, at, section == 1 || validate);
    }
    file_close(&f);
    if (status)
        sets_file_free(out);
    return status;
}

void sets_file_unmap(void *mapped, uint64_t bytes)
{
    munmap(mapped, (size_t)bytes);
}

void sets_file_free(struct sets_file *file)
{
    if (file->mapped) {
        sets_file_unmap(file->mapped, file->mapped_bytes);
    } else {
        free((void *)file->directory);
        free((void *)file->members);
    }
    file->mapped = NULL;
    file->directory = file->members = NULL;
}
