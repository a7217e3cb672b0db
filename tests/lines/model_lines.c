/* model_lines.c: see model_lines.h. The text follows the pseudo code of docs/hopscotch-protocol.md line by
 * line. A commit here is one request: where the real one fails because of claim bits or of a lock that came
 * in between, it is tried again, which is the same. */
#include "model_lines.h"

#include <string.h>

static struct lines_settings set;

const char *const lines_bug_names[BUGS] = {
    "none",          "no-validation",  "hit-unvalidated",  "miss-unvalidated", "bit-still-set",
    "no-version",    "names-alone",    "blind-commit",     "move-unlocked",    "change-unlocked",
    "value-before",  "retire-first",   "slot-first",       "commit-over-lock", "claim-leaks",
    "unlock-stores", "unshared-claim", "same-unvalidated", "full-unvalidated", "move-nameless"};
const char *const lines_word_names[LINES_WORDS] = {"names",  "reader fence", "claim", "writer fence",
                                                   "commit", "retire",       "lock",  "change fence",
                                                   "unlock", "erase"};

/* ---- a home's word: names, claim bits, lock, version --------------------------------------------------- */

#define NAMES   0xffu
#define CLAIM   0x100u
#define LOCK    0x1000u
#define VERSION (1u << (32 - set.version_bits))
#define SAME    (NAMES | (0u - VERSION))

static uint32_t version_step(void)
{
    return set.bug == BUG_NO_VERSION ? 0 : VERSION;
}

static uint32_t compared(void)
{
    return set.bug == BUG_NAMES_ALONE ? NAMES : SAME;
}

/* ---- where things are ---------------------------------------------------------------------------------- */

static unsigned home_places(void)
{
    return 1 + !set.one_word + set.slots * ((set.values && !set.joined ? 2 : 1) + (set.split ? 1 : 0));
}
static unsigned word_place(unsigned home)
{
    return home * home_places();
}
static unsigned claim_place(unsigned home)
{
    return home * home_places() + !set.one_word;
}
static uint32_t claim_bit(unsigned slot)
{
    return set.one_word ? CLAIM << slot % set.slots : 1u << slot % set.slots;
}
static unsigned key_place(unsigned slot)
{
    return slot / set.slots * home_places() + 1 + !set.one_word + slot % set.slots;
}
static unsigned value_place(unsigned slot)
{
    return set.joined ? key_place(slot) : key_place(slot) + set.slots;
}

/* The second word of a key, where it has one. */
static unsigned high_place(unsigned slot)
{
    return key_place(slot) + set.slots * (set.values ? 2 : 1);
}
static uint32_t low_of(uint32_t key)
{
    return set.split ? key & 1 : key;
}
static uint32_t of_words(uint32_t low, uint32_t high)
{
    return low | high << 1;
}

/* A key and a value as they lie in one word, where they do. */
static uint32_t key_in(uint32_t word)
{
    return word & 0xff;
}
static uint32_t value_in(uint32_t word)
{
    return set.joined ? word >> 8 : word;
}
static uint32_t as_value(uint32_t key, uint32_t value)
{
    return set.joined ? key | value << 8 : value;
}

unsigned lines_window(void)
{
    return (set.near + set.far) * set.slots;
}

/* The slot that name `i` of a home stands for, and the name of a slot; -1: it has none. */
static unsigned slot_of(unsigned home, unsigned i)
{
    unsigned line = i / set.slots, at = line < set.near ? line : set.partner[home] + line - set.near;
    return (home + at) % set.homes * set.slots + i % set.slots;
}
static int name_of(unsigned home, unsigned slot)
{
    for (unsigned i = 0; i < lines_window(); i++)
        if (slot_of(home, i) == slot)
            return (int)i;
    return -1;
}

/* ---- requests ------------------------------------------------------------------------------------------ */

