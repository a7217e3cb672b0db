/* test_frame_metadata.c: a column's metadata, which Arrow keeps in the schema and whose length is told
 * nowhere but inside, goes with the column wherever it goes. */
#include "model.h"

#define ROWS  50
#define PAIRS 3

static void put_word(unsigned char *at, uint64_t *bytes, int32_t v)
{
    memcpy(at + *bytes, &v, sizeof v);
    *bytes += sizeof v;
}

/* Keys and values of up to 300 bytes. Their bytes, and how many these are. */
static uint64_t draw(struct test *t, unsigned char *to)
{
    uint64_t bytes = 0;
    put_word(to, &bytes, PAIRS);
    for (int i = 0; i < 2 * PAIRS; i++) {
        const uint64_t length = i == 1 ? 300 : test_below(t, 300);
        put_word(to, &bytes, (int32_t)length);
        for (uint64_t j = 0; j < length; j++)
            to[bytes++] = (unsigned char)test_random(t);
    }
    return bytes;
}

struct schemas {
    unsigned char bytes[2][(PAIRS * 2 + 1) * 304]; /* of columns a and b; c has none */
    uint64_t length[2];
};

/* A frame of three columns, one of them a dictionary. */
static cohort_frame *frame_of(struct test *t, struct schemas *s)
{
    struct model m;
    struct model_plan plan = {.rows = ROWS, .distinct = 9, .nulls = 10};
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_frame *frame = NULL;
    model_open(&m, ROWS, 3);
    model_fill(t, &m, 0, "a", "l", &plan);
    model_fill(t, &m, 2, "c", "i", &plan);
    plan.dictionaries = 2;
    model_fill(t, &m, 1, "b", "u", &plan);
    model_schema(&m, &schema);
    model_array(t, &m, 0, ROWS, &array);
    for (int c = 0; c < 2; c++) {
        s->length[c] = draw(t, s->bytes[c]);
        schema.children[c]->metadata = (const char *)s->bytes[c];
    }
    OK(t, cohort_frame_import(t->context, &schema, &array, &frame));
    model_close(&m);
    return frame;
}

/* The frame's columns have the metadata of these ones, the same bytes in memory of their own. Ends it. */
static void judge(struct test *t, const struct schemas *s, cohort_frame *frame, const char *columns)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_status status = cohort_frame_export(frame, &schema, &array);
    REQUIREF(t, !status, "%s", cohort_message(t->context));
    EQUAL(t, schema.n_children, strlen(columns));
    for (int i = 0; columns[i]; i++) {
        const char *got = schema.children[i]->metadata;
        const int c = columns[i] - 'a';
        if (c == 2)
            CHECK(t, !got);
        else
            CHECKF(t, got && got != (const char *)s->bytes[c] && !memcmp(got, s->bytes[c], s->length[c]),
                   "column %d of '%s' has %s metadata", i, columns, got ? "other" : "no");
    }
    schema.release(&schema);
    array.release(&array);
    cohort_frame_release(frame);
}

static void goes_along(struct test *t)
{
    static const uint32_t columns[] = {1, 2, 1, 0};
    struct schemas s;
    uint32_t rows[ROWS];
    cohort_frame *frame = frame_of(t, &s), *made = NULL, *again = NULL;
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = i * 7 % ROWS;
    OK(t, cohort_frame_select(frame, 4, columns, NULL, &made));
    judge(t, &s, made, "bcba");
    OK(t, cohort_frame_beside(frame, frame, NULL, &made));
    judge(t, &s, made, "abcabc");
    OK(t, cohort_frame_slice(frame, 3, 20, &made));
    OK(t, cohort_frame_slice(made, 1, 10, &again));
    cohort_frame_release(made);
    judge(t, &s, again, "abc");
    OK(t, cohort_gather(frame, ROWS, 4, rows, &made));
    OK(t, cohort_gather(made, ROWS / 2, 4, rows, &again));
    judge(t, &s, made, "abc");
    OK(t, cohort_frame_slice(again, 1, ROWS / 4, &made));
    cohort_frame_release(again);
    judge(t, &s, made, "abc");
    judge(t, &s, frame, "abc");
    EQUAL(t, model_alive, 0);
}

const struct test_case test_cases[] = {{"goes_along", goes_along, 0}, {NULL, NULL, 0}};
