/* cpu/keys_seed.c: the secret factors of keys' hashes. All come from one number, by Weyl's sequence and a mix
 * that is a bijection; as factors they are odd. */
#include <pthread.h>

#include "core/seed.h"
#include "keys.h"

static struct keys_seed of_process;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t another_factor(uint64_t *from)
{
    uint64_t x = *from += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (x ^ x >> 31) | 1;
}

void keys_seed_make(struct keys_seed *s, uint64_t from)
{
    for (int i = 0; i < 2; i++)
        s->word[i] = another_factor(&from);
    for (int i = 0; i < 4; i++)
        s->text[i] = another_factor(&from);
    s->front = another_factor(&from);
    for (int i = 0; i < 4; i++)
        s->pair[i] = another_factor(&from);
}

void keys_seed_draw(struct keys_seed *s)
{
    keys_seed_make(s, seed_draw());
}

static void draw_once(void)
{
    keys_seed_make(&of_process, seed_of_process());
}

const struct keys_seed *keys_seed(void)
{
    pthread_once(&once, draw_once);
    return &of_process;
}

void keys_seed_fix(uint64_t from)
{
    seed_fix(from);
    pthread_once(&once, draw_once);
    keys_seed_make(&of_process, from);
}
