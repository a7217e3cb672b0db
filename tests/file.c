/* file.c: files of a case's own. */
#include "file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder folder_new(struct test *t)
{
    struct folder f;
    const char *base = getenv("TMPDIR");
    snprintf(f.path, sizeof f.path, "%.90s/cohort-test-XXXXXX", base && *base ? base : "/tmp");
    REQUIRE(t, mkdtemp(f.path));
    snprintf(f.file, sizeof f.file, "%s/file", f.path);
    snprintf(f.other, sizeof f.other, "%s/other", f.path);
    return f;
}

void folder_end(struct test *t, struct folder *f)
{
    unlink(f->file);
    unlink(f->other);
    CHECKF(t, rmdir(f->path) == 0, "%s: %s", f->path, strerror(errno));
}

struct bytes contents(struct test *t, const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    REQUIRE(t, file && !fstat(fileno(file), &info));
    struct bytes b = {malloc((size_t)info.st_size + 1), (uint64_t)info.st_size};
    REQUIRE(t, b.data && fread(b.data, 1, b.count, file) == b.count);
    fclose(file);
    return b;
}

void write_file(struct test *t, const char *path, const void *data, uint64_t bytes)
{
    unlink(path); /* ext4 brings a file to the disk at once that is cut to nothing and written anew */
    FILE *file = fopen(path, "wb");
    REQUIRE(t, file);
    REQUIRE(t, fwrite(data, 1, bytes, file) == bytes);
    REQUIRE(t, fclose(file) == 0);
}

void damage_each(struct test *t, const char *path, struct bytes *b, enum file_kind other,
                 refuses_file *refuses)
{
    for (uint64_t cut = b->count; cut-- && !t->failures;) {
        write_file(t, path, b->data, cut);
        refuses(t, path, COHORT_TRUNCATED, "byte");
    }
    for (uint64_t i = 0; i < b->count && !t->failures; i++) {
        const unsigned char was = b->data[i];
        b->data[i] ^= (unsigned char)(1u << test_below(t, 8));
        write_file(t, path, b->data, b->count);
        const int is_other = i == 12 && b->data[i] == other;
        refuses(t, path, i < 16 && !is_other ? COHORT_BAD_VERSION : COHORT_CORRUPT, "byte");
        b->data[i] = was;
    }
    b->data[b->count] = 0;
    write_file(t, path, b->data, b->count + 1);
    refuses(t, path, COHORT_CORRUPT, "after its end");
}

static uint64_t checksum(const unsigned char *data, uint64_t bytes)
{
    uint64_t sum = bytes ^ 0x636f686f7274u;
    for (uint64_t i = 0; i < bytes; i += 8) {
        sum = (sum ^ file_get(data + i)) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 32;
    }
    return sum;
}

void seal(struct test *t, const char *path, struct bytes *b, unsigned sections)
{
    const uint64_t header = 24 + 16 * (uint64_t)sections;
    uint64_t place = header + 8;
    for (unsigned i = 0; i < sections; i++) {
        const uint64_t bytes = file_get(b->data + 24 + 16 * i);
        file_put(b->data + 24 + 16 * i + 8, checksum(b->data + place, bytes));
        place += (bytes + 7) & ~7ull;
    }
    file_put(b->data + header, checksum(b->data, header));
    write_file(t, path, b->data, b->count);
}
