/* loops.c: the few passes over arrays that the library has no call for: casts, floats made comparable by
 * their bits, runs of equal keys, numbers of distinct keys. Each is one pass, without the GIL. Arrays in a
 * GPU's memory go through the host's (BY_HOST in core.h). */
#include "core.h"

#ifdef __SSE2__
#    include <emmintrin.h>
#endif

/* Eight at a time: a byte of bits in each byte of a word, of which each keeps a bit of its own. */
void bits_to_bytes(const uint8_t *bits, uint8_t *bytes, Py_ssize_t n)
{
    const uint64_t each = 0x0101010101010101u, own = 0x8040201008040201u, rest = 0x7f7f7f7f7f7f7f7fu;
    Py_ssize_t whole = n & ~(Py_ssize_t)7, i = 0;
#ifdef __SSE2__
    for (; i + 16 <= n; i += 16) { /* each of two bytes eight times, of which each keeps its own bit */
        uint16_t two;
        memcpy(&two, bits + (i >> 3), 2);
        __m128i kept = _mm_cvtsi32_si128(two);
        kept = _mm_shufflelo_epi16(_mm_unpacklo_epi8(kept, kept), 0x50);
        kept = _mm_and_si128(_mm_unpacklo_epi32(kept, kept), _mm_set1_epi64x((long long)own));
        _mm_storeu_si128((void *)(bytes + i), _mm_min_epu8(kept, _mm_set1_epi8(1)));
    }
#endif
    for (; i < whole; i += 8) {
        uint64_t kept = bits[i >> 3] * each & own;
        kept = (((kept & rest) + rest) | kept) >> 7 & each;
        memcpy(bytes + i, &kept, 8);
    }
    for (; i < n; ++i)
        bytes[i] = bits[i >> 3] >> (i & 7) & 1;
}

array *iota_new(int type, Py_ssize_t n)
{
    array *a = array_new(type, n);
    if (!a)
        return NULL;
    Py_BEGIN_ALLOW_THREADS if (type == COHORT_U32) for (Py_ssize_t i = 0; i < n;
                                                        ++i)((uint32_t *)a->data)[i] = (uint32_t)i;
    else for (Py_ssize_t i = 0; i < n; ++i)((int64_t *)a->data)[i] = i;
    Py_END_ALLOW_THREADS return a;
}

/* iota(n, type, context): 0, 1, .. n - 1, in the memory of the context's GPU or of the host. */
static PyObject *iota(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 3)
    Py_ssize_t n = PyLong_AsSsize_t(arguments[0]);
    long number = PyLong_AsLong(arguments[1]);
    context *on = count > 2 ? context_of(arguments[2]) : NULL;
    if (PyErr_Occurred())
        return NULL;
    int type = number == COHORT_U32 ? COHORT_U32 : COHORT_I64;
    return (PyObject *)(on && on->ordinal >= 0 ? iota_on(on, type, n) : iota_new(type, n));
}

/* ---- casts --------------------------------------------------------------------------------------------- */

