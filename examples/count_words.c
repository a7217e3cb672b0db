/* count_words FILE [TOP]: how many different words a text has, and the most frequent ones.
 *
 * A word is a run of ASCII letters, digits and bytes above 127, in lower case. Words become 64-bit keys by a
 * hash. So that two words with one hash cannot pass for one, a first map remembers where each key's word
 * stands first in the text, and every word is compared with the one there: insert_and_find with the winner
 * rule FIRST answers that for all words in one call. A second map counts. Runs on a GPU if there is one, else
 * on the CPU (COHORT_DEVICE=cpu or cuda:N decides). */
#include <cohort.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    uint64_t size, words;
    uint64_t *starts, *keys; /* of each word */
};

struct ranked {
    uint64_t count;
    const char *word;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "count_words: %s: %s\n", what, why);
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
        fail("text", "too large for this machine's memory");
    return memory;
}

static int in_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c > 127;
}

static void read_file(struct text *text, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, "cannot be opened");
    uint64_t capacity = 1 << 16;
    text->bytes = malloc(capacity);
    for (size_t got = 1; text->bytes && got > 0;) {
        got = fread(text->bytes + text->size, 1, capacity - text->size - 1, file);
        text->size += got;
        if (capacity - text->size < 2)
            text->bytes = realloc(text->bytes, capacity *= 2);
    }
    if (!text->bytes || ferror(file))
        fail(path, "cannot be read");
    fclose(file);
}

/* Ends each word by a 0, notes where it starts, and makes its key (FNV-1a). */
static void split(struct text *text)
{
    text->starts = room(text->size / 2 + 1, sizeof *text->starts);
    text->keys = room(text->size / 2 + 1, sizeof *text->keys);
    text->bytes[text->size] = 0;
    for (uint64_t i = 0; i < text->size; i++) {
        if (!in_word(text->bytes[i]))
            continue;
        uint64_t key = 0xcbf29ce484222325u;
        text->starts[text->words] = i;
        for (; i < text->size && in_word(text->bytes[i]); i++) {
            text->bytes[i] = (char)tolower((unsigned char)text->bytes[i]);
            key = (key ^ (unsigned char)text->bytes[i]) * 0x100000001b3u;
        }
        text->bytes[i] = 0;
        text->keys[text->words++] = key;
    }
}

/* firsts[i] becomes the start of the first word in the text with the key of word i, which must be that
 * word. */
static void check_keys(cohort_context *context, cohort_map *where, const struct text *text)
{
    uint64_t *firsts = room(text->words, sizeof *firsts);
    memcpy(firsts, text->starts, text->words * sizeof *firsts);
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.winner = COHORT_WINNER_FIRST;
    must(context, cohort_map_insert_and_find_64_64(where, text->words, text->keys, firsts, &batch));
    for (uint64_t i = 0; i < text->words; i++)
        if (strcmp(text->bytes + firsts[i], text->bytes + text->starts[i]) != 0)
            fail(text->bytes + text->starts[i], "has the key of another word");
    free(firsts);
}

static int by_count(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->word, y->word);
}

/* All words of the map with their counts, the most frequent first. */
static struct ranked *rank(cohort_context *context, cohort_map *counts, cohort_map *where,
                           const struct text *text, uint64_t *distinct)
{
    must(context, cohort_map_size(counts, distinct));
    uint64_t *keys = room(*distinct, sizeof *keys), *times = room(*distinct, sizeof *times),
             *firsts = room(*distinct, sizeof *firsts);
    struct ranked *ranked = room(*distinct, sizeof *ranked);
    must(context, cohort_map_export(counts, *distinct, keys, times, distinct));
    must(context, cohort_map_find_64_64(where, *distinct, keys, firsts, NULL, NULL));
    for (uint64_t i = 0; i < *distinct; i++) {
        ranked[i].count = times[i];
        ranked[i].word = text->bytes + firsts[i];
    }
    qsort(ranked, *distinct, sizeof *ranked, by_count);
    free(keys);
    free(times);
    free(firsts);
    return ranked;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: count_words FILE [TOP]\n");
        return 2;
    }
    struct text text = {NULL, 0, 0, NULL, NULL};
    read_file(&text, argv[1]);
    split(&text);

    cohort_context *context = NULL;
    cohort_map *where = NULL, *counts = NULL;
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT; /* 64-bit keys and values */
    options.capacity = 1000;                              /* to begin with: the maps grow */
    must(NULL, cohort_context_create(NULL, &context));
    must(context, cohort_map_create(context, &options, &where));
    must(context, cohort_map_create(context, &options, &counts));
    check_keys(context, where, &text);
    must(context, cohort_map_apply(counts, COHORT_OP_COUNT, text.words, text.keys, NULL, NULL));

    uint64_t distinct, top = argc == 3 ? strtoull(argv[2], NULL, 10) : 10;
    struct ranked *ranked = rank(context, counts, where, &text, &distinct);
    printf("%llu words, %llu different\n", (unsigned long long)text.words, (unsigned long long)distinct);
    for (uint64_t i = 0; i < distinct && i < top; i++)
        printf("%8llu  %s\n", (unsigned long long)ranked[i].count, ranked[i].word);

    cohort_map_destroy(where);
    cohort_map_destroy(counts);
    cohort_context_destroy(context);
    free(ranked);
    free(text.bytes);
    free(text.starts);
    free(text.keys);
    return 0;
}
