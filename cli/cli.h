/* What the files of the tool share: exit statuses, faults, the argument reader, and the commands.
 *
 * The tool uses the library through <cohort.h> alone. A function that can fail takes a `fault` and returns
 * a status; only main.c prints it and ends the program, so that every error is one line and leaves no
 * half-written file. */
#ifndef COHORT_CLI_H
#define COHORT_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cohort.h>

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,   /* memory, disk or device gave out */
    CLI_BAD_INPUT = 2 /* what the user asked for or gave is wrong */
};

/* One error: what the exit status will be and the line that is printed. */
typedef struct fault {
    int status;
    char text[5120];
} fault;

#if defined(__GNUC__)
#    define CLI_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#    define CLI_PRINTF(at, first)
#endif

/* Fills in `fault` and returns `status`. Control characters (of a strange file name, say) become '?'. */
int fault_set(fault *fault, int status, const char *format, ...) CLI_PRINTF(3, 4);

/* The same for a failed call of the library: `doing` says during what. */
int fault_library(fault *fault, cohort_status status, const cohort_context *context, const char *doing);

/* ---- arguments ----------------------------------------------------------------------------------------- */

typedef enum arg_kind {
    ARG_FLAG,   /* value: int */
    ARG_TEXT,   /* value: const char * */
    ARG_TEXTS,  /* value: arg_texts; the option may be repeated */
    ARG_NUMBER, /* value: uint64_t, from min to max */
    ARG_SIZE    /* the same; K, M and G at the end multiply by a thousand, a million, a milliard */
} arg_kind;

typedef struct arg_texts {
    const char *text[8];
    size_t n;
} arg_texts;

typedef struct arg {
    const char *name; /* "--kmer" */
    arg_kind kind;
    void *value;
    uint64_t min, max;
    int given;
} arg;

/* What K, M or G at the end of a size multiplies by; 0 if it is none of them. */
uint64_t size_unit(char suffix);

/* Reads options ("--name VALUE" or "--name=VALUE", in any place, until "--") into `args`. What is no
 * option is moved to the front of argv, *rest of them. */
int args_read(arg *args, size_t n, int argc, char **argv, size_t *rest, fault *fault);

/* ---- commands ------------------------------------------------------------------------------------------ */

/* argv[0] is the command's first argument. */
int info_main(int argc, char **argv, fault *fault);
int count_main(int argc, char **argv, fault *fault);
int sort_main(int argc, char **argv, fault *fault);
int split_main(int argc, char **argv, fault *fault);
int set_main(int argc, char **argv, fault *fault);
int bench_main(int argc, char **argv, fault *fault);

extern const char info_help[], count_help[], sort_help[], split_help[], set_help[], bench_help[];
extern const char
    bench_examples[]; /* the end of bench's help, for C99 has strings of 4,095 characters at most */

/* ---- small things -------------------------------------------------------------------------------------- */

/* A context on `device` (NULL: auto) with `threads` (0: the library's choice). A device that is not there is
 * CLI_BAD_INPUT and names --device. Where auto decides, a line on standard error says which it took and why;
 * it takes none that lacks a map of `widths` (bits of cohort_context_info.map_widths). */
int context_open(cohort_context **out, const char *device, uint64_t threads, const cohort_progress *progress,
                 uint64_t widths, fault *fault);

double seconds_now(void);

#define TEXT_NUMBER_BYTES 32

/* 1234567 as "1,234,567"; returns `to`. */
char *text_grouped(char to[TEXT_NUMBER_BYTES], uint64_t number);
/* Bytes as "1.5 GiB". */
char *text_bytes(char to[TEXT_NUMBER_BYTES], uint64_t bytes);
/* Decimal digits of `number` at `to`, which has room for 20; returns how many. */
size_t text_digits(char *to, uint64_t number);
/* Whether standard output's words may be UTF-8, by the environment's locale. */
int text_is_utf8(void);

#endif
