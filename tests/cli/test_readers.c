/* Unit tests of the tool's reader of gzip and of the ranking. Ends with a line 'N passed, N failed, N
 * skipped'. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zlib.h>

#include "device_ranking.h"
#include "input.h"
#include "output.h"
#include "ranking.h"
#include "spectrum.h"
#include "table.h"

static unsigned passed, failed;
static const char *folder;

static void judge(int good, const char *group, const char *name)
{
    passed += good != 0;
    failed += good == 0;
    if (!good)
        printf("FAIL %s: %s\n", group, name);
}

/* ---- gzip ---------------------------------------------------------------------------------------------- */

static const char *file_make(const void *bytes, size_t n)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/input", folder);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, n, file) != n || fclose(file))
        exit(1);
    return path;
}

/* Appends one gzip member; returns the new length. */
static size_t member_add(unsigned char *to, size_t at, size_t room, const char *text, size_t n, int level)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        exit(1);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)n;
    z.next_out = to + at;
    z.avail_out = (uInt)(room - at);
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        exit(1);
    at = z.total_out + at;
    deflateEnd(&z);
    return at;
}

/* Reads the file in pieces of `piece`; returns the status, and how many bytes came in *n. */
static int input_all(const char *path, char *to, size_t room, size_t piece, size_t *n, fault *fault)
{
    input *input;
    size_t got;
    *n = 0;
    int status = input_open(&input, path, 0, fault);
    while (!status && *n < room) {
        status = input_read(input, to + *n, piece < room - *n ? piece : room - *n, &got, fault);
        if (!status && !got)
            break;
        *n += got;
    }
    input_close(input);
    return status;
}

static void test_gzip(void)
{
    static char text[3000], back[9000];
    static unsigned char packed[8000];
    static fault fault;
    size_t n;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "ACGT\n"[i * i % 97 % 5];

    size_t one = member_add(packed, 0, sizeof packed, text, 1000, 9);
    int good = 1;
    for (size_t piece = 1; piece < 2000; piece += 37)
        good &= !input_all(file_make(packed, one), back, sizeof back, piece, &n, &fault) && n == 1000 &&
                !memcmp(back, text, n);
    judge(good, "gzip", "one member");

    size_t two = member_add(packed, one, sizeof packed, "", 0, 6);
    size_t three = member_add(packed, two, sizeof packed, text + 1000, 2000, 0);
    good = !input_all(file_make(packed, three), back, sizeof back, 100, &n, &fault) && n == 3000 &&
           !memcmp(back, text, n);
    judge(good, "gzip", "three members, one of them empty, one stored");

    memset(packed + three, 0, 700);
    good = !input_all(file_make(packed, three + 700), back, sizeof back, 100, &n, &fault) && n == 3000;
    judge(good, "gzip", "padded with zeros");

    good = 1;
    for (size_t cut = 2; cut < three; cut++) {
        int whole = cut == one || cut == two;
        int status = input_all(file_make(packed, cut), back, sizeof back, 4096, &n, &fault);
        good &= status == (whole ? CLI_OK : CLI_BAD_INPUT) && (whole || strstr(fault.text, "truncated"));
    }
    judge(good, "gzip", "cut at every byte");

    packed[three] = 'x';
    good = input_all(file_make(packed, three + 1), back, sizeof back, 4096, &n, &fault) == CLI_BAD_INPUT;
    judge(good && strstr(fault.text, "follows the gzip data"), "gzip", "trailing garbage");

    good = 1;
    for (size_t i = 10; i < one; i++) {
        packed[i] ^= 0x10;
        good &= input_all(file_make(packed, one), back, sizeof back, 4096, &n, &fault) == CLI_BAD_INPUT;
        packed[i] ^= 0x10;
    }
    judge(good, "gzip", "a bit changed in every byte after the header");
}