/* Each gives back whether some value does not fit. */
#define CAST(FROM, TO)                                                      \
    static bool cast_##FROM##_##TO(const void *in, void *out, Py_ssize_t n) \
    {                                                                       \
        const FROM##_t *from = in;                                          \
        TO##_t *to = out;                                                   \
        unsigned bad = 0;                                                   \
        for (Py_ssize_t i = 0; i < n; ++i) {                                \
            to[i] = (TO##_t)from[i];                                        \
            bad |= (FROM##_t)to[i] != from[i];                              \
            bad |= (to[i] < 0) != (from[i] < 0);                            \
        }                                                                   \
        return bad;                                                         \
    }
#define CASTS_TO(TO) \
    CAST(uint8, TO)  \
    CAST(uint16, TO) \
    CAST(uint32, TO) CAST(uint64, TO) CAST(int8, TO) CAST(int16, TO) CAST(int32, TO) CAST(int64, TO)
#pragma GCC diagnostic ignored "-Wtype-limits"
CASTS_TO(uint8)
CASTS_TO(uint16)
CASTS_TO(uint32)
CASTS_TO(uint64)
CASTS_TO(int8)
CASTS_TO(int16)
CASTS_TO(int32)
CASTS_TO(int64)
#define ROW(TO)                                                                                      \
    {                                                                                                \
        NULL, cast_uint8_##TO, cast_uint16_##TO, cast_uint32_##TO, cast_uint64_##TO, cast_int8_##TO, \
            cast_int16_##TO, cast_int32_##TO, cast_int64_##TO                                        \
    }
typedef bool cast_loop(const void *in, void *out, Py_ssize_t n);
static cast_loop *const casts[COHORT_I64 + 1][COHORT_I64 + 1] = {
    {NULL}, ROW(uint8), ROW(uint16), ROW(uint32), ROW(uint64), ROW(int8), ROW(int16), ROW(int32), ROW(int64)};

/* "argument[at]" */
static const char *name_at(char text[64], const char *argument, Py_ssize_t at)
{
    if (at < 0)
        return argument;
    PyOS_snprintf(text, 64, "%.40s[%zd]", argument, at);
    return text;
}

array *cast_to(array *from, int type, const char *argument, Py_ssize_t at)
{
    if (from->type == type)
        return (array *)KEPT(from);
    char text[64];
    int source = from->type == TYPE_BOOL ? COHORT_U8 : from->type;
    bool widen = source == COHORT_F32 && type == COHORT_F64, bad = false;
    if (type < 1 || type >= TYPES || (!widen && (source > COHORT_I64 || type > COHORT_I64))) {
        PyErr_Format(PyExc_TypeError, "%s: %s cannot be taken for %s", name_at(text, argument, at),
                     type_name(from->type), type < 1 || type >= TYPES ? "no type" : type_name(type));
        return NULL;
    }
    array *a = array_new(type, from->n);
    if (!a)
        return NULL;
    Py_BEGIN_ALLOW_THREADS if (widen) for (Py_ssize_t i = 0; i < from->n; ++i)((double *)a->data)[i] =
        ((const float *)from->data)[i];
    else bad = casts[type][source](from->data, a->data, from->n);
    Py_END_ALLOW_THREADS if (bad)
    {
        PyErr_Format(PyExc_OverflowError, "%s: a value of %s does not fit in %s", name_at(text, argument, at),
                     type_name(from->type), type_name(type));
        Py_CLEAR(a);
    }
    return a;
}

/* cast(array, type, argument): the same values in another type of integers, or float32 as float64; the
 * array itself if it is of the type. A value that does not fit is OverflowError. */
static PyObject *cast(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    array *from = array_of(arguments[0], "array");
    long type = from ? PyLong_AsLong(arguments[1]) : -1;
    const char *argument = from ? PyUnicode_AsUTF8AndSize(arguments[2], NULL) : NULL;
    if (!argument || (type == -1 && PyErr_Occurred()))
        return NULL;
    if (from->type == type)
        return KEPT(from);
    BY_HOST(cast)
    return (PyObject *)cast_to(from, (int)(type < TYPES ? type : TYPES), argument, -1);
}

array *cast_where(array *from, int type, PyObject *argument)
{
    PyObject *number = PyLong_FromLong(type), *arguments[] = {(PyObject *)from, number, argument};
    array *a = number ? (array *)cast(NULL, arguments, 3) : NULL;
    DROP(number);
    return a;
}

/* ---- floats -------------------------------------------------------------------------------------------- */

/* Every NaN becomes the one positive NaN, and with `zeros` -0 becomes 0. Nothing is copied before the
 * first that changes. */
#define CANONICAL(NAME, FLOAT, BITS, NAN_BITS, SIGN)                                                 \
    static bool NAME(const void *in, void *out, Py_ssize_t n, bool zeros)                            \
    {                                                                                                \
        const BITS *from = in;                                                                       \
        BITS *to = out, least = NAN_BITS, magnitude = (BITS)(SIGN - 1), zero = zeros ? SIGN : least; \
        BITS infinite = least & (BITS) ~(least & -least) & magnitude;                                \
        bool differs = false;                                                                        \
        (void)sizeof(FLOAT);                                                                         \
        for (Py_ssize_t i = 0; i < n; ++i) {                                                         \
            BITS x = from[i];                                                                        \
            x = (x & magnitude) > infinite ? least : x == zero ? (zeros ? 0 : x) : x;                \
            differs |= x != from[i];                                                                 \
            if (to)                                                                                  \
                to[i] = x;                                                                           \
        }                                                                                            \
        return differs;                                                                              \
    }
CANONICAL(canonical_32, float, uint32_t, 0x7fc00000u, 0x80000000u)
CANONICAL(canonical_64, double, uint64_t, 0x7ff8000000000000u, 0x8000000000000000u)

/* canonical(array, zeros): floats with one NaN, and with `zeros` one zero; the array itself if nothing is
 * to be changed. */
static PyObject *canonical(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    array *from = array_of(arguments[0], "array");
    int zeros = from ? PyObject_IsTrue(arguments[1]) : -1;
    if (zeros < 0)
        return NULL;
    if (from->type != COHORT_F32 && from->type != COHORT_F64)
        return KEPT(from);
    int differing = from->on ? differs_on(from, zeros) : 1;
    if (differing <= 0)
        return differing ? NULL : KEPT(from);
    BY_HOST(canonical)
    bool (*loop)(const void *, void *, Py_ssize_t, bool) =
        from->type == COHORT_F32 ? canonical_32 : canonical_64;
    bool differs;
    Py_BEGIN_ALLOW_THREADS differs = loop(from->data, NULL, from->n, zeros);
    Py_END_ALLOW_THREADS if (!differs) return KEPT(from);
    array *a = array_new(from->type, from->n);
    if (!a)
        return NULL;
    Py_BEGIN_ALLOW_THREADS loop(from->data, a->data, from->n, zeros);
    Py_END_ALLOW_THREADS return (PyObject *)a;
}

array *canonical_of(array *from, bool zeros)
{
    PyObject *arguments[] = {(PyObject *)from, zeros ? Py_True : Py_False};
    return (array *)canonical(NULL, arguments, 2);
}

/* ---- runs and numbers ---------------------------------------------------------------------------------- */

/* numbers(first): first[i] is the index of the first entry that has entry i's key. Gives (the firsts in
 * order, the number of each entry's key in that order). */
static PyObject *numbers(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(1, 1)
    BY_HOST(numbers)
    array *first = array_of(arguments[0], "first");
    if (!first || (first->type != COHORT_I64 && first->type != COHORT_U32)) {
        if (first)
            PyErr_SetString(PyExc_TypeError, "first: must be of type int64 or uint32");
        return NULL;
    }
    array *firsts = array_new(COHORT_I64, first->n), *codes = array_new(COHORT_I64, first->n);
    if (firsts && codes) {
        int64_t *f = firsts->data, *c = codes->data;
        Py_ssize_t n = first->n, m = 0;
        Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < n; ++i)
        {
            Py_ssize_t j = first->type == COHORT_U32 ? (Py_ssize_t)((const uint32_t *)first->data)[i]
                                                     : (Py_ssize_t)((const int64_t *)first->data)[i];
            if (j == i)
                f[m] = i, c[i] = m++;
            else
                c[i] = c[j];
        }
        Py_END_ALLOW_THREADS firsts->n = m;
    }
    PyObject *pair = firsts && codes ? PyTuple_Pack(2, firsts, codes) : NULL;
    DROP(firsts);
    DROP(codes);
    return pair;
}

#define AMONG(BITS)                                                                            \
    static void among_##BITS(const void *keys, Py_ssize_t n, const void *values, Py_ssize_t m, \
                             int64_t *rows, uint8_t *hit)                                      \
    {                                                                                          \
        for (Py_ssize_t i = 0; i < n; ++i) {                                                   \
            uint##BITS##_t key = ((const uint##BITS##_t *)keys)[i];                            \
            Py_ssize_t j = 0;                                                                  \
            while (j < m && ((const uint##BITS##_t *)values)[j] != key)                        \
                ++j;                                                                           \
            if (rows)                                                                          \
                rows[i] = j < m ? j : -1;                                                      \
            else                                                                               \
                hit[i] = j < m;                                                                \
        }                                                                                      \
    }
AMONG(32)
AMONG(64)

/* among(keys, values, want rows): one by one the first place of each key among the values, as int64, -1 for
 * none; else whether it is there, as booleans. Sooner done than a table is made where both are few. */
static PyObject *among(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    array *keys = array_of_bytes(arguments[0], "keys", 4, 8);
    array *values =
        keys ? array_of_bytes(arguments[1], "values", (size_t)keys->stride, (size_t)keys->stride) : NULL;
    int want_rows = PyObject_IsTrue(arguments[2]);
    if (!values || in_gpu(keys, "the host's memory") || in_gpu(values, "the host's memory"))
        return NULL;
    array *a = array_new(want_rows ? COHORT_I64 : TYPE_BOOL, keys->n);
    if (!a)
        return NULL;
    PyThreadState *thread = let_go(keys->n + values->n);
    (keys->stride == 4 ? among_32 : among_64)(keys->data, keys->n, values->data, values->n,
                                              want_rows ? a->data : NULL, a->data);
    take_back(thread);
    return (PyObject *)a;
}

/* take(values, index): values[index[i]]; index is of int64. */
static PyObject *take(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    BY_HOST(take)
    array *values = array_of_bytes(arguments[0], "values", 4, 8), *index = array_of(arguments[1], "index");
    if (!values || !index)
        return NULL;
    if (index->type != COHORT_I64) {
        PyErr_SetString(PyExc_TypeError, "index: must be of type int64");
        return NULL;
    }
    array *a = array_new(values->type, index->n);
    if (!a)
        return NULL;
    const int64_t *at = index->data;
    Py_ssize_t n = index->n, most = values->n, bad = -1;
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < n; ++i)
    {
        if ((uint64_t)at[i] >= (uint64_t)most) {
            bad = i;
            break;
        }
        if (type_bytes(values->type) == 4)
            ((uint32_t *)a->data)[i] = ((const uint32_t *)values->data)[at[i]];
        else
            ((uint64_t *)a->data)[i] = ((const uint64_t *)values->data)[at[i]];
    }
    Py_END_ALLOW_THREADS if (bad >= 0)
    {
        PyErr_Format(PyExc_IndexError, "index[%zd]: %lld is not below %zd", bad, (long long)at[bad], most);
        Py_CLEAR(a);
    }
    return (PyObject *)a;
}

/* repeat(array of one, n): the one n times. */
static PyObject *repeat(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    BY_HOST(repeat)
    array *one = array_of_bytes(arguments[0], "one", 4, 8);
    Py_ssize_t n = one ? PyLong_AsSsize_t(arguments[1]) : -1;
    if (!one || PyErr_Occurred())
        return NULL;
    array *a = one->n == 1 ? array_new(one->type, n) : NULL;
    if (!a)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "one: has %zd entries", one->n);
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < n; ++i)
        memcpy((char *)a->data + i * a->stride, one->data, (size_t)a->stride);
    Py_END_ALLOW_THREADS return (PyObject *)a;
}

