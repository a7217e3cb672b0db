/* runs_width.h: the beginnings of runs among keys of one width (chunk_width.h). */
#include "chunk_width.h"

CO_KERNEL(NAME(runs_begins), struct runs_begins)
{
    const WORD *keys = (const WORD *)args->keys;
    CO_EACH_WARP (base, (args->n + RUNS_WORDS - 1) / RUNS_WORDS) {
        const co_u64 first = base * RUNS_WORDS + co_lane();
        WORD own[RUNS_WORDS], before[RUNS_WORDS];
        CO_EACH_ITEM (w, RUNS_WORDS) {
            const co_u64 i = first + 32 * w;
            own[w] = i < args->n ? READ(keys + i) : 0;
            before[w] = !co_lane() && i && i < args->n ? READ(keys + i - 1) : 0;
        }
        CO_EACH_ITEM (w, RUNS_WORDS) {
            const co_u64 i = first + 32 * w;
            const WORD left = SHUFFLE(CO_FULL_WARP, own[w], co_lane() ? co_lane() - 1 : 0);
            const int begins = i < args->n && (!i || own[w] != (co_lane() ? left : before[w]));
            const co_u32 word = co_ballot(CO_FULL_WARP, begins);
            if (!co_lane() && i < args->n)
                bits_put_word(args->bits, i, args->n, word);
        }
    }
}

#include "chunk_end.h"