static void test_plain(void)
{
    static char text[600000], back[600001];
    static fault fault;
    size_t n;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 31 % 251);
    int good = !input_all(file_make(text, sizeof text), back, sizeof back, 70000, &n, &fault) &&
               n == sizeof text && !memcmp(text, back, n);
    judge(good, "plain", "600,000 bytes");
    for (size_t length = 0; length < 8; length++)
        good &= !input_all(file_make(text, length), back, sizeof back, 3, &n, &fault) && n == length;
    judge(good, "plain", "0 to 7 bytes");
    good = input_all(folder, back, sizeof back, 3, &n, &fault) == CLI_BAD_INPUT &&
           strstr(fault.text, "is a directory");
    judge(good, "plain", "a directory");
    good = input_all("no such file", back, sizeof back, 3, &n, &fault) == CLI_BAD_INPUT;
    judge(good && strstr(fault.text, "no such file: cannot open"), "plain", "no file");
    good = input_all(file_make("\xfd"
                               "7zXZ\0",
                               6),
                     back, sizeof back, 3, &n, &fault) == CLI_BAD_INPUT;
    judge(good && strstr(fault.text, "compressed by xz"), "plain", "an xz file");
}

/* ---- ranking ------------------------------------------------------------------------------------------- */

typedef struct pair {
    uint64_t key, count;
} pair;

static int pair_order(const void *left, const void *right)
{
    const pair *a = left, *b = right;
    return a->count != b->count ? (a->count > b->count ? -1 : 1) : a->key < b->key ? -1 : a->key > b->key;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

/* `shape` decides what keys and counts are like. */
static pair pair_make(size_t i, unsigned shape)
{
    uint64_t key = shape & 1 ? mix(i + 1) : i * (shape & 2 ? 1 : UINT64_C(1) << 33);
    uint64_t dice = mix(i * 77 + 5) >> 40;
    uint64_t count = dice % 16 ? 1 : dice % 32 ? 2 + dice % 1000 : 65530 + dice % 10;
    if (shape & 4)
        count = dice % 3 ? UINT64_MAX - dice % 5 : 1 + dice;
    return (pair){key, count};
}

/* `pairs` are in the right order. */
static int rank_right(const pair *pairs, size_t n, uint64_t min, uint64_t top, unsigned threads)
{
    static fault fault;
    uint64_t *keys = malloc((n + 1) * 8), *counts = malloc((n + 1) * 8);
    for (size_t i = 0; i < n; i++) {
        keys[i] = pairs[i].key;
        counts[i] = pairs[i].count;
    }
    for (size_t i = n; i > 1; i--) { /* shuffled */
        size_t j = (size_t)(mix(i) % i);
        uint64_t key = keys[j], count = counts[j];
        keys[j] = keys[i - 1];
        counts[j] = counts[i - 1];
        keys[i - 1] = key;
        counts[i - 1] = count;
    }
    ranking ranking;
    int good = !ranking_make(&ranking, keys, counts, n, min, top, threads, &fault);
    size_t done = 0;
    for (size_t i = 0; good && i < ranking.runs_n; i++) {
        good &= ranking.runs[i].first == done;
        for (size_t j = 0; good && j < ranking.runs[i].n; j++, done++)
            good = ranking.keys[done] == pairs[done].key && ranking.runs[i].count == pairs[done].count;
    }
    good = good && done == ranking.n && done <= top && (done == n || done == top || pairs[done].count < min);
    good = good && (!done || pairs[done - 1].count >= min);
    uint64_t distinct = 0;
    for (size_t i = 0; good && i < ranking.spectrum_n; i++) {
        distinct += ranking.spectrum[i].number;
        good &= pairs[n - distinct].count == ranking.spectrum[i].times;
        good &= i == 0 || ranking.spectrum[i - 1].times < ranking.spectrum[i].times;
    }
    good = good && distinct == n;
    ranking_free(&ranking);
    return good;
}

static void test_ranking(void)
{
    static const size_t sizes[] = {0, 1, 2, 33, 1000, 70000, 150000};
    static const uint64_t mins[] = {1, 2, 65536, UINT64_MAX}, tops[] = {1, 7, 5000, 300000, UINT64_MAX};
    for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
        int good = 1;
        for (unsigned shape = 0; shape < 8; shape++) {
            size_t n = sizes[size];
            pair *pairs = malloc((n + 1) * sizeof *pairs);
            for (size_t i = 0; i < n; i++)
                pairs[i] = pair_make(i, shape);
            qsort(pairs, n, sizeof *pairs, pair_order);
            for (size_t i = 0; i < (size < 5 ? 4 : 2); i++)
                for (size_t j = 0; j < 5; j++)
                    good &= rank_right(pairs, n, mins[i], tops[j], 1 + shape % 3);
            free(pairs);
        }
        char name[48];
        snprintf(name, sizeof name, "%zu keys", sizes[size]);
        judge(good, "ranking", name);
    }
}