/* spread(keys, offsets): keys[i] as often as offsets[i + 1] - offsets[i]; offsets are of int64. */
static PyObject *spread(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    BY_HOST(spread)
    array *keys = array_of_bytes(arguments[0], "keys", 4, 8), *offsets = array_of(arguments[1], "offsets");
    if (!keys || !offsets)
        return NULL;
    const int64_t *at = offsets->data;
    bool fine = offsets->type == COHORT_I64 && offsets->n == keys->n + 1 && !at[0];
    for (Py_ssize_t i = 0; fine && i < keys->n; ++i)
        fine = at[i] <= at[i + 1];
    if (!fine)
        return PyErr_Format(PyExc_ValueError, "offsets: must be int64, begin with 0, and not fall");
    array *a = array_new(keys->type, at[keys->n]);
    if (!a)
        return NULL;
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < keys->n; ++i) for (int64_t j = at[i]; j < at[i + 1];
                                                                         ++j)
    {
        if (a->stride == 4)
            ((uint32_t *)a->data)[j] = ((const uint32_t *)keys->data)[i];
        else
            ((uint64_t *)a->data)[j] = ((const uint64_t *)keys->data)[i];
    }
    Py_END_ALLOW_THREADS return (PyObject *)a;
}

/* opposite(mask): not of each. */
static PyObject *opposite(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(1, 1)
    BY_HOST(opposite)
    array *mask = array_of_bytes(arguments[0], "mask", 1, 1),
          *a = mask ? array_new(TYPE_BOOL, mask->n) : NULL;
    if (!a)
        return NULL;
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < a->n; ++i)((uint8_t *)a->data)[i] =
        !((const uint8_t *)mask->data)[i];
    Py_END_ALLOW_THREADS return (PyObject *)a;
}

