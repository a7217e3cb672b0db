/* index FILE QUERY...: which packages' descriptions have all words of a query, by an inverted index.
 *
 * FILE is an index of Debian packages: /var/lib/dpkg/status, or what `apt-cache dumpavail` prints. A QUERY is
 * one argument of words. Each word of the descriptions is a set, of the numbers of the packages that have it:
 * one collection, built from pairs (word, package) in one call. All queries are one batch: a row of sets
 * each, AND, with the number of answers and the first three. Then every answer is compared with a linear scan
 * of the descriptions.
 *
 *     index /var/lib/dpkg/status 'python library' 'gnu compiler'
 *
 * Runs on a GPU if there is one, else on the CPU (COHORT_DEVICE=cpu or cuda:N decides). */
#include <cohort.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN     3u
#define WORD_MOST 64u

struct package {
    const char *name, *text; /* in the file's bytes: the description's lines, to its end */
    size_t name_bytes, text_bytes;
};

struct index {
    char *bytes;
    size_t size;
    struct package *packages;
    char (*words)[WORD_MOST]; /* by number */
    uint32_t *slots;          /* a hash table of numbers + 1 */
    uint32_t *pair_words, *pair_packages;
    uint64_t packages_count, words_count, slots_count, pairs;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "index: %s: %s\n", what, why);
    exit(1);
}

static void must(cohort_context *context, cohort_status status)
{
    if (status)
        fail(cohort_status_name(status), cohort_message(context));
}

static void *room(uint64_t entries, size_t bytes)
{
    void *memory = calloc(entries + 1, bytes);
    if (!memory)
        fail("packages", "too many for this machine's memory");
    return memory;
}

static void read_file(struct index *x, const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t capacity = 1 << 16, got = 1;
    if (!file)
        fail(path, "cannot be opened");
    for (x->bytes = malloc(capacity); x->bytes && got; x->size += got) {
        if (capacity - x->size < 4096 && !(x->bytes = realloc(x->bytes, capacity *= 2)))
            break;
        got = fread(x->bytes + x->size, 1, capacity - x->size - 1, file);
    }
    if (!x->bytes || ferror(file))
        fail(path, "cannot be read");
    fclose(file);
}

/* The end of a line, without its line feed. */
static const char *line_end(const char *at, const char *end)
{
    const char *feed = memchr(at, '\n', (size_t)(end - at));
    return feed ? feed : end;
}

/* Paragraphs of fields; a line that begins with a space goes on with the field before. */
static void find_packages(struct index *x)
{
    const char *end = x->bytes + x->size, *next;
    struct package p = {NULL, NULL, 0, 0};
    uint64_t lines = 0;
    for (size_t i = 0; i < x->size; i++)
        lines += x->bytes[i] == '\n';
    x->packages = room(lines + 1, sizeof *x->packages);
    for (const char *at = x->bytes; at < end; at = next) {
        const char *stop = line_end(at, end);
        next = stop < end ? stop + 1 : end;
        if (stop - at > 9 && !memcmp(at, "Package: ", 9)) {
            p.name = at + 9;
            p.name_bytes = (size_t)(stop - p.name);
        } else if (stop - at > 13 && !memcmp(at, "Description: ", 13)) {
            while (next < end && *next == ' ') {
                stop = line_end(next, end);
                next = stop < end ? stop + 1 : end;
            }
            p.text = at + 13;
            p.text_bytes = (size_t)(stop - p.text);
        }
        if ((stop == at || next == end) && p.name && p.text)
            x->packages[x->packages_count++] = p;
        if (stop == at)
            memset(&p, 0, sizeof p);
    }
}

/* The next word of a text, in lower case, cut after WORD_MOST - 1 bytes; NULL at the end. */
static const char *next_word(const char *at, const char *end, char *word)
{
    size_t n = 0;
    while (at < end && !isalnum((unsigned char)*at))
        at++;
    if (at == end)
        return NULL;
    for (; at < end && isalnum((unsigned char)*at); at++)
        if (n < WORD_MOST - 1)
            word[n++] = (char)tolower((unsigned char)*at);
    word[n] = 0;
    return at;
}

/* The slot of a word, or the empty one where it would be. */
static uint32_t *slot_of(const struct index *x, const char *word)
{
    uint64_t hash = 0;
    for (const char *c = word; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x9e3779b97f4a7c15u;
    for (uint64_t s = hash >> 20;; s++) {
        uint32_t *slot = &x->slots[s & (x->slots_count - 1)];
        if (!*slot || !strcmp(x->words[*slot - 1], word))
            return slot;
    }
}

static void find_pairs(struct index *x)
{
    uint64_t most = x->size / 2 + 1; /* words that a file of so many bytes can have */
    char word[WORD_MOST];
    for (x->slots_count = 1024; x->slots_count < 2 * most;)
        x->slots_count *= 2;
    x->slots = room(x->slots_count, sizeof *x->slots);
    x->pair_words = room(most, sizeof *x->pair_words);
    x->pair_packages = room(most, sizeof *x->pair_packages);
    uint64_t capacity = 0;
    for (uint64_t i = 0; i < x->packages_count; i++) {
        const char *at = x->packages[i].text, *end = at + x->packages[i].text_bytes;
        while ((at = next_word(at, end, word))) {
            uint32_t *slot = slot_of(x, word);
            if (!*slot) {
                if (x->words_count == capacity &&
                    !(x->words = realloc(x->words, (capacity = 2 * capacity + 1024) * sizeof *x->words)))
                    fail("words", "too many for this machine's memory");
                memcpy(x->words[x->words_count++], word, sizeof word);
                *slot = (uint32_t)x->words_count;
            }
            x->pair_words[x->pairs] = *slot - 1;
            x->pair_packages[x->pairs++] = (uint32_t)i;
        }
    }
}

/* A set a word, and an empty one behind them for words that no package has. */
static cohort_sets *build(cohort_context *context, const struct index *x)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets;
    source.n = x->pairs;
    source.sets = x->words_count + 1;
    source.members = x->pair_packages;
    source.groups = x->pair_words;
    must(context, cohort_sets_build(context, &source, &sets));
    return sets;
}