/* ---- on a device, and as text -------------------------------------------------------------------------- */

/* What `pairs` are as text, those of counts from `min` on and at most `top`. */
static char *text_of(const pair *pairs, size_t n, unsigned k, uint64_t min, uint64_t top, size_t *bytes)
{
    char *text = malloc(n * 64 + 64), *to = text;
    for (size_t i = 0; i < n && i < top && pairs[i].count >= min; i++) {
        if (k)
            cohort_kmer_letters(to, pairs[i].key, k);
        to += k ? k : (unsigned)sprintf(to, "%llu", (unsigned long long)pairs[i].key);
        to += sprintf(to, "\t%llu\n", (unsigned long long)pairs[i].count);
    }
    *bytes = (size_t)(to - text);
    return text;
}

static int file_holds(const char *path, const char *text, size_t n)
{
    char *have = malloc(n + 1);
    FILE *file = fopen(path, "rb");
    int same = file && fread(have, 1, n + 1, file) == n && !memcmp(have, text, n);
    if (file)
        fclose(file);
    free(have);
    return same;
}

static int spectrum_right(const ranking *ranking, const pair *pairs, size_t n)
{
    uint64_t distinct = 0;
    int good = 1;
    for (size_t i = 0; good && i < ranking->spectrum_n; i++) {
        distinct += ranking->spectrum[i].number;
        good &= distinct <= n && pairs[n - distinct].count == ranking->spectrum[i].times;
        good &= i == 0 || ranking->spectrum[i - 1].times < ranking->spectrum[i].times;
    }
    return good && distinct == n;
}

/* Through a map of a context, its order and the table: the file must be the pairs' text. */
static int device_right(cohort_context *context, const pair *pairs, size_t n, unsigned k, uint64_t min,
                        uint64_t top, unsigned threads)
{
    static fault fault;
    char path[4096];
    uint64_t *keys = malloc((n + 1) * 8), *counts = malloc((n + 1) * 8);
    for (size_t i = 0; i < n; i++) {
        keys[i] = pairs[i].key;
        counts[i] = pairs[i].count;
    }
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    options.width = COHORT_WIDTH_64_64;
    options.capacity = n + 1;
    cohort_map *map = NULL;
    device_ranking *on_device = NULL;
    ranking ranking = {0};
    output *out = NULL;
    snprintf(path, sizeof path, "%s/table", folder);
    int good = !cohort_map_create(context, &options, &map) &&
               !cohort_map_insert(map, n, keys, counts, NULL) &&
               !device_ranking_take(&on_device, context, &map) && !map &&
               !device_ranking_sort(on_device, k ? 2 * k : 64) && !output_open(&out, path, "--out", &fault) &&
               !device_ranking_write(on_device, out, k, min, top, n % 2 == 0 || min > 1, threads, &ranking,
                                     &fault) &&
               !output_close(out, &fault);
    size_t bytes;
    char *text = text_of(pairs, n, k, min, top, &bytes);
    good = good && file_holds(path, text, bytes);
    good = good && (n % 2 || spectrum_right(&ranking, pairs, n));
    good = good && !device_ranking_copy(on_device, keys, counts);
    for (size_t i = 0; good && i < n; i++)
        good = keys[i] == pairs[i].key && counts[i] == pairs[i].count;
    device_ranking_free(on_device);
    ranking_free(&ranking);
    free(text);
    free(keys);
    free(counts);
    return good;
}