/* without_number(codes, gone, instead): the codes above `gone` less one. What had the number `gone` is -1 if
 * `instead` is, else `instead`, one more, and so on, in order. In place, where they are the host's. */
static PyObject *without_number(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    BY_HOST(without_number)
    array *codes = array_of(arguments[0], "codes");
    int64_t gone = codes ? PyLong_AsLongLong(arguments[1]) : 0;
    int64_t instead = codes ? PyLong_AsLongLong(arguments[2]) : 0;
    if (!codes || PyErr_Occurred())
        return NULL;
    if (codes->type != COHORT_I64 || codes->readonly)
        return PyErr_Format(PyExc_TypeError, "codes: must be of type int64, and not read-only");
    int64_t *code = codes->data, step = instead >= 0;
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < codes->n; ++i)
    {
        bool it = code[i] == gone;
        code[i] = it ? instead : code[i] - (code[i] > gone);
        instead += it ? step : 0;
    }
    Py_END_ALLOW_THREADS return KEPT(codes);
}

/* shares(counts as int64): each divided by the sum of all, as float64. */
static PyObject *shares(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(1, 1)
    BY_HOST(shares)
    array *counts = array_of(arguments[0], "counts");
    if (counts && counts->type != COHORT_I64)
        return PyErr_Format(PyExc_TypeError, "counts: must be of type int64");
    array *a = counts ? array_new(COHORT_F64, counts->n) : NULL;
    if (!a)
        return NULL;
    const int64_t *from = counts->data;
    double *to = a->data;
    int64_t all = 0;
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < a->n; ++i) all += from[i];
    for (Py_ssize_t i = 0; i < a->n; ++i)
        to[i] = (double)from[i] / (double)all;
    Py_END_ALLOW_THREADS return (PyObject *)a;
}

