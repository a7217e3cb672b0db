/* test_roaring_files.c: the files that CRoaring publishes for readers of its format. The right ones are
 * judged by what their makers say is in them, and by a plain reader of the test's own; the wrong ones are
 * refused.
 *
 * They are in $COHORT_DATA/roaring-format, or in ../shared/data/roaring-format; where they are not, all is
 * skipped. */
#include "sets.h"

#include <unistd.h>

static const char *data_folder(void)
{
    const char *folder = getenv("COHORT_DATA");
    return folder ? folder : "../shared/data";
}

/* Before anything is allocated. */
static void need_files(struct test *t)
{
    char path[512];
    snprintf(path, sizeof path, "%s/roaring-format", data_folder());
    if (access(path, R_OK) != 0)
        test_skip(t, "%s is not there (COHORT_DATA names the folder of the published files)", path);
}

struct file {
    unsigned char *at;
    uint64_t n;
};

#define FILE_MOST (1u << 20)

static struct file file_read(struct test *t, const char *name)
{
    char path[512];
    struct file f = {malloc(FILE_MOST), 0};
    snprintf(path, sizeof path, "%s/roaring-format/%s", data_folder(), name);
    FILE *file = fopen(path, "rb");
    REQUIREF(t, file && f.at, "%s", path);
    f.n = fread(f.at, 1, FILE_MOST, file);
    fclose(file);
    return f;
}

/* ---- a plain reader ------------------------------------------------------------------------------------ */

struct members {
    uint64_t *at;
    uint64_t n, room;
};

static void put(struct members *m, uint64_t id)
{
    if (m->n == m->room) {
        m->room = m->room ? 2 * m->room : 1024;
        m->at = realloc(m->at, m->room * sizeof *m->at);
        if (!m->at)
            abort();
    }
    m->at[m->n++] = id;
}

struct reader {
    struct test *t;
    const struct file *f;
    uint64_t at;
};

static uint64_t take(struct reader *r, unsigned bytes)
{
    uint64_t v = 0;
    REQUIREF(r->t, r->at + bytes <= r->f->n, "the file ends at byte %llu", (unsigned long long)r->f->n);
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)r->f->at[r->at++] << 8 * i;
    return v;
}

static void take_runs(struct reader *r, struct members *m, uint64_t base)
{
    for (uint64_t runs = take(r, 2); runs; runs--) {
        const uint64_t first = take(r, 2), more = take(r, 2);
        for (uint64_t i = 0; i <= more; i++)
            put(m, base + first + i);
    }
}

static void take_bitmap(struct reader *r, struct members *m, uint64_t base)
{
    for (uint64_t byte = 0; byte < 8192; byte++)
        for (uint64_t bits = take(r, 1), i = 0; i < 8; i++)
            if (bits >> i & 1)
                put(m, base + 8 * byte + i);
}

/* A blob of 32-bit members, each of which `high` is added to. */
static void take_blob(struct reader *r, struct members *m, uint64_t high)
{
    static uint64_t keys[65536], cards[65536];
    const uint64_t cookie = take(r, 2), with_runs = cookie == 12347,
                   n = with_runs ? take(r, 2) + 1 : (take(r, 2), take(r, 4)), flags = r->at;
    REQUIRE(r->t, (with_runs || cookie == 12346) && n <= 65536);
    r->at += with_runs ? (n + 7) / 8 : 0;
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = take(r, 2);
        cards[i] = take(r, 2) + 1;
    }
    r->at += !with_runs || n >= 4 ? 4 * n : 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t base = high + (keys[i] << 16), before = m->n;
        if (with_runs && r->f->at[flags + i / 8] >> i % 8 & 1)
            take_runs(r, m, base);
        else if (cards[i] > 4096)
            take_bitmap(r, m, base);
        else
            for (uint64_t k = 0; k < cards[i]; k++)
                put(m, base + take(r, 2));
        REQUIRE(r->t, m->n - before == cards[i]);
    }
}

static struct plain members_end(struct members *m)
{
    struct plain p = plain_of(m->at, m->n);
    free(m->at);
    return p;
}

static struct plain file_members(struct test *t, const struct file *f, int wide)
{
    struct reader r = {t, f, 0};
    struct members m = {NULL, 0, 0};
    if (!wide)
        take_blob(&r, &m, 0);
    else
        for (uint64_t parts = take(&r, 8); parts; parts--)
            take_blob(&r, &m, take(&r, 4) << 32);
    EQUAL(t, r.at, f->n);
    return members_end(&m);
}

/* ---- the library's reader ------------------------------------------------------------------------------ */

static cohort_status load(struct test *t, const struct file *f, cohort_type type, cohort_type blob_type,
                          uint64_t base, cohort_sets **out)
{
    struct column *bytes = column_new(t, f->n, 1), *offsets = column_new(t, 2, 8),
                  *bases = column_new(t, 1, 8);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    if (f->n)
        memcpy(bytes->data, f->at, f->n);
    column_put(offsets, 0, 0);
    column_put(offsets, 1, f->n);
    column_put(bases, 0, base);
    source.form = COHORT_FORM_ROARING;
    source.type = type;
    source.blob_type = blob_type;
    source.n = 1;
    source.members = column_send(bytes);
    source.offsets = column_send(offsets);
    source.bases = base ? column_send(bases) : NULL;
    return cohort_sets_build(t->context, &source, out);
}