static uint8_t order(enum lines_word word, uint8_t wanted)
{
    return set.relaxed[word] ? ORDER_RELAXED : wanted;
}
static uint32_t load(struct model_run *r, unsigned place, uint8_t o)
{
    return model_ask(r, (struct model_request){.act = ACT_LOAD, .place = (uint8_t)place, .order = o});
}
static void store(struct model_run *r, unsigned place, uint32_t value, uint8_t o)
{
    model_ask(r,
              (struct model_request){.act = ACT_STORE, .place = (uint8_t)place, .order = o, .value = value});
}
static uint32_t update(struct model_run *r, unsigned place, uint32_t mask, uint32_t expect, uint32_t add,
                       uint8_t o)
{
    return model_ask(r, (struct model_request){.act = ACT_UPDATE,
                                               .place = (uint8_t)place,
                                               .order = o,
                                               .mask = mask,
                                               .expect = expect,
                                               .value = add});
}
static void fence(struct model_run *r, uint8_t o)
{
    if (o)
        model_ask(r, (struct model_request){.act = ACT_FENCE, .order = o});
}
static void wait_unlocked(struct model_run *r, unsigned home)
{
    model_ask(r, (struct model_request){.act = ACT_WAIT, .place = (uint8_t)word_place(home), .mask = LOCK});
}
static uint32_t word(struct model_run *r, unsigned home)
{
    return load(r, word_place(home), order(WORD_NAMES, ORDER_ACQUIRE));
}

/* A change of a home's word that was `w`, names and version, and is not locked: 1 if it has been made. */
static int commit(struct model_run *r, unsigned home, uint32_t w, uint32_t add, uint8_t o)
{
    uint32_t mask = compared() | LOCK, expect = w & compared();
    if (set.bug == BUG_BLIND_COMMIT)
        mask = LOCK, expect = 0;
    return (update(r, word_place(home), mask, expect, add, o) & mask) == expect;
}

/* Of a slot, by who will look at the home's word again. */
static uint32_t load_slot(struct model_run *r, unsigned place)
{
    return load(r, place, set.acquiring_slots ? ORDER_ACQUIRE : ORDER_RELAXED);
}

static uint32_t load_key(struct model_run *r, unsigned slot, uint8_t o)
{
    const uint32_t low = load(r, key_place(slot), o);
    return set.split ? of_words(low, load(r, high_place(slot), o)) : low;
}

/* Of a slot, by who will look at the home's word again. */
static uint32_t scan_key(struct model_run *r, unsigned slot)
{
    return load_key(r, slot, set.acquiring_slots ? ORDER_ACQUIRE : ORDER_RELAXED);
}

/* ---- looking ------------------------------------------------------------------------------------------- */

static int is_own(unsigned home, unsigned slot)
{
    return slot / set.slots == home;
}

/* A word of the find's own home, as it reads it first. */
static uint32_t look(struct model_run *r, unsigned home, unsigned place, uint32_t snap, uint8_t o)
{
    (void)home;
    if (set.look == LOOK_SNAP)
        return model_snapped(snap, place);
    if (set.look == LOOK_GLANCE)
        return model_ask(r, (struct model_request){.act = ACT_GLANCE, .place = (uint8_t)place});
    return load(r, place, o);
}

/* The name under which the key is in, of those in w, and the word that it was read in; -1. */
static int scan(struct model_run *r, unsigned home, uint32_t w, unsigned key, uint32_t *seen)
{
    for (unsigned i = 0; i < lines_window(); i++)
        if (w >> i & 1 && key_in(*seen = scan_key(r, slot_of(home, i))) == key)
            return (int)i;
    return -1;
}

static int still(struct model_run *r, unsigned home, uint32_t w)
{
    if (!set.acquiring_slots)
        fence(r, order(WORD_READER_FENCE, ORDER_ACQUIRE));
    return ((load(r, word_place(home), ORDER_RELAXED) ^ w) & compared()) == 0;
}

/* The value in a slot whose key was read as `seen`. */
static uint32_t value_with(struct model_run *r, unsigned slot, uint32_t seen)
{
    if (!set.values)
        return 0;
    return value_in(set.joined ? seen : load_slot(r, value_place(slot)));
}

static uint32_t value_at(struct model_run *r, unsigned slot)
{
    return set.values ? value_in(load(r, value_place(slot), ORDER_RELAXED)) : 0;
}

