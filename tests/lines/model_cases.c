/* model_cases.c: see model_plans.h. Each plan is a table and what up to three threads do on it, one or two
 * operations each. Keys 1 and 2 are of home 0, which has the slots 0 and 1, keys 3 and 4 of home 1 (slots 1
 * and 2), key 5 of home 2 (slots 2 and 3). So the insert of key 1 beside keys 2 and 3 has to move key 3. */
#include "model_plans.h"

#include <string.h>

/* clang-format off */
#define FIND(k)      {KIND_FIND, k, 0}
#define INSERT(k, v) {KIND_INSERT, k, v}
#define ERASE(k)     {KIND_ERASE, k, 0}
#define ASSIGN(k, v) {KIND_ASSIGN, k, v}
#define ADD(k, v)    {KIND_ADD, k, v}

static const struct named {
    const char *name;
    struct { uint8_t slot, key, value; } pairs[3]; /* key 0: no more */
    struct model_op op[MODEL_THREADS][MODEL_EACH]; /* key 0: no more */
} named[] = {
    {"two inserts of one key, and finds", {{0, 0, 0}},
     {{INSERT(1, 10)}, {INSERT(1, 20)}, {FIND(1), FIND(1)}}},
    {"insert and erase, insert of the same key, find", {{0, 0, 0}},
     {{INSERT(1, 10), ERASE(1)}, {INSERT(1, 20)}, {FIND(1)}}},
    {"erase and insert of another key, insert, find", {{0, 2, 7}},
     {{ERASE(2), INSERT(1, 10)}, {INSERT(1, 20)}, {FIND(1)}}},
    {"two assigns, and finds", {{0, 1, 5}},
     {{ASSIGN(1, 6)}, {ASSIGN(1, 7)}, {FIND(1), FIND(1)}}},
    {"three adds", {{0, 1, 5}},
     {{ADD(1, 1)}, {ADD(1, 2)}, {ADD(1, 4)}}},
    {"add, erase, insert", {{0, 1, 5}},
     {{ADD(1, 1)}, {ERASE(1)}, {INSERT(1, 9)}}},
    {"an insert that displaces, finds of the moved key", {{0, 2, 7}, {1, 3, 8}},
     {{INSERT(1, 10)}, {FIND(3), FIND(3)}}},
    {"an insert that displaces, add to the moved key, find", {{0, 2, 7}, {1, 3, 8}},
     {{INSERT(1, 10)}, {ADD(3, 1)}, {FIND(3)}}},
    {"an insert that displaces, erase of the moved key, find", {{0, 2, 7}, {1, 3, 8}},
     {{INSERT(1, 10)}, {ERASE(3)}, {FIND(3)}}},
    {"an insert that displaces, erase and insert of the moved key, find", {{0, 2, 7}, {1, 3, 8}},
     {{INSERT(1, 10)}, {ERASE(3), INSERT(3, 9)}, {FIND(3)}}},
    {"two inserts that displace, find", {{0, 2, 7}, {1, 3, 8}},
     {{INSERT(1, 10)}, {INSERT(4, 11)}, {FIND(3)}}},
    {"two inserts of one key that displace, find", {{0, 2, 7}, {1, 3, 8}},
     {{INSERT(1, 10)}, {INSERT(1, 11)}, {FIND(1)}}},
    {"an insert that displaces through two homes, find, add", {{0, 2, 7}, {1, 3, 8}, {2, 5, 9}},
     {{INSERT(1, 10)}, {FIND(3)}, {ADD(5, 1)}}},
    {"two keys of one home, erase and insert, find, erase", {{0, 1, 5}, {1, 2, 6}},
     {{ERASE(1), INSERT(1, 8)}, {FIND(2)}, {ERASE(2)}}},
    {"erase and insert, erase and find, find", {{0, 1, 5}},
     {{ERASE(1), INSERT(1, 6)}, {ERASE(1), FIND(1)}, {FIND(1)}}},
};
/* clang-format on */

enum { NAMED = sizeof named / sizeof *named };

const char *cases_get(const struct lines_settings *s, unsigned number, struct model_plan *p)
{
    int8_t names[MODEL_KEYS + 1];
    uint8_t values[MODEL_KEYS + 1] = {0};
    if (number >= NAMED)
        return NULL;
    const struct named *n = &named[number];
    memset(p, 0, sizeof *p);
    memset(names, -1, sizeof names);
    for (unsigned i = 0; i < 3 && n->pairs[i].key; i++) {
        const unsigned key = n->pairs[i].key;
        names[key] = (int8_t)(n->pairs[i].slot - s->home_of[key]);
        values[key] = n->pairs[i].value;
    }
    if (!lines_table(names, values, p))
        return NULL;
    for (unsigned t = 0; t < MODEL_THREADS && n->op[t][0].key; t++, p->threads++)
        for (unsigned k = 0; k < MODEL_EACH && n->op[t][k].key; k++, p->each[t]++) {
            p->op[t][k] = n->op[t][k];
            if (!s->values)
                p->op[t][k].operand = 0;
        }
    return n->name;
}
