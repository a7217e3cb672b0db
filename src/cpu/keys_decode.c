/* cpu/keys_decode.c: rows of a dictionary of words as a column of their values. */
#include "keys.h"

cohort_status cpu_keys_decode(cohort_context *context, const struct keys_column *column, uint64_t n,
                              uint32_t width, void *to, void *validity, uint64_t *nulls)
{
    uint64_t words[64];
    uint8_t states[64];
    (void)context;
    *nulls = 0;
    for (uint64_t at = 0; at < n; at += 64) {
        const uint32_t count = n - at < 64 ? (uint32_t)(n - at) : 64;
        uint64_t valid = 0, bits = 0;
        keys_load(column, at, count, words, states);
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t word = states[i] ? 0 : words[i];
            valid |= (uint64_t)!states[i] << i;
            bits |= (word & 1) << i;
            *nulls += states[i] != 0;
            if (width)
                memcpy((char *)to + (at + i) * width, &word, width);
        }
        memcpy((char *)validity + at / 8, &valid, 8);
        if (!width)
            memcpy((char *)to + at / 8, &bits, 8);
    }
    return COHORT_OK;
}