static uint32_t find(struct model_run *r, unsigned key)
{
    const unsigned home = set.home_of[key];
    uint32_t snap = 0, value = 0;
    if (set.look == LOOK_SNAP)
        snap = model_ask(r, (struct model_request){
                                .act = ACT_SNAP, .place = (uint8_t)word_place(home), .value = home_places()});
    const uint32_t w = look(r, home, word_place(home), snap, order(WORD_NAMES, ORDER_ACQUIRE));
    int hit = -1;
    if (!(w & NAMES) && set.look == LOOK_RELAXED)
        return 0;
    for (unsigned i = 0; i < lines_window() && hit < 0; i++) {
        if (!(w >> i & 1))
            continue;
        unsigned slot = slot_of(home, i), own = is_own(home, slot);
        uint32_t k = own && !set.split ? look(r, home, key_place(slot), snap,
                                              set.acquiring_slots ? ORDER_ACQUIRE : ORDER_RELAXED)
                                       : scan_key(r, slot);
        if (key_in(k) != key)
            continue;
        hit = (int)i;
        if (set.values && !set.joined && own)
            value =
                look(r, home, value_place(slot), snap, set.acquiring_slots ? ORDER_ACQUIRE : ORDER_RELAXED);
        else
            value = value_with(r, slot, k);
    }
    const uint32_t result = hit < 0 ? 0 : value + 1;
    if (set.bug == BUG_NO_VALIDATION || (set.bug == BUG_HIT_UNVALIDATED && hit >= 0) ||
        (set.bug == BUG_MISS_UNVALIDATED && hit < 0))
        return result;
    if (!set.acquiring_slots)
        fence(r, order(WORD_READER_FENCE, ORDER_ACQUIRE));
    const uint32_t w2 = load(r, word_place(home), ORDER_RELAXED);
    const int under_change = set.counted_changes && (w | w2) & LOCK;
    if ((((w2 ^ w) & compared()) == 0 && !under_change) ||
        (set.bug == BUG_BIT_STILL_SET && hit >= 0 && w2 >> hit & 1))
        return result;
    if (set.look != LOOK_RELAXED) { /* the second time by relaxed loads */
        const uint32_t w3 = word(r, home);
        uint32_t seen;
        hit = scan(r, home, w3, key, &seen);
        value = hit < 0 ? 0 : value_with(r, slot_of(home, (unsigned)hit), seen);
        if (still(r, home, w3))
            return hit < 0 ? 0 : value + 1;
    }
    model_again(r, 0);
}

/* ---- slots: free, claimed, named ----------------------------------------------------------------------- */

static int claim_slot(struct model_run *r, unsigned slot)
{
    const uint32_t bit = claim_bit(slot);
    const unsigned place = claim_place(slot / set.slots);
    if (set.bug == BUG_UNSHARED_CLAIM) {
        if (load(r, place, order(WORD_CLAIM, ORDER_ACQUIRE)) & bit)
            return 0;
        update(r, place, bit, 0, bit, ORDER_RELAXED);
        return 1;
    }
    return !(update(r, place, bit, 0, bit, order(WORD_CLAIM, ORDER_ACQUIRE)) & bit);
}

static void retire(struct model_run *r, unsigned slot)
{
    const uint32_t bit = claim_bit(slot);
    update(r, claim_place(slot / set.slots), bit, bit, 0u - bit, order(WORD_RETIRE, ORDER_RELEASE));
}

/* A free slot of the home's window, ours now: its name, or -1. */
static int claim(struct model_run *r, unsigned home)
{
    for (unsigned i = 0; i < lines_window(); i++)
        if (claim_slot(r, slot_of(home, i)))
            return (int)i;
    return -1;
}

static void fill(struct model_run *r, unsigned slot, uint32_t key, uint32_t value)
{
    fence(r, order(WORD_WRITER_FENCE, ORDER_RELEASE));
    store(r, key_place(slot), set.joined ? as_value(key, value) : low_of(key), ORDER_RELAXED);
    if (set.split)
        store(r, high_place(slot), key >> 1, ORDER_RELAXED);
    if (set.values && !set.joined)
        store(r, value_place(slot), value, ORDER_RELAXED);
}

/* ---- moves --------------------------------------------------------------------------------------------- */

static void unlock(struct model_run *r, unsigned home, uint32_t w, uint32_t add)
{
    if (set.one_word && set.bug != BUG_UNLOCK_STORES)
        update(r, word_place(home), 0, 0, add - LOCK, order(WORD_UNLOCK, ORDER_RELEASE));
    else
        store(r, word_place(home), (w & ~LOCK) + add, order(WORD_UNLOCK, ORDER_RELEASE));
}