/* number_runs(permutation, starts): out[permutation[j]] = r for j in run r: the number of each entry's key
 * among the sorted. */
static PyObject *number_runs(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    BY_HOST(number_runs)
    array *permutation = array_of(arguments[0], "permutation"), *starts = array_of(arguments[1], "starts");
    if (!permutation || !starts)
        return NULL;
    if (permutation->type != COHORT_I64 || starts->type != COHORT_I64) {
        PyErr_SetString(PyExc_TypeError, "permutation and starts must be of type int64");
        return NULL;
    }
    array *a = array_new(COHORT_I64, permutation->n);
    if (!a)
        return NULL;
    const int64_t *p = permutation->data, *s = starts->data;
    int64_t *to = a->data, r = -1;
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t j = 0; j < a->n; ++j)
    {
        if (r + 1 < starts->n && s[r + 1] == j)
            ++r;
        to[p[j]] = r;
    }
    Py_END_ALLOW_THREADS return (PyObject *)a;
}

/* rows_of_either(left, right, n): the left row, or n + the right row where the left is all ones; int64. */
static PyObject *rows_of_either(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    BY_HOST(rows_of_either)
    array *left = array_of_bytes(arguments[0], "left", 4, 8), *right = array_of(arguments[1], "right");
    int64_t n = right ? PyLong_AsLongLong(arguments[2]) : -1;
    if (!left || !right || PyErr_Occurred() || !same_length(left, right, "right"))
        return NULL;
    if (left->type != right->type)
        return PyErr_Format(PyExc_TypeError, "left and right must be of one type");
    array *a = array_new(COHORT_I64, left->n);
    if (!a)
        return NULL;
    int64_t *to = a->data;
    const uint32_t *l32 = left->data, *r32 = right->data;
    const int64_t *l64 = left->data, *r64 = right->data;
    bool small = left->stride == 4;
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < a->n; ++i)
    {
        bool none = small ? l32[i] == UINT32_MAX : l64[i] == -1;
        to[i] = none ? n + (small ? (int64_t)r32[i] : r64[i]) : small ? (int64_t)l32[i] : l64[i];
    }
    Py_END_ALLOW_THREADS return (PyObject *)a;
}

/* first_rows(numbers as int64, how many there are): (where each number is first, how often it is there). */
static PyObject *first_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    BY_HOST(first_rows)
    array *numbers = array_of(arguments[0], "numbers");
    Py_ssize_t m = numbers ? PyLong_AsSsize_t(arguments[1]) : -1, bad = -1;
    if (!numbers || PyErr_Occurred())
        return NULL;
    if (numbers->type != COHORT_I64)
        return PyErr_Format(PyExc_TypeError, "numbers: must be of type int64");
    array *first = array_new(COHORT_I64, m), *many = first ? array_new(COHORT_I64, m) : NULL;
    PyObject *pair = NULL;
    if (many) {
        const int64_t *number = numbers->data;
        int64_t *f = first->data, *c = many->data;
        Py_BEGIN_ALLOW_THREADS memset(c, 0, (size_t)m * 8);
        for (Py_ssize_t i = 0; i < numbers->n && bad < 0; ++i)
            if (number[i] < 0 || number[i] >= m)
                bad = i;
            else if (!c[number[i]]++)
                f[number[i]] = i;
        Py_END_ALLOW_THREADS if (bad < 0) pair = PyTuple_Pack(2, first, many);
        else PyErr_Format(PyExc_IndexError, "numbers[%zd]: is not below %zd", bad, m);
    }
    DROP(first);
    DROP(many);
    return pair;
}

PyMethodDef loop_functions[] = {
    FAST(iota),    FAST(rows_of_either), FAST(first_rows),     FAST(cast),     FAST(canonical),
    FAST(numbers), FAST(take),           FAST(number_runs),    FAST(opposite), FAST(repeat),
    FAST(spread),  FAST(among),          FAST(without_number), FAST(shares),   {NULL, NULL, 0, NULL}};