static void test_device_ranking(void)
{
    static const struct {
        size_t n;
        unsigned k;
        uint64_t min, top;
    } cases[] = {{0, 0, 1, UINT64_MAX},        {1, 0, 1, UINT64_MAX},
                 {1000, 32, 1, UINT64_MAX},    {1001, 0, 2, 17},
                 {70000, 0, 1, 65537},         {1048576, 0, 1, UINT64_MAX},
                 {1200000, 32, 2, UINT64_MAX}, {2200001, 0, 1, 1048577},
                 {70001, 32, UINT64_MAX, 5}};
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context *context = NULL;
    options.device = "cpu";
    options.threads = 2;
    int made = !cohort_context_create(&options, &context);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = cases[i].n;
        pair *pairs = malloc((n + 1) * sizeof *pairs);
        for (size_t j = 0; j < n; j++)
            pairs[j] = pair_make(j, (unsigned)i);
        qsort(pairs, n, sizeof *pairs, pair_order);
        char name[64];
        snprintf(name, sizeof name, "%zu keys, k = %u, the first %llu", n, cases[i].k,
                 (unsigned long long)cases[i].top);
        judge(made && device_right(context, pairs, n, cases[i].k, cases[i].min, cases[i].top,
                                   (unsigned)(1 + i % 4)),
              "device ranking", name);
        free(pairs);
    }
    cohort_context_destroy(context);
}

/* ---- outputs and spectra ------------------------------------------------------------------------------- */

static int file_is(const char *path, const char *text)
{
    char have[4096] = "";
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(have, 1, sizeof have - 1, file) : 0;
    if (file)
        fclose(file);
    return file && n == strlen(text) && !memcmp(have, text, n);
}

static void test_outputs(void)
{
    static fault fault;
    char path[4096], link[4096];
    output *out;
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    unlink(path);
    unlink(link);
    int good = !output_open(&out, path, "--out", &fault) && !output_write(out, "one\n", 4, &fault) &&
               access(path, F_OK);
    good = good && !output_close(out, &fault) && file_is(path, "one\n");
    judge(good, "output", "appears when it is closed");
    good = !output_open(&out, path, "--out", &fault) && !output_print(out, &fault, "%d\n", 2);
    outputs_discard();
    judge(good && file_is(path, "one\n"), "output", "an old file stays if the new one is discarded");
    good = !symlink("out", link) && !output_open(&out, link, "--out", &fault) &&
           !output_write(out, "3", 1, &fault) && !output_close(out, &fault) && file_is(path, "3") &&
           readlink(link, path + 2000, 1000) > 0;
    judge(good, "output", "a link is followed, and stays");
    judge(output_open(&out, folder, "--out", &fault) == CLI_BAD_INPUT && strstr(fault.text, "--out"),
          "output", "a directory");
    snprintf(path, sizeof path, "%s/none/out", folder);
    judge(output_open(&out, path, "--out", &fault) == CLI_BAD_INPUT, "output",
          "in a directory that is not there");
    unlink(link);
}

static void test_spectrum(void)
{
    static fault fault;
    static spectrum_entry entries[120];
    char path[4096];
    output *out;
    size_t n = 0;
    entries[n++] = (spectrum_entry){1, 1000000};
    entries[n++] = (spectrum_entry){2, 1000};
    for (uint64_t t = 3; t < 100; t++)
        entries[n++] = (spectrum_entry){t, 5 + (t > 20 && t < 60 ? (t - 20) * (60 - t) * 10 : 0)};
    spectrum full = {entries, n, "21-mers", "k-mers"}, empty = {entries, 0, "21-mers", "k-mers"};
    spectrum_summary summary;
    spectrum_summarise(&full, &summary);
    judge(summary.once == 1000000 && summary.most == 99 && summary.peak >= 36 && summary.peak <= 44,
          "spectrum", "peak");
    spectrum_summarise(&empty, &summary);
    judge(!summary.once && !summary.most && !summary.peak, "spectrum", "of nothing");
    for (int form = SPECTRUM_SVG; form <= SPECTRUM_TABLE; form++) {
        snprintf(path, sizeof path, "%s/spectrum", folder);
        int good = !output_open(&out, path, "--spectrum", &fault) &&
                   !spectrum_write(&empty, form, out, &fault) && !spectrum_write(&full, form, out, &fault) &&
                   !output_close(out, &fault);
        judge(good, "spectrum", form == SPECTRUM_SVG ? "svg" : form == SPECTRUM_TEXT ? "text" : "table");
    }
    entries[0] = (spectrum_entry){1, 1};
    entries[1] = (spectrum_entry){UINT64_MAX / 2, 1};
    spectrum wide = {entries, 2, "64-bit numbers", "numbers"};
    for (int form = SPECTRUM_SVG; form <= SPECTRUM_TABLE; form++) {
        int good = !output_open(&out, path, "--spectrum", &fault) &&
                   !spectrum_write(&wide, form, out, &fault) && !output_close(out, &fault);
        judge(good, "spectrum", "a count of 2^63");
    }
}