/* The key under name `from` of a home into the slot of name `to`, which is ours; then the other slot is. 1:
 * it has been moved. */
static int move(struct model_run *r, unsigned home, unsigned from, unsigned to)
{
    const unsigned s = slot_of(home, from), d = slot_of(home, to);
    const uint32_t w = word(r, home), add = (1u << to) - (1u << from) + version_step();
    const int locks = set.values && set.bug != BUG_MOVE_UNLOCKED;
    if ((!(w >> from & 1) && set.bug != BUG_MOVE_NAMELESS) || w & LOCK ||
        (locks && !commit(r, home, w, LOCK, order(WORD_LOCK, ORDER_ACQUIRE))))
        return 0;
    const uint32_t seen = load_key(r, s, ORDER_RELAXED), value = value_with(r, s, seen);
    fill(r, d, key_in(seen), value);
    if (set.bug == BUG_RETIRE_FIRST)
        retire(r, s);
    if (!locks)
        return commit(r, home, w, add, order(WORD_COMMIT, ORDER_RELEASE));
    unlock(r, home, w, add);
    return 1;
}

/* Whose key is in a slot: its home, and the name there; 0: no home names the slot now. */
static int owner(struct model_run *r, unsigned slot, unsigned *home, unsigned *name)
{
    const uint32_t key = key_in(load_key(r, slot, ORDER_RELAXED));
    if (!key || key > MODEL_KEYS) /* none was ever there, or two words that make none */
        return 0;
    *home = set.home_of[key];
    const int at = name_of(*home, slot);
    *name = (unsigned)at;
    return at >= 0 && word(r, *home) >> at & 1;
}

/* Frees a slot by moving its key elsewhere, with at most so many moves: then it is ours. *held: somebody
 * holds a slot, and may give it back. */
static int make_room(struct model_run *r, unsigned slot, unsigned for_home, unsigned moves, int *held)
{
    unsigned home, from;
    int further;
    if (!owner(r, slot, &home, &from)) {
        *held = 1;
        return 0;
    }
    if (home == for_home)
        return 0;
    for (unsigned to = 0; to < lines_window(); to++) {
        const unsigned d = slot_of(home, to);
        if (d == slot || !(claim_slot(r, d) || (moves > 1 && make_room(r, d, home, moves - 1, &further))))
            continue;
        if (move(r, home, from, to))
            return 1;
        retire(r, d);
        *held = 1;
        return 0;
    }
    return 0;
}

/* A slot of the home's window, ours after moves: its name, or -1. Names in w are keys of the home's own. */
static int displace(struct model_run *r, unsigned home, uint32_t w, int *held)
{
    *held = 0;
    for (unsigned i = 0; i < lines_window() && set.moves; i++)
        if (!(w >> i & 1) && make_room(r, slot_of(home, i), home, set.moves, held))
            return (int)i;
    return -1;
}

/* ---- operations ---------------------------------------------------------------------------------------- */

/* What an operation that begins anew remembers: the name of a slot that is its own and holds its pair, + 1;
 * and how often it has found no slot. */
enum { MINE = 0xff, WAITED = 0x100 };

/* A slot for a key that is not in, ours: its name, or -1. *held: one may come free. Who finds none looks once
 * more before it moves what is there. */
static int obtain(struct model_run *r, unsigned home, uint32_t w, uint32_t local, int *held)
{
    *held = 0;
    if ((w & NAMES) == (1u << lines_window()) - 1)
        return -1;
    const int name = claim(r, home);
    *held = 1;
    return name >= 0 || local < WAITED ? name : displace(r, home, w, held);
}

/* Puts the key in, of which a scan of w saw nothing. */
static uint32_t put(struct model_run *r, const struct model_op *op, uint32_t w, uint32_t local)
{
    const unsigned home = set.home_of[op->key];
    if (!(local & MINE)) {
        int held;
        const int name = obtain(r, home, w, local, &held);
        if (name < 0) {
            if (set.bug != BUG_FULL_UNVALIDATED && !still(r, home, w))
                model_again(r, local);
            if (!held || local >= set.waits * WAITED)
                return MODEL_FULL;
            model_again(r, local + WAITED);
        }
        fill(r, slot_of(home, (unsigned)name), op->key, op->operand);
        local += (uint32_t)name + 1;
    }
    if (w & LOCK) {
        wait_unlocked(r, home);
        model_again(r, local);
    }
    if (commit(r, home, w, (1u << ((local & MINE) - 1)) + version_step(), order(WORD_COMMIT, ORDER_RELEASE)))
        return 0;
    model_again(r, set.bug == BUG_CLAIM_LEAKS ? 0 : local);
}