/* What is due is in the file, and is read. */
static void judge(struct test *t, const char *name, int wide, const struct plain *due)
{
    const cohort_type type = wide ? COHORT_U64 : COHORT_U32;
    struct file f = file_read(t, name);
    struct plain seen = file_members(t, &f, wide);
    struct plains p = {&seen, 1, wide};
    cohort_sets *sets = NULL;
    REQUIREF(t, !due || plain_same(&seen, due), "%s: %llu members, not %llu", name,
             (unsigned long long)seen.n, (unsigned long long)due->n);
    OK(t, load(t, &f, type, type, 0, &sets));
    sets_judge(t, sets, &p, name);
    cohort_sets_destroy(sets);
    plain_free(&seen);
    free(f.at);
    column_drop(t, NULL);
}

/* A rectangle of `n` upper halves and as many lower ones. */
static struct plain square(uint64_t first, uint64_t n)
{
    struct members m = {NULL, 0, 0};
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < n; k++)
            put(&m, (first + i) << 32 | (first + k));
    return members_end(&m);
}

static void right(struct test *t)
{
    need_files(t);
    struct members m = {NULL, 0, 0};
    for (uint64_t k = 0; k <= 99000; k += 1000)
        put(&m, k);
    for (uint64_t k = 100000; k < 200000; k++)
        put(&m, 3 * k);
    for (uint64_t k = 700000; k < 800000; k++)
        put(&m, k);
    struct plain due = members_end(&m);
    judge(t, "bitmapwithruns.bin", 0, &due);
    judge(t, "bitmapwithoutruns.bin", 0, &due);
    plain_free(&due);
}

static void right_64(struct test *t)
{
    static const uint64_t ten[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    need_files(t);
    struct plain few = plain_of(ten, 10), none = plain_of(NULL, 0);
    struct plain spread = square(0, 10), high = square(UINT32_MAX - UINT64_C(10), 11);
    judge(t, "64map32bitvals.bin", 1, &few);
    judge(t, "64mapempty.bin", 1, &none);
    judge(t, "64mapspreadvals.bin", 1, &spread);
    judge(t, "64maphighvals.bin", 1, &high);
    plain_free(&few);
    plain_free(&none);
    plain_free(&spread);
    plain_free(&high);
}

/* A file made to be moved: as it is, and by bases of all kinds. */
static void moved(struct test *t)
{
    static const char name[] = "addoffsetinput.bin";
    static const uint64_t bases[] = {1,     4,        63,          65535,      65536,
                                     65537, 1u << 20, 0xfff0ffffu, 1ull << 40, ~0ull << 24};
    need_files(t);
    judge(t, name, 0, NULL);
    struct file f = file_read(t, name);
    struct plain p = file_members(t, &f, 0);
    REQUIRE(t, p.n > 100000 && p.at[p.n - 1] < 15 << 16);
    const uint64_t all_bases = sizeof bases / sizeof bases[0], first = test_below(t, all_bases);
    for (uint64_t i = 0; i < test_size(t, all_bases, test_scale(t, 2, 3, 5)); i++) {
        const uint64_t base = bases[(first + i) % all_bases];
        struct plain due = plain_copy(&p);
        struct plains all = {&due, 1, base > UINT32_MAX || test_below(t, 2)};
        cohort_sets *sets = NULL;
        for (uint64_t k = 0; k < due.n; k++)
            due.at[k] += base;
        OK(t, load(t, &f, plains_type(&all), COHORT_U32, base, &sets));
        sets_judge(t, sets, &all, name);
        cohort_sets_destroy(sets);
        plain_free(&due);
        column_drop(t, NULL);
    }
    plain_free(&p);
    free(f.at);
}

static void wrong(struct test *t)
{
    static const char *const names[] = {
        "crashproneinput1.bin", "crashproneinput2.bin",  "crashproneinput3.bin", "crashproneinput4.bin",
        "crashproneinput5.bin", "crashproneinput6.bin",  "crashproneinput7.bin", "64mapinvalidsize.bin",
        "64mapkeytoosmall.bin", "64mapsizetoosmall.bin", "64mapemptyinput.bin"};
    need_files(t);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cohort_type type = i < 7 ? COHORT_U32 : COHORT_U64;
        struct file f = file_read(t, names[i]);
        cohort_sets *sets = NULL;
        cohort_status status = load(t, &f, type, type, 0, &sets);
        CHECKF(t, status == COHORT_TRUNCATED || status == COHORT_CORRUPT, "%s: %s", names[i],
               cohort_status_name(status));
        REQUIRE(t, !sets);
        free(f.at);
        column_drop(t, NULL);
    }
}

const struct test_case test_cases[] = {
    {"right", right, 0}, {"right_64", right_64, TEST_EACH_MEMORY},
    {"moved", moved, 0}, {"wrong", wrong, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
