/* frame.c: what test.h offers to a case while it runs: verdicts, random numbers, counted memory, columns. */
#include <setjmp.h>

#include "test.h"
#include "cuda/driver.h"

/* ---- verdicts ------------------------------------------------------------------------------------------ */

static void note(struct test *t, const char *file, int line, const char *format, va_list arguments)
{
    if (t->failures++)
        return;
    const char *tests = strstr(file, "tests/");
    int used = snprintf(t->message, sizeof t->message, "%s:%d: ", tests ? tests : file, line);
    vsnprintf(t->message + used, sizeof t->message - (size_t)used, format, arguments);
    for (char *c = t->message; *c; c++)
        if (*c == '\n')
            *c = ' ';
}

int test_fail(struct test *t, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note(t, file, line, format, arguments);
    va_end(arguments);
    return 0;
}

void test_leave(struct test *t, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note(t, file, line, format, arguments);
    va_end(arguments);
    longjmp(*(jmp_buf *)t->exit, 1);
}

void test_skip(struct test *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->skipped, sizeof t->skipped, format, arguments);
    va_end(arguments);
    longjmp(*(jmp_buf *)t->exit, 1);
}

int test_equal(struct test *t, const char *file, int line, const char *a_text, uint64_t a, const char *b_text,
               uint64_t b)
{
    return a == b ? 1
                  : test_fail(t, file, line, "%s is %llu (0x%llx), %s is %llu (0x%llx)", a_text,
                              (unsigned long long)a, (unsigned long long)a, b_text, (unsigned long long)b,
                              (unsigned long long)b);
}

void test_ok(struct test *t, const char *file, int line, const char *text, cohort_status status)
{
    if (status)
        test_leave(t, file, line, "%s: %s: %s", text, cohort_status_name(status), cohort_message(t->context));
}

int test_status(struct test *t, const char *file, int line, const char *text, cohort_status got,
                cohort_status due)
{
    return got == due
               ? 1
               : test_fail(t, file, line, "%s gives %s, not %s (message: %s)", text, cohort_status_name(got),
                           cohort_status_name(due), got ? cohort_message(t->context) : "");
}

int test_fails(struct test *t, const char *file, int line, const char *text, cohort_status got,
               const cohort_context *on, cohort_status due, const char *word, const char *value)
{
    const char *message = cohort_message(on);
    if (got != due)
        return test_fail(t, file, line, "%s gives %s, not %s (message: %s)", text, cohort_status_name(got),
                         cohort_status_name(due), message);
    if ((word && !strstr(message, word)) || (value && !strstr(message, value)))
        return test_fail(t, file, line, "%s: the message \"%s\" does not name \"%s\" and \"%s\"", text,
                         message, word ? word : "", value ? value : "");
    return 1;
}

/* ---- random numbers: xoshiro256** (Blackman and Vigna), seeded by splitmix64 --------------------------- */

uint64_t test_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

uint64_t test_random(struct test *t)
{
    uint64_t *s = t->random, result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t test_below(struct test *t, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)test_random(t) * n >> 64);
}

int test_take(struct test *t, uint64_t share)
{
    if (t->ci || share <= 1 || !test_below(t, share))
        return 1;
    t->left_out++;
    return 0;
}

int test_drawn(struct test *t, uint64_t part, uint64_t of)
{
    t->parts++;
    const uint64_t before = t->part_now;
    t->part_now = 0;
    if (t->drawn && (part + t->draw) % of) {
        t->not_drawn++;
        return 0;
    }
    t->part_now = part + 1;
    if (before == part + 1)
        return 1;
    uint64_t x = t->first ^ test_mix(part + 1);
    for (int i = 0; i < 4; i++)
        t->random[i] = test_mix(x += 0x9e3779b97f4a7c15u);
    return 1;
}

/* ---- contexts and counted memory ----------------------------------------------------------------------- */

cohort_context_options test_context_options(const struct test *t)
{
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    options.device = t->device;
    return options;
}

struct ledger_block {
    void *memory;
    size_t bytes;
    struct ledger_block *next;
};

struct test_gpu test_gpu_enter(const struct test *t)
{
    struct test_gpu g = {NULL, 0};
    const char *why;
    int ordinal = 0;
    cuda_context context;
    const struct cuda_driver *driver = cuda_driver_for(t->device, &ordinal, &why);
    if (driver && !driver->device_get(&g.device, ordinal) && !driver->primary_retain(&context, g.device) &&
        !driver->context_push(context))
        g.driver = driver;
    return g;
}

void test_gpu_leave(struct test_gpu g)
{
    cuda_context context;
    g.driver->context_pop(&context);
    g.driver->primary_release(g.device);
}