static void give_back(struct model_run *r, unsigned home, uint32_t local)
{
    if (local & MINE)
        retire(r, slot_of(home, (local & MINE) - 1));
}

static uint32_t insert(struct model_run *r, const struct model_op *op, uint32_t local)
{
    const unsigned home = set.home_of[op->key];
    const uint32_t w = word(r, home);
    uint32_t seen;
    const int hit = scan(r, home, w, op->key, &seen);
    if (hit < 0)
        return put(r, op, w, local);
    const uint32_t value = value_with(r, slot_of(home, (unsigned)hit), seen);
    if (!still(r, home, w))
        model_again(r, local);
    give_back(r, home, local);
    return value + 1;
}

/* The new value in its place, where the home is locked. */
static void set_value(struct model_run *r, unsigned place, uint32_t old, uint32_t new)
{
    if (set.exchange) {
        update(r, place, 0, 0, new - old, ORDER_RELAXED);
    } else {
        fence(r, order(WORD_CHANGE_FENCE, ORDER_RELEASE));
        store(r, place, new, ORDER_RELAXED);
    }
}

static uint32_t changed(const struct model_op *op, uint32_t old)
{
    return op->kind == KIND_ASSIGN ? op->operand : old + op->operand;
}

/* Assign and add: the value changes in its place, under the lock; one that stays as it is was looked at. */
static uint32_t change(struct model_run *r, const struct model_op *op, uint32_t local)
{
    const unsigned home = set.home_of[op->key];
    const uint32_t w = word(r, home);
    uint32_t seen;
    const int hit = scan(r, home, w, op->key, &seen);
    if (hit < 0)
        return put(r, op, w, local);
    const unsigned slot = slot_of(home, (unsigned)hit), place = value_place(slot);
    uint32_t old = value_with(r, slot, seen);
    if (changed(op, old) == old) {
        if (set.bug != BUG_SAME_UNVALIDATED && !still(r, home, w))
            model_again(r, local);
        give_back(r, home, local);
        return old + 1;
    }
    if (set.bug == BUG_CHANGE_UNLOCKED) {
        const uint32_t word = load(r, place, ORDER_RELAXED),
                       next = as_value(op->key, changed(op, value_in(word)));
        if (update(r, place, ~0u, word, next - word, ORDER_BOTH) != word)
            model_again(r, local);
        give_back(r, home, local);
        return value_in(word) + 1;
    }
    if (w & LOCK) {
        wait_unlocked(r, home);
        model_again(r, local);
    }
    if (!commit(r, home, w, LOCK, order(WORD_LOCK, ORDER_ACQUIRE)))
        model_again(r, local);
    old = value_at(r, slot);
    set_value(r, place, as_value(op->key, old), as_value(op->key, changed(op, old)));
    unlock(r, home, w, set.counted_changes ? version_step() : 0);
    give_back(r, home, local);
    return old + 1;
}

/* Fills a slot that came free with a key of the slot's own home that lies elsewhere: the slot that is free
 * then. */
static unsigned pull(struct model_run *r, unsigned slot)
{
    const unsigned home = slot / set.slots;
    const uint32_t out = load(r, word_place(home), ORDER_RELAXED) & NAMES & ~((1u << set.slots) - 1);
    if (!out)
        return slot;
    const unsigned from = 31u - (unsigned)__builtin_clz(out);
    return move(r, home, from, slot % set.slots) ? slot_of(home, from) : slot;
}

