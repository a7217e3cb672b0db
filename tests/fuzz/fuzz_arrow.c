/* Fuzzer of what comes in as Arrow structs (arrow_input.h): an array, a stream of them, an array of a device,
 * or a stream of those. What is taken in all the same is gathered, exported, read byte by byte, and used as
 * keys. Whatever comes of it, each array that was handed out comes back once, and a stream does. */
#include "arrow_input.h"

/* ---- what is done with it ------------------------------------------------------------------------------ */

static volatile unsigned sink;

static void read_all(const void *memory, uint64_t bytes)
{
    for (uint64_t i = 0; memory && i < bytes; i++)
        sink += ((const unsigned char *)memory)[i];
}

static void use(cohort_context *context, cohort_frame *frame)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    uint64_t rows[64], n = cohort_frame_rows(frame);
    cohort_frame *made = NULL, *part = NULL;
    for (uint64_t i = 0; i < 64; i++)
        rows[i] = n && i % 7 ? i * 5 % n : UINT64_MAX;
    if (cohort_gather(frame, 64, 8, rows, &made))
        abort();
    if (cohort_frame_slice(made, 3, 30, &part) || cohort_frame_export(part, &schema, &array))
        abort();
    for (int64_t i = 0; i < array.n_children; i++)
        read_all(array.children[i]->buffers[0], 30 / 8);
    cohort_frame_release(made);
    cohort_frame_release(part);
    schema.release(&schema);
    array.release(&array);
    made = NULL;
    if (cohort_unique(frame, n & 1 ? COHORT_SORTED : 0, &made) && made)
        abort();
    cohort_frame_release(made);
    (void)context;
}

/* ---- a stream that makes its arrays of the input ------------------------------------------------------- */

struct maker {
    struct input *in;
    struct ArrowSchema schema;
    int columns, chunks, released;
};

static int make_schema(struct maker *m, struct ArrowSchema *out)
{
    if (take(m->in) == 1)
        return 5;
    *out = m->schema;
    return 0;
}

/* An array with the columns of the schema, or, behind the last one, none. */
static int make_array(struct maker *m, struct ArrowArray *out)
{
    memset(out, 0, sizeof *out);
    if (take(m->in) == 1)
        return 12;
    if (!m->chunks--)
        return 0;
    open_array(out, m->columns, take(m->in) % 40);
    for (int i = 0; i < m->columns; i++)
        column_rows(m->in, m->schema.children[i], out->children[i], out->length);
    return 0;
}

/* The schema comes with rows of its own, which are of nobody. */
static void maker_open(struct maker *m, struct input *in)
{
    struct ArrowArray none;
    *m = (struct maker){.in = in};
    m->columns = 1 + (int)(take(in) % 2);
    m->chunks = (int)(take(in) % 4);
    open_schema(&m->schema, m->columns);
    for (int i = 0; i < m->columns; i++)
        column(in, m->schema.children[i], &none, take(in) % 4);
}

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    return make_schema(s->private_data, out);
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    return make_array(s->private_data, out);
}

static const char *get_last_error(struct ArrowArrayStream *s)
{
    const struct maker *m = s->private_data;
    return m->chunks & 1 ? "no more" : NULL;
}

static void release_stream(struct ArrowArrayStream *s)
{
    ((struct maker *)s->private_data)->released++;
    s->release = NULL;
}

static int get_device_schema(struct ArrowDeviceArrayStream *s, struct ArrowSchema *out)
{
    return make_schema(s->private_data, out);
}

static ArrowDeviceType device_type(struct input *in)
{
    const unsigned type = take(in);
    return type < 200 ? ARROW_DEVICE_CPU : (ArrowDeviceType)(type - 200);
}

static int get_device_next(struct ArrowDeviceArrayStream *s, struct ArrowDeviceArray *out)
{
    struct maker *m = s->private_data;
    memset(out, 0, sizeof *out);
    out->device_type = device_type(m->in);
    out->device_id = (int64_t)take(m->in) - 1;
    return make_array(m, &out->array);
}

static const char *get_device_error(struct ArrowDeviceArrayStream *s)
{
    (void)s;
    return NULL;
}

static void release_device_stream(struct ArrowDeviceArrayStream *s)
{
    ((struct maker *)s->private_data)->released++;
    s->release = NULL;
}

/* ---- the four ways in ---------------------------------------------------------------------------------- */

static cohort_status by_stream(cohort_context *context, struct input *in, cohort_frame **out)
{
    struct maker m;
    maker_open(&m, in);
    struct ArrowArrayStream stream = {.get_schema = get_schema,
                                      .get_next = get_next,
                                      .get_last_error = get_last_error,
                                      .release = release_stream,
                                      .private_data = &m};
    cohort_status s = cohort_frame_import_stream(context, &stream, out);
    if (m.released != 1)
        abort();
    return s;
}

static cohort_status by_device_stream(cohort_context *context, struct input *in, cohort_frame **out)
{
    struct maker m;
    maker_open(&m, in);
    struct ArrowDeviceArrayStream stream = {.device_type = device_type(in),
                                            .get_schema = get_device_schema,
                                            .get_next = get_device_next,
                                            .get_last_error = get_device_error,
                                            .release = release_device_stream,
                                            .private_data = &m};
    cohort_status s = cohort_frame_import_device_stream(context, &stream, out);
    if (m.released != 1)
        abort();
    return s;
}

/* On failure both structs are still the caller's. */
static cohort_status by_array(cohort_context *context, struct input *in, int is_device, cohort_frame **out)
{
    struct ArrowSchema schema;
    struct ArrowDeviceArray device = {.device_type = ARROW_DEVICE_CPU, .device_id = -1};
    struct ArrowArray *array = &device.array;
    const int columns = 1 + (int)(take(in) % 2);
    open_schema(&schema, columns);
    open_array(array, columns, take(in) % 40);
    for (int i = 0; i < columns; i++)
        column(in, schema.children[i], array->children[i], array->length);
    if (is_device) {
        device.device_type = device_type(in);
        device.device_id = (int64_t)take(in) - 1;
    }
    cohort_status s = is_device ? cohort_frame_import_device(context, &schema, &device, out)
                                : cohort_frame_import(context, &schema, array, out);
    if (!s != !schema.release || !s != !array->release)
        abort();
    if (s)
        array->release(array);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static cohort_context *context;
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    struct input in = {data, data + n};
    cohort_frame *frame = NULL;
    cohort_status status;
    options.device = "cpu";
    options.threads = 1;
    if (!context && cohort_context_create(&options, &context))
        abort();
    arrays.out = arrays.back = 0;
    switch (take(&in) % 4) {
    case 0:
        status = by_array(context, &in, 0, &frame);
        break;
    case 1:
        status = by_stream(context, &in, &frame);
        break;
    case 2:
        status = by_array(context, &in, 1, &frame);
        break;
    default:
        status = by_device_stream(context, &in, &frame);
        break;
    }
    if (!status != !!frame)
        abort();
    if (frame)
        use(context, frame);
    cohort_frame_release(frame);
    if (arrays.out != arrays.back)
        abort();
    free_owned();
    return 0;
}
