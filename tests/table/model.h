/* tests/table/model.h: tables as the tests see them: every value as its bytes, nothing packed, nothing shared
 * with the library.
 *
 * A model becomes Arrow structs in whatever form Arrow allows (any offset, any first bit, any split into
 * chunks, every layout of strings, dictionaries with repeats and nulls), each buffer of exactly the size that
 * it must have, so that a sanitizer sees what is read beyond. And Arrow structs become models. */
#ifndef TABLE_MODEL_H
#define TABLE_MODEL_H

#include "test.h"

struct cell {
    const unsigned char *bytes; /* NULL: null */
    uint64_t length;
};

struct model_column {
    char name[16];
    char format[32]; /* Arrow's, of the values */
    char index[2];   /* of a dictionary's indices: one of cCsSiIlL; else "" */
    int value_nulls; /* of a dictionary: null rows are so by an index to the null value, all of them */
    struct cell *cell;
};

struct model {
    uint64_t rows;
    uint32_t columns;
    struct model_column *column;
    struct model_block *blocks; /* what cells point to */
};

/* Every type that frames have, a NULL behind them. */
extern const char *const model_formats[];

/* Strings, or bytes, in one of their layouts, drawn; other types as they are. */
const char *model_another_layout(struct test *, const char *format);

/* Whether values of the type are numbers of at most 8 bytes, or so many bytes that are none. */
int model_is_word(const char *format);

/* How random tables look. */
struct model_plan {
    uint64_t rows, distinct; /* values of a column come from so many */
    uint32_t nulls;          /* a row in 100 is null so often */
    int wild;                /* extreme values: ends of ranges, NaN of several kinds, -0, long strings */
    int dictionaries;        /* 1: now and then, of any index type that holds it; 2: always; */
                             /* 3: always, with null rows by null values alone */
};

void model_open(struct model *, uint64_t rows, uint32_t columns);
void model_close(struct model *);
/* Whether a GPU works with such keys in its own memory: all columns are words or dictionaries. */
int model_stays(const struct model *);

/* Copies bytes that live as long as the model. */
const unsigned char *model_bytes(struct model *, const void *bytes, uint64_t length);

/* Value number `id` of a type, the same bytes each time. */
struct cell model_value(struct model *, const char *format, uint64_t id, int wild);

void model_fill(struct test *, struct model *, uint32_t column, const char *name, const char *format,
                const struct model_plan *);

/* Half of the rows get the first columns of some row of `from`, which lives as long. */
void model_repeat(struct test *, struct model *, const struct model *from, uint32_t columns);

/* Random columns of random types. */
void model_random(struct test *, struct model *, uint32_t columns, const struct model_plan *);

/* ---- to Arrow and back --------------------------------------------------------------------------------- */

/* Arrays of models that are not released yet. */
extern int model_alive;

/* Release structs whose memory is a case's own, and so stays. */
void model_let_go_schema(struct ArrowSchema *);
void model_let_go_array(struct ArrowArray *);

/* Rows first .. first + rows as a struct array with a random offset. */
void model_schema(const struct model *, struct ArrowSchema *);
void model_array(struct test *, const struct model *, uint64_t first, uint64_t rows, struct ArrowArray *);

/* All rows in random chunks, some of them empty. */
void model_stream(struct test *, const struct model *, struct ArrowArrayStream *);

/* A frame of the model, by one array or by a stream. */
cohort_frame *model_frame(struct test *, const struct model *, cohort_context *);

/* Reads Arrow structs; leaves them as they are. */
void model_read(struct test *, struct model *, const struct ArrowSchema *, const struct ArrowArray *);
void model_of_frame(struct test *, struct model *, cohort_frame *);

/* The same rows in the same order: same values, whatever the layout. `canonical`: NaNs are one, and so are
 * zeros. */
void model_same(struct test *, const struct model *a, const struct model *b);

/* A column's value as keys are compared: NaN is NaN, 0 is -0. */
int cell_same(const char *format, struct cell a, struct cell b);
int cell_order(const char *format, struct cell a,
               struct cell b); /* -1, 0, 1; as numbers or as bytes; nulls last */

/* One column of 64-bit keys. */
cohort_frame *keys_frame(struct test *t, cohort_context *context, uint64_t n, const uint64_t *keys);

#endif