/* The rows of the batch: offsets[q] to offsets[q + 1] are the sets of query q. */
static uint64_t *rows_of(const struct index *x, char **queries, uint64_t n, uint64_t *offsets)
{
    uint64_t most = 0, at = 0;
    char word[WORD_MOST];
    for (uint64_t q = 0; q < n; q++)
        most += strlen(queries[q]);
    uint64_t *members = room(most, sizeof *members);
    for (uint64_t q = 0; q < n; q++) {
        const char *text = queries[q], *end = text + strlen(text);
        offsets[q] = at;
        while ((text = next_word(text, end, word))) {
            uint32_t slot = *slot_of(x, word);
            members[at++] = slot ? slot - 1 : x->words_count;
        }
    }
    offsets[n] = at;
    return members;
}

/* ---- the linear scan ----------------------------------------------------------------------------------- */

static int has_word(const struct package *p, const char *wanted)
{
    char word[WORD_MOST];
    for (const char *at = p->text; (at = next_word(at, p->text + p->text_bytes, word));)
        if (!strcmp(word, wanted))
            return 1;
    return 0;
}

/* A query without words has no answer. */
static int has_all(const struct package *p, const char *query)
{
    char word[WORD_MOST];
    const char *end = query + strlen(query);
    int words = 0;
    for (const char *at = query; (at = next_word(at, end, word)); words++)
        if (!has_word(p, word))
            return 0;
    return words > 0;
}

/* The count, and the first answers, are those of a scan. */
static int is_right(const struct index *x, const char *query, uint64_t count, const uint32_t *first)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < x->packages_count; i++)
        if (has_all(&x->packages[i], query)) {
            if (found < SHOWN && first[found] != i)
                return 0;
            found++;
        }
    return found == count;
}

/* ---- the batch ----------------------------------------------------------------------------------------- */

struct answers {
    uint64_t *counts, *firsts;
    uint32_t *first; /* SHOWN a query */
};

static struct answers ask(cohort_context *context, cohort_sets *sets, const struct index *x, char **queries,
                          uint64_t n)
{
    struct answers a = {room(n, 8), room(n, 8), room(n * SHOWN, sizeof *a.first)};
    uint64_t *offsets = room(n + 1, 8), *members = rows_of(x, queries, n, offsets);
    cohort_sets_query_desc query = COHORT_SETS_QUERY_INIT;
    query.collections = &sets;
    query.collections_count = 1;
    query.rows = n;
    query.members = members;
    query.offsets = offsets;
    query.counts = a.counts;
    query.first_most = SHOWN;
    query.first = a.first;
    query.first_counts = a.firsts;
    must(context, cohort_sets_query(context, &query));
    must(context, cohort_wait(context));
    free(members);
    free(offsets);
    return a;
}

/* Whether the answer is right. */
static int print(const struct index *x, const struct answers *a, uint64_t q, const char *query)
{
    int right = is_right(x, query, a->counts[q], a->first + q * SHOWN);
    printf("%s: %llu%s:", query, (unsigned long long)a->counts[q], right ? "" : ", WRONG");
    for (uint64_t i = 0; i < a->firsts[q]; i++) {
        const struct package *p = &x->packages[a->first[q * SHOWN + i]];
        printf(" %.*s", (int)p->name_bytes, p->name);
    }
    printf("\n");
    return right;
}

static void free_all(struct index *x, struct answers *a)
{
    free(a->counts);
    free(a->firsts);
    free(a->first);
    free(x->slots);
    free(x->words);
    free(x->pair_words);
    free(x->pair_packages);
    free(x->packages);
    free(x->bytes);
}

int main(int argc, char **argv)
{
    struct index x;
    cohort_context *context;
    int wrong = 0;
    memset(&x, 0, sizeof x);
    if (argc < 3) {
        fprintf(stderr, "usage: index FILE QUERY...   (index /var/lib/dpkg/status 'python library')\n");
        return 2;
    }
    read_file(&x, argv[1]);
    find_packages(&x);
    find_pairs(&x);
    must(NULL, cohort_context_create(NULL, &context));
    cohort_sets *sets = build(context, &x);
    uint64_t n = (uint64_t)argc - 2;
    struct answers answers = ask(context, sets, &x, argv + 2, n);
    printf("%llu packages, %llu words\n", (unsigned long long)x.packages_count,
           (unsigned long long)x.words_count);
    for (uint64_t q = 0; q < n; q++)
        wrong |= !print(&x, &answers, q, argv[q + 2]);
    cohort_sets_destroy(sets);
    cohort_context_destroy(context);
    free_all(&x, &answers);
    return wrong;
}