static unsigned times_in(const char *text, const char *word)
{
    unsigned n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

/* Counts to 14 have a bar each; bars for more are ranges, and their single counts are dots. */
static void test_drawing(void)
{
    static fault fault;
    static char text[20000];
    static spectrum_entry entries[] = {{1, 5000}, {2, 300}, {14, 40}, {20, 6}, {50, 9}};
    spectrum few = {entries, 5, "21-mers", "k-mers"};
    char path[4096];
    output *out;
    snprintf(path, sizeof path, "%s/drawing.svg", folder);
    int good = !output_open(&out, path, "--spectrum", &fault) &&
               !spectrum_write(&few, SPECTRUM_SVG, out, &fault) && !output_close(out, &fault);
    FILE *file = fopen(path, "rb");
    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
    }
    judge(good && file && times_in(text, "class=\"bar\"") == 5, "drawing", "a bar for each count");
    judge(times_in(text, "class=\"dot\"") == 2, "drawing", "dots where bars are ranges");
    judge(times_in(text, "<title>14 times: 40 k-mers<") == 1 && times_in(text, " to ") == 2, "drawing",
          "what bars stand for");
    judge(times_in(text, "x=\"20\" y=\"225.0\"") == 1 &&
              times_in(text, "rotate(-90 20 225.0)\">distinct") == 1,
          "drawing", "the words beside an axis are at its middle");
}

/* ---- no memory ----------------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void test_no_memory(void) {}
#else
/* In a process that gets none any more: 1 if all that is opened says so, and leaves nothing. */
static int told_without_memory(const char *path, uint64_t *keys, uint64_t *counts)
{
    static fault fault;
    const struct rlimit none = {0, 0};
    input *in = (input *)&fault;
    table *made = (table *)&fault;
    ranking ranked;
    if (setrlimit(RLIMIT_AS, &none))
        return 0;
    for (size_t bytes = 1 << 20; bytes >= 1024; bytes /= 2)
        while (malloc(bytes))
            ;
    int good = input_open(&in, path, 0, &fault) == CLI_FAILED && !in && strstr(fault.text, "no memory");
    fault = (struct fault){0};
    good = good && input_open(&in, path, 1, &fault) == CLI_FAILED && !in && strstr(fault.text, "no memory");
    fault = (struct fault){0};
    good = good && table_start(&made, NULL, 21, 1000000, 4, &fault) == CLI_FAILED && !made &&
           strstr(fault.text, "no memory");
    fault = (struct fault){0};
    return good && ranking_make(&ranked, keys, counts, 100000, 1, 100000, 2, &fault) == CLI_FAILED &&
           strstr(fault.text, "no memory");
}

static void test_no_memory(void)
{
    const char *path = file_make(">a\nACGT\n", 8);
    uint64_t *keys = calloc(100000, 8), *counts = calloc(100000, 8);
    int status = 1;
    pid_t child = keys && counts ? fork() : -1;
    if (!child)
        _exit(!told_without_memory(path, keys, counts));
    judge(child > 0 && waitpid(child, &status, 0) == child && !status, "no memory",
          "to read, to write, or to rank");
    free(keys);
    free(counts);
}
#endif

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    folder = argv[1];
    test_gzip();
    test_plain();
    test_ranking();
    test_device_ranking();
    test_outputs();
    test_spectrum();
    test_drawing();
    test_no_memory();
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