static void *device_memory(const struct test *t, size_t bytes)
{
    if (t->kind == TEST_CPU) /* a sanitizer's malloc ends the program rather than return NULL */
        return bytes >> 40 ? NULL : aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    cuda_pointer p = 0;
    struct test_gpu g = test_gpu_enter(t);
    if (!g.driver)
        return NULL;
    if (g.driver->mem_alloc(&p, bytes))
        p = 0;
    test_gpu_leave(g);
    return (void *)(uintptr_t)p;
}

static void give_back(const struct test *t, void *memory)
{
    if (t->kind == TEST_CPU) {
        free(memory);
        return;
    }
    struct test_gpu g = test_gpu_enter(t);
    if (g.driver) {
        g.driver->mem_free((cuda_pointer)(uintptr_t)memory);
        test_gpu_leave(g);
    }
}

static void *ledger_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    struct ledger *l = user;
    l->calls++;
    l->stream = stream;
    if (alignment != 256)
        l->complaint = "memory asked for with another alignment than 256";
    if (l->limit && (bytes > l->limit || l->bytes > l->limit - bytes))
        return NULL;
    struct ledger_block *b = malloc(sizeof *b);
    void *memory = b ? device_memory(l->test, bytes) : NULL;
    if (!memory) {
        free(b);
        return NULL;
    }
    *b = (struct ledger_block){memory, bytes, l->blocks};
    l->blocks = b;
    l->bytes += bytes;
    l->most_bytes = l->bytes > l->most_bytes ? l->bytes : l->most_bytes;
    return memory;
}

static void ledger_free(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    struct ledger *l = user;
    l->stream = stream;
    if (alignment != 256)
        l->complaint = "memory given back with another alignment than 256";
    struct ledger_block **at = &l->blocks;
    while (*at && (*at)->memory != memory)
        at = &(*at)->next;
    if (!*at) {
        l->complaint = "memory given back that was not given out";
        return;
    }
    struct ledger_block *b = *at;
    if (b->bytes != bytes)
        l->complaint = "memory given back in another size than it was given out";
    *at = b->next;
    l->bytes -= b->bytes;
    give_back(l->test, memory);
    free(b);
}

cohort_allocator test_allocator(struct test *t, struct ledger *ledger)
{
    ledger->test = t;
    return (cohort_allocator){ledger_alloc, ledger_free, ledger};
}

void test_ledger_check(struct test *t, struct ledger *l)
{
    CHECKF(t, !l->complaint, "%s", l->complaint);
    CHECKF(t, !l->blocks, "%llu bytes of the context's memory have leaked", (unsigned long long)l->bytes);
}

/* ---- order --------------------------------------------------------------------------------------------- */

static void order_by_byte(const struct test_pair *from, struct test_pair *to, uint64_t n, unsigned shift,
                          uint64_t next[256])
{
    uint64_t sum = 0;
    for (unsigned d = 0; d < 256; d++) {
        uint64_t count = next[d];
        next[d] = sum;
        sum += count;
    }
    for (uint64_t i = 0; i < n; i++)
        to[next[from[i].rank >> shift & 255]++] = from[i];
}

void test_order(struct test_pair *pairs, uint64_t n)
{
    uint64_t(*counts)[256] = calloc(8, sizeof *counts);
    struct test_pair *other = malloc(n * sizeof *other + 1), *from = pairs, *to = other;
    if (!counts || !other)
        abort();
    for (uint64_t i = 0; i < n; i++)
        for (unsigned b = 0; b < 8; b++)
            counts[b][pairs[i].rank >> 8 * b & 255]++;
    for (unsigned b = 0; b < 8 && n; b++) {
        if (counts[b][pairs[0].rank >> 8 * b & 255] == n)
            continue;
        order_by_byte(from, to, n, 8 * b, counts[b]);
        struct test_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs)
        memcpy(pairs, from, n * sizeof *pairs);
    free(other);
    free(counts);
}

/* ---- columns ------------------------------------------------------------------------------------------- */

#define GUARD_BYTE 0xa5
#define GUARD      64 /* bytes before the data, and behind it where nobody else watches */

#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define WATCHED 1
#    endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#    define WATCHED 1
#endif

/* The address sanitizer and the simulator catch what goes beyond the end themselves, reads too. (A column
 * without elements needs a byte to point to.) */
static uint64_t guard_after(const struct column *c)
{
#ifdef WATCHED
    return c->count == 0;
#else
    return c->test->kind == TEST_SIM && c->test->memory == TEST_DEVICE ? c->count == 0 : GUARD;
#endif
}

static uint64_t column_bytes(const struct column *c)
{
    return c->before + c->count * c->width + guard_after(c);
}

