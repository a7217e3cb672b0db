/* The oracle of the command line's tests, as plain as can be and sharing nothing with the tool.
 *
 *   naive count K plain|canonical FILE...   all k-mers as strings, sorted, counted, sorted again
 *   naive u32|u64 FILE...                   the same for binary integers
 *   naive make SEED RECORDS fasta|fastq     records that try the reader: odd wrapping, LF, CRLF and CR, blank
 *                                           lines, case, N
 *   naive numbers SEED N u32|u64            binary integers, some of them often
 *   naive dribble N FILE                    the file's bytes, N at a time, each piece by a write of its own
 *   naive split M HOW A B u32|u64 FILE      bucket and number, in the file's order; HOW is bits, mod, range
 *                                           or hash */
#define _XOPEN_SOURCE 700

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct line {
    char *text;
    unsigned long count;
} line;

static line *lines;
static size_t lines_n, lines_room;

static void *need(void *memory)
{
    if (!memory) {
        fprintf(stderr, "naive: no memory\n");
        exit(1);
    }
    return memory;
}

static void add(const char *text, size_t n)
{
    if (lines_n == lines_room) {
        lines_room = lines_room * 2 + 1000;
        lines = need(realloc(lines, lines_room * sizeof *lines));
    }
    lines[lines_n].text = need(strndup(text, n));
    lines[lines_n++].count = 1;
}

/* Numbers as text sort by length first. */
static int by_text(const void *a, const void *b)
{
    const char *s = ((const line *)a)->text, *t = ((const line *)b)->text;
    size_t m = strlen(s), n = strlen(t);
    return m != n ? (m < n ? -1 : 1) : strcmp(s, t);
}

static int by_count(const void *a, const void *b)
{
    const line *s = a, *t = b;
    return s->count != t->count ? (s->count > t->count ? -1 : 1) : by_text(a, b);
}

static void print(void)
{
    size_t n = 0;
    if (lines_n)
        qsort(lines, lines_n, sizeof *lines, by_text);
    for (size_t i = 0; i < lines_n; i++) {
        if (!n || strcmp(lines[n - 1].text, lines[i].text)) {
            lines[n++] = lines[i];
        } else {
            lines[n - 1].count++;
            free(lines[i].text);
        }
    }
    if (n)
        qsort(lines, n, sizeof *lines, by_count);
    for (size_t i = 0; i < n; i++) {
        printf("%s\t%lu\n", lines[i].text, lines[i].count);
        free(lines[i].text);
    }
    free(lines);
}

static char complement(char letter)
{
    return letter == 'A' ? 'T' : letter == 'C' ? 'G' : letter == 'G' ? 'C' : 'A';
}

static void words(const char *sequence, size_t k, int canonical)
{
    size_t n = strlen(sequence);
    for (size_t i = 0; i + k <= n; i++) {
        char word[64] = "", turned[64] = "";
        size_t j = 0;
        for (; j < k; j++) {
            word[j] = (char)toupper((unsigned char)sequence[i + j]);
            if (!strchr("ACGT", word[j]))
                break;
            turned[k - 1 - j] = complement(word[j]);
        }
        if (j == k)
            add(canonical && strcmp(turned, word) < 0 ? turned : word, k);
    }
}

static FILE *file_open(const char *path)
{
    return need(fopen(path, "rb"));
}

/* A line without its end, which is LF, CRLF or CR, in `*text`; 0 at the end. */
static int next_line(FILE *file, char **text, size_t *room)
{
    size_t n = 0;
    int c = fgetc(file);
    if (c == EOF)
        return 0;
    for (; c != EOF && c != '\n' && c != '\r'; c = fgetc(file)) {
        if (n + 1 >= *room)
            *text = need(realloc(*text, *room = *room * 2 + 100));
        (*text)[n++] = (char)c;
    }
    if (c == '\r' && (c = fgetc(file)) != '\n' && c != EOF)
        ungetc(c, file);
    if (!*room)
        *text = need(malloc(*room = 100));
    (*text)[n] = 0;
    return 1;
}

static void count_file(const char *path, size_t k, int canonical)
{
    FILE *file = file_open(path);
    char *text = NULL, *sequence = need(calloc(1, 1));
    size_t room = 0, letters = 0, quality = 0;
    int in_quality = 0, fastq = 0;
    while (next_line(file, &text, &room)) {
        size_t n = strlen(text);
        if (in_quality) {
            quality += n;
            in_quality = quality < letters;
            continue;
        }
        int header = *text == '>' || (*text == '@' && (!fastq || !letters));
        if (header || (fastq && *text == '+')) {
            words(sequence, k, canonical);
            *sequence = 0;
            fastq = *text == '@' || *text == '+';
            in_quality = *text == '+' && letters > 0;
            quality = 0;
            letters = header ? 0 : letters;
            continue;
        }
        if (!n)
            continue;
        if (fastq && *text == '@') { /* the record before has its quality */
            letters = 0;
            continue;
        }
        sequence = need(realloc(sequence, letters + n + 1));
        memcpy(sequence + letters, text, n + 1);
        letters += n;
    }
    words(sequence, k, canonical);
    free(sequence);
    free(text);
    fclose(file);
}

