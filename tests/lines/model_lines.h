/* model_lines.h: the protocol of docs/hopscotch-protocol.md as a program for the explorer (model.h), on
 * tables of a few slots, with all that may be set about it: the layout, what a version can count to, the
 * order of each word, and bugs to be put in. */
#ifndef LINES_MODEL_LINES_H
#define LINES_MODEL_LINES_H

#include "model.h"

enum { LINES_HOMES = 4, LINES_SLOTS = 8 };

/* How a find reads its own home first: by relaxed loads; by loads that may be answered with what was there at
 * any time, each for itself; or by one copy of the home, of one moment before the find begins. */
enum lines_look { LOOK_RELAXED, LOOK_GLANCE, LOOK_SNAP };

enum lines_bug {
    BUG_NONE,
    BUG_NO_VALIDATION,    /* a find does not look at the word again, */
    BUG_HIT_UNVALIDATED,  /* if it has a hit, */
    BUG_MISS_UNVALIDATED, /* if it has a miss, */
    BUG_BIT_STILL_SET,    /* or only whether the name of its hit is there still */
    BUG_NO_VERSION,       /* commits leave the version as it is */
    BUG_NAMES_ALONE,      /* names are compared, versions are not */
    BUG_BLIND_COMMIT,     /* a commit on the word as it is now, not as it was scanned */
    BUG_MOVE_UNLOCKED,    /* a move that does not lock */
    BUG_CHANGE_UNLOCKED,  /* a change of a value that does not */
    BUG_VALUE_BEFORE,     /* erase reads the value before it commits */
    BUG_RETIRE_FIRST,     /* a move gives the slot away before it commits */
    BUG_SLOT_FIRST,       /* an erase does */
    BUG_COMMIT_OVER_LOCK, /* an erase does not mind the lock */
    BUG_CLAIM_LEAKS,      /* an insert whose commit fails claims another slot */
    BUG_UNLOCK_STORES,    /* one word: the unlock is a store, and loses claims */
    BUG_UNSHARED_CLAIM,   /* the slot is not claimed before it is written */
    BUG_SAME_UNVALIDATED, /* a change that would change nothing does not look at the word again, */
    BUG_FULL_UNVALIDATED, /* nor who is told FULL */
    BUG_MOVE_NAMELESS,    /* a move does not look whether the name is there still */
    BUGS
};
extern const char *const lines_bug_names[BUGS];

/* The words that have an order. */
enum lines_word {
    WORD_NAMES,        /* the first load of a home's word: acquire */
    WORD_READER_FENCE, /* before its second: acquire */
    WORD_CLAIM,        /* acquire */
    WORD_WRITER_FENCE, /* before a slot is written: release */
    WORD_COMMIT,       /* of an insert: release */
    WORD_RETIRE,       /* release */
    WORD_LOCK,         /* acquire */
    WORD_CHANGE_FENCE, /* before a value changes in its place: release */
    WORD_UNLOCK,       /* release */
    WORD_ERASE,        /* an erase's commit: acquire */
    LINES_WORDS
};
extern const char *const lines_word_names[LINES_WORDS];

struct lines_settings {
    unsigned homes, slots; /* and slots of each */
    unsigned near, far;    /* homes in which a key may lie: from its own on, and from the partner place on */
    uint8_t partner[LINES_HOMES]; /* how far from each home that is */
    unsigned home_of[MODEL_KEYS + 1];
    int one_word; /* claims are in the word of names */
    int values;   /* 0: a set: moves copy and commit */
    int joined;   /* a key and its value are one word */
    int same;     /* plans have changes that change nothing (model_plans.h) */
    /* a key is two words: its lowest bit, and the others. So one word of key 1 and one of 2 are 3 */
    int split;
    /* a value changes by an atomic, which carries on what the fill released, and not behind a fence */
    int exchange;
    int counted_changes; /* a change of a value takes the version on, too */
    /* slots are read with acquire, and there is no fence before the word is read again */
    int acquiring_slots;
    int pull;       /* an erase fills the slot with a key of the slot's home */
    unsigned moves; /* at most, for an insert */
    /* times that an insert which finds no slot, and is told that one may come free, looks again */
    unsigned waits;
    unsigned version_bits;
    enum lines_look look;
    enum lines_bug bug;
    uint8_t relaxed[LINES_WORDS]; /* 1: without its order */
};

/* The program under these settings. */
struct model lines_model(const struct lines_settings *, int weak);

/* A table with these keys in these slots of their windows (names; -1: not in), each with its value. 0: two
 * want one slot. */
int lines_table(const int8_t *names, const uint8_t *values, struct model_plan *);
unsigned lines_window(void); /* names of a home */

#endif