static struct column *column_after(struct test *t, enum test_memory memory, uint64_t count, uint64_t width,
                                   uint64_t before)
{
    struct column *c = calloc(1, sizeof *c);
    REQUIRE(t, c);
    *c = (struct column){.count = count, .width = width, .test = t, .next = t->columns};
    c->before = before;
    t->columns = c;
    c->host_block = malloc(column_bytes(c));
    REQUIRE(t, c->host_block);
    memset(c->host_block, GUARD_BYTE, column_bytes(c));
    c->data = c->host_block + c->before;
    if (memory == TEST_DEVICE) {
        void *block;
        OK(t, cohort_alloc(t->context, column_bytes(c), &block));
        c->device_block = block;
    }
    return c;
}

struct column *column_new_in(struct test *t, enum test_memory memory, uint64_t count, uint64_t width)
{
    return column_after(t, memory, count, width, GUARD + width * test_below(t, 4));
}

struct column *column_new(struct test *t, uint64_t count, uint64_t width)
{
    return column_new_in(t, t->memory, count, width);
}

static struct column *bitmap_from(struct test *t, uint64_t n, uint64_t before, uint64_t bit)
{
    const uint64_t bytes = (bit + n % 8 + 7) / 8 + n / 8;
    struct column *c = column_after(t, t->memory, n ? bytes : 0, 1, before);
    c->bit = bit;
    c->bits = n;
    return c;
}

struct column *bitmap_new(struct test *t, uint64_t n)
{
    const int words = test_below(t, 2) != 0;
    return bitmap_from(t, n, GUARD + (words ? 0 : test_below(t, 4)), words ? 0 : test_below(t, 75));
}

struct column *bitmap_at_byte(struct test *t, uint64_t n)
{
    return bitmap_from(t, n, GUARD + test_below(t, 4), 0);
}

void bitmap_soil(struct column *c)
{
    memset(c->data, 0xff, c->count);
}

void bitmap_edges(const struct column *c)
{
    const unsigned char *data = c->data;
    const uint64_t end = c->bit + c->bits, last = (end + 7) / 8 * 8;
    for (uint64_t i = 0; i < c->count * 8; i++)
        REQUIREF(c->test,
                 (i >= c->bit && i < end) ||
                     (data[i / 8] >> i % 8 & 1) == (!c->bits || i < c->bit || i >= last),
                 "bit %llu is %d, of a bitmap of bits %llu to %llu", (unsigned long long)i,
                 data[i / 8] >> i % 8 & 1, (unsigned long long)c->bit, (unsigned long long)end);
}

void *column_send(struct column *c)
{
    if (!c->device_block)
        return c->data;
    OK(c->test, cohort_copy(c->test->context, c->device_block, c->host_block, column_bytes(c)));
    return c->device_block + c->before;
}

void column_fetch(struct column *c)
{
    struct test *t = c->test;
    if (c->device_block)
        OK(t, cohort_copy(t->context, c->host_block, c->device_block, column_bytes(c)));
    for (uint64_t i = 0; i < c->before; i++)
        REQUIREF(t, c->host_block[i] == GUARD_BYTE, "written %llu bytes before an array",
                 (unsigned long long)(c->before - i));
    uint64_t end = c->before + c->count * c->width;
    for (uint64_t i = 0; i < guard_after(c); i++)
        REQUIREF(t, c->host_block[end + i] == GUARD_BYTE, "written %llu bytes behind the end of an array",
                 (unsigned long long)i);
}

void column_drop(struct test *t, struct column *mark)
{
    while (t->columns != mark) {
        struct column *c = t->columns;
        t->columns = c->next;
        if (c->device_block)
            OK(t, cohort_free(t->context, c->device_block));
        free(c->host_block);
        free(c);
    }
}

uint64_t column_get(const struct column *c, uint64_t i)
{
    const uint64_t *words = c->data;
    return c->width == 1    ? ((uint8_t *)c->data)[i]
           : c->width == 4  ? ((uint32_t *)c->data)[i]
           : c->width == 16 ? key_number(words[2 * i], words[2 * i + 1])
                            : words[i];
}

void column_put(struct column *c, uint64_t i, uint64_t value)
{
    if (c->width == 1)
        ((uint8_t *)c->data)[i] = (uint8_t)value;
    else if (c->width == 4)
        ((uint32_t *)c->data)[i] = (uint32_t)value;
    else if (c->width == 16)
        key_words(value, (uint64_t *)c->data + 2 * i);
    else
        ((uint64_t *)c->data)[i] = value;
}

const char *width_name(cohort_width w)
{
    const char *const names[] = {"none", "32_0", "32_32", "64_0", "64_32", "64_64", "128_64"};
    return w >= 1 && w <= 6 ? names[w] : "none";
}