static uint32_t erase(struct model_run *r, unsigned key)
{
    const unsigned home = set.home_of[key];
    const uint32_t w = word(r, home);
    uint32_t value = 0;
    if (!(w & NAMES))
        return 0;
    uint32_t seen;
    const int hit = scan(r, home, w, key, &seen);
    if (hit < 0) {
        if (still(r, home, w))
            return 0;
        model_again(r, 0);
    }
    if (w & LOCK && set.bug != BUG_COMMIT_OVER_LOCK) {
        wait_unlocked(r, home);
        model_again(r, 0);
    }
    const unsigned slot = slot_of(home, (unsigned)hit);
    const uint32_t drop = version_step() - (1u << hit);
    if (set.bug == BUG_VALUE_BEFORE)
        value = value_at(r, slot);
    if (set.bug == BUG_SLOT_FIRST)
        retire(r, slot);
    if (set.bug == BUG_COMMIT_OVER_LOCK) {
        if ((update(r, word_place(home), SAME, w & SAME, drop, ORDER_ACQUIRE) ^ w) & SAME)
            model_again(r, 0);
    } else if (!commit(r, home, w, drop, order(WORD_ERASE, ORDER_ACQUIRE)))
        model_again(r, 0);
    if (set.bug != BUG_VALUE_BEFORE)
        value = value_at(r, slot);
    if (set.bug != BUG_SLOT_FIRST)
        retire(r, set.pull ? pull(r, slot) : slot);
    return value + 1;
}

static uint32_t program(struct model_run *r, const struct model_op *op, uint32_t local)
{
    switch (op->kind) {
    case KIND_FIND:
        return find(r, op->key);
    case KIND_INSERT:
        return insert(r, op, local);
    case KIND_ERASE:
        return erase(r, op->key);
    default:
        return set.values ? change(r, op, local) : insert(r, op, local);
    }
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static int final(const uint32_t *memory, uint8_t *value, char *why, size_t bytes)
{
    uint32_t named = 0;
    for (unsigned home = 0; home < set.homes; home++) {
        const uint32_t w = memory[word_place(home)];
        if (w & LOCK)
            return snprintf(why, bytes, "home %u is locked", home), 0;
        for (unsigned i = 0; i < lines_window(); i++) {
            if (!(w >> i & 1))
                continue;
            const unsigned slot = slot_of(home, i), low = key_in(memory[key_place(slot)]),
                           key = set.split ? of_words(low, memory[high_place(slot)]) : low;
            if (named >> slot & 1)
                return snprintf(why, bytes, "slot %u has two names", slot), 0;
            named |= 1u << slot;
            if (!key || key > MODEL_KEYS || set.home_of[key] != home || value[key])
                return snprintf(why, bytes, "home %u names slot %u, which holds key %u", home, slot, key), 0;
            value[key] = (uint8_t)((set.values ? value_in(memory[value_place(slot)]) : 0) + 1);
        }
    }
    for (unsigned slot = 0; slot < set.homes * set.slots; slot++)
        if ((named >> slot & 1) != (unsigned)!!(memory[claim_place(slot / set.slots)] & claim_bit(slot)))
            return snprintf(why, bytes, "slot %u is %snamed, and its claim says otherwise", slot,
                            named >> slot & 1 ? "" : "not "),
                   0;
    return 1;
}

int lines_table(const int8_t *names, const uint8_t *values, struct model_plan *p)
{
    memset(p->memory, 0, sizeof p->memory);
    memset(p->value, 0, sizeof p->value);
    for (unsigned key = 1; key <= MODEL_KEYS; key++) {
        if (names[key] < 0)
            continue;
        const unsigned home = set.home_of[key], slot = slot_of(home, (unsigned)names[key]);
        if (p->memory[claim_place(slot / set.slots)] & claim_bit(slot))
            return 0;
        p->memory[claim_place(slot / set.slots)] |= claim_bit(slot);
        p->memory[word_place(home)] |= 1u << names[key];
        p->memory[key_place(slot)] = low_of(key);
        if (set.split)
            p->memory[high_place(slot)] = key >> 1;
        if (set.values)
            p->memory[value_place(slot)] = as_value(key, values[key]);
        p->value[key] = (uint8_t)(set.values ? values[key] + 1 : 1);
    }
    return 1;
}

struct model lines_model(const struct lines_settings *s, int weak)
{
    set = *s;
    struct model m = {.name = "lines",
                      .program = program,
                      .final = final,
                      .places = set.homes * home_places(),
                      .weak = weak,
                      .glances = set.look == LOOK_GLANCE};
    return m;
}
