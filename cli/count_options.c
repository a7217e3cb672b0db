/* Arguments first, then the files: each is opened, and its first letter tells what kind of sequences it
 * holds, from which follows how many distinct k-mers to expect. Reads say most things ten times and more, a
 * genome says most things once, and gzip makes about a quarter of either. A guess that is too low costs the
 * map's growing, one that is far too high the filling of memory for nothing. */
#define _XOPEN_SOURCE 700

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "count_options.h"
#include "input.h"
#include "place.h"
#include "spectrum.h"

static int check_kind(const count_options *options, fault *fault)
{
    int kinds = options->kmers + options->u32 + options->u64;
    if (!kinds)
        return fault_set(fault, CLI_BAD_INPUT, "one of --kmer K, --u32 and --u64 must say what to count");
    if (kinds > 1)
        return fault_set(fault, CLI_BAD_INPUT, "%s and %s: only one of them may be given",
                         options->kmers ? "--kmer" : "--u32",
                         options->u32 && options->kmers ? "--u32" : "--u64");
    if (options->canonical && !options->kmers)
        return fault_set(fault, CLI_BAD_INPUT, "--canonical: goes with --kmer only");
    return CLI_OK;
}

static int check_outputs(const count_options *options, fault *fault)
{
    int table_here = !options->out || !strcmp(options->out, "-");
    for (size_t i = 0; i < options->spectra.n; i++) {
        const char *path = options->spectra.text[i];
        spectrum_form form;
        if (!spectrum_form_of(path, &form))
            return fault_set(fault, CLI_BAD_INPUT,
                             "--spectrum %s: its name must end in .svg, .txt or .tsv, or be '-'", path);
        if (!strcmp(path, "-") && table_here)
            return fault_set(fault, CLI_BAD_INPUT,
                             "--spectrum -: the counts go to standard output too; give --out FILE for them");
    }
    return CLI_OK;
}

static int check_overwritten(const count_options *options, const char *path, fault *fault)
{
    place in, out;
    place_of(&in, path, STDIN_FILENO);
    for (size_t i = 0; i <= options->spectra.n; i++) {
        const char *to = i ? options->spectra.text[i - 1] : options->out ? options->out : "-";
        place_of(&out, to, STDOUT_FILENO);
        if (place_same(&in, &out))
            return fault_set(fault, CLI_BAD_INPUT, "%s %s: is also read", i ? "--spectrum" : "--out", to);
    }
    return CLI_OK;
}

/* The first byte of the file's text that is no white space, and whether the text is compressed; 0 if there is
 * none. */
static int look_into(const char *path, int raw, char *first, int *compressed, fault *fault)
{
    char text[256];
    size_t n = 0;
    input *input;
    if (input_open(&input, path, raw, fault))
        return fault->status;
    int status = input_read(input, text, sizeof text, &n, fault);
    *compressed = input_is_gzip(input);
    input_close(input);
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", text[i]))
        i++;
    *first = i < n ? text[i] : 0;
    return status;
}

static int check_file(count_options *options, const char *path, fault *fault)
{
    struct stat about = {0};
    char first = 0;
    int compressed = 0;
    if (!stat(path, &about) && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
        options->input_known = 0; /* a pipe may be opened once only */
        return CLI_OK;
    }
    if (look_into(path, !options->kmers, &first, &compressed, fault))
        return fault->status;
    uint64_t bytes = about.st_size > 0 ? (uint64_t)about.st_size : 0;
    options->input_bytes += bytes;
    if (options->kmers)
        options->distinct += bytes * (compressed ? 4 : 1) / (first == '@' ? 16 : 1);
    else
        options->distinct += bytes / (options->u32 ? 8 : 16);
    return CLI_OK;
}

static int check_files(count_options *options, fault *fault)
{
    int standard = 0, status = CLI_OK;
    if (!options->files_n)
        return fault_set(fault, CLI_BAD_INPUT, "no FILE given ('-' reads standard input)");
    options->input_known = 1;
    for (size_t i = 0; i < options->files_n && !status; i++) {
        if (strcmp(options->files[i], "-")) {
            status = check_file(options, options->files[i], fault);
            if (!status)
                status = check_overwritten(options, options->files[i], fault);
            continue;
        }
        options->input_known = 0;
        if (standard++)
            return fault_set(fault, CLI_BAD_INPUT, "-: standard input can be read only once");
        status = check_overwritten(options, "-", fault);
    }
    return status;
}

int count_options_read(count_options *options, int argc, char **argv, fault *fault)
{
    memset(options, 0, sizeof *options);
    options->top = UINT64_MAX;
    options->min = 1;
    arg args[] = {
        {"--kmer", ARG_NUMBER, &options->k, 1, COHORT_KMER_MOST, 0},
        {"--canonical", ARG_FLAG, &options->canonical, 0, 0, 0},
        {"--u32", ARG_FLAG, &options->u32, 0, 0, 0},
        {"--u64", ARG_FLAG, &options->u64, 0, 0, 0},
        {"--top", ARG_NUMBER, &options->top, 1, UINT64_MAX, 0},
        {"--min", ARG_NUMBER, &options->min, 1, UINT64_MAX, 0},
        {"--out", ARG_TEXT, &options->out, 0, 0, 0},
        {"--spectrum", ARG_TEXTS, &options->spectra, 0, 0, 0},
        {"--stats", ARG_FLAG, &options->stats, 0, 0, 0},
        {"--device", ARG_TEXT, &options->device, 0, 0, 0},
        {"--threads", ARG_NUMBER, &options->threads, 1, 1024, 0},
        {"--size-hint", ARG_SIZE, &options->size_hint, 1, UINT64_MAX, 0},
    };
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &options->files_n, fault);
    if (status)
        return status;
    options->kmers = args[0].given;
    options->files = argv;
    status = check_kind(options, fault);
    if (!status)
        status = check_outputs(options, fault);
    return status ? status : check_files(options, fault);
}