static void numbers_file(const char *path, size_t width)
{
    FILE *file = file_open(path);
    unsigned char bytes[8];
    while (fread(bytes, 1, width, file) == width) {
        uint64_t number = 0;
        char text[24];
        for (size_t i = width; i-- > 0;)
            number = number * 256 + bytes[i];
        add(text, (size_t)snprintf(text, sizeof text, "%" PRIu64, number));
    }
    fclose(file);
}

static uint64_t state;

static unsigned random_below(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % n);
}

static void print_wrapped(const char *text, size_t n, size_t width, const char *end)
{
    for (size_t i = 0; i < n; i += width) {
        printf("%.*s%s", (int)(n - i < width ? n - i : width), text + i, end);
        if (random_below(9) == 0)
            printf("%s", end);
    }
}

static void make(unsigned records, int fastq)
{
    static const char common[] = "ACGTACGTACGTACGTACGTACGTACGTACGTacgtNnRy-*";
    static char genome[5000], text[1000], quality[1000];
    for (size_t i = 0; i < sizeof genome; i++)
        genome[i] = common[random_below(sizeof common - 1)];
    for (unsigned record = 0; record < records; record++) {
        size_t n = random_below(random_below(5) ? 200 : 1000), from = random_below(sizeof genome - 1000);
        static const char *const ends[] = {"\n", "\n", "\r\n", "\r"};
        const char *end = ends[random_below(4)];
        memcpy(text, genome + from, n);
        if (n && random_below(3) == 0)
            text[random_below((unsigned)n)] = common[random_below(sizeof common - 1)];
        for (size_t i = 0; i < n; i++)
            quality[i] = (char)('!' + random_below(94));
        printf("%cr%u @>+ x%s", fastq ? '@' : '>', record, end);
        print_wrapped(text, n, 1 + random_below(random_below(3) ? 300 : 5), end);
        if (fastq) {
            printf("+%s%s", random_below(3) ? "" : "r", end);
            print_wrapped(quality, n, 1 + random_below(random_below(3) ? 300 : 5), end);
        }
        if (random_below(10) == 0)
            printf("%s", end);
    }
}

static void make_numbers(unsigned n, size_t width)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t number =
            random_below(3) ? random_below(1000) : (uint64_t)random_below(1u << 31) * random_below(1u << 31);
        if (random_below(100) == 0)
            number = UINT64_MAX - random_below(2);
        for (size_t j = 0; j < width; j++)
            putchar((int)(number >> 8 * j & 255));
    }
}

static uint64_t hash(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* The high half of a product, by halves. */
static uint64_t high(uint64_t x, uint64_t y)
{
    uint64_t low = (x & UINT32_MAX) * y;
    return ((x >> 32) * y + (low >> 32)) >> 32;
}

static uint64_t bucket_of(uint64_t x, uint64_t m, const char *how, uint64_t a, uint64_t b)
{
    if (!strcmp(how, "bits"))
        return (x >> a) % (UINT64_C(1) << b);
    if (!strcmp(how, "mod"))
        return x % m;
    if (!strcmp(how, "hash"))
        return high(hash(x ^ a), m);
    uint64_t width = (b - a) / m + 1;
    return x < a ? 0 : ((x < b ? x : b) - a) / width;
}

static void split(char **argv)
{
    uint64_t m = strtoull(argv[2], NULL, 10), a = strtoull(argv[4], NULL, 10),
             b = strtoull(argv[5], NULL, 10);
    size_t width = argv[6][1] == '3' ? 4 : 8;
    unsigned char bytes[8];
    FILE *file = need(fopen(argv[7], "rb"));
    while (fread(bytes, width, 1, file) == 1) {
        uint64_t x = 0;
        for (size_t i = width; i-- > 0;)
            x = x << 8 | bytes[i];
        printf("%" PRIu64 "\t%" PRIu64 "\n", bucket_of(x, m, argv[3], a, b), x);
    }
    fclose(file);
}

static void dribble(size_t piece, const char *path)
{
    char bytes[64];
    FILE *file = file_open(path);
    size_t n;
    while ((n = fread(bytes, 1, piece < sizeof bytes ? piece : sizeof bytes, file)))
        if (write(STDOUT_FILENO, bytes, n) != (ssize_t)n)
            exit(1);
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "count")) {
        for (int i = 4; i < argc; i++)
            count_file(argv[i], (size_t)atoi(argv[2]), !strcmp(argv[3], "canonical"));
        print();
    } else if (argc > 2 && (!strcmp(argv[1], "u32") || !strcmp(argv[1], "u64"))) {
        for (int i = 2; i < argc; i++)
            numbers_file(argv[i], argv[1][1] == '3' ? 4 : 8);
        print();
    } else if (argc == 4 && !strcmp(argv[1], "dribble")) {
        dribble((size_t)atoi(argv[2]), argv[3]);
    } else if (argc == 8 && !strcmp(argv[1], "split")) {
        split(argv);
    } else if (argc == 5) {
        state = (uint64_t)atoi(argv[2]) * 1000003u + 1;
        if (!strcmp(argv[1], "make"))
            make((unsigned)atoi(argv[3]), !strcmp(argv[4], "fastq"));
        else
            make_numbers((unsigned)atoi(argv[3]), argv[4][1] == '3' ? 4 : 8);
    } else {
        return 2;
    }
    return 0;
}
