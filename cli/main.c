/* The command line: finds the command, prints its help or its fault, and sets the exit status. */
#define _XOPEN_SOURCE 700

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "output.h"
#include "progress.h"

static const char help[] =
    "cohort: bulk parallel work on keys, on GPUs and CPUs\n"
    "\n"
    "usage: cohort COMMAND ...\n"
    "  info     devices, their memory and what they offer, versions\n"
    "  count    count the k-mers of FASTA and FASTQ files, or binary integers\n"
    "  sort     sort files of integers, larger than memory too\n"
    "  split    split a file of integers into buckets, one file each\n"
    "  set      intersect, unite and subtract sets of integers in files\n"
    "  bench    measure what this machine can do\n"
    "\n"
    "examples:\n"
    "  cohort count --kmer 21 --canonical --top 10 reads_1.fq.gz reads_2.fq.gz\n"
    "  cohort count --kmer 31 --min 2 --out kmers.tsv --spectrum kmers.svg genome.fa\n"
    "  zcat reads.fq.gz | cohort count --kmer 15 --device cpu - > kmers.tsv\n"
    "  cohort sort --u64 ids.bin sorted.bin\n"
    "  cohort split --u32 --buckets 16 --by hash ids.bin shards.d\n"
    "  cohort set and buyers.txt subscribers.roaring --count\n"
    "  cohort bench limits --device cpu\n"
    "\n"
    "cohort COMMAND --help tells more. --version prints the version. The environment's COHORT_DEVICE\n"
    "(cpu, cuda, cuda:N) decides where work runs unless --device does.\n";

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv, fault *fault);
    const char *help, *examples; /* examples: NULL if help has them */
} commands[] = {
    {"info", info_main, info_help, NULL}, {"count", count_main, count_help, NULL},
    {"sort", sort_main, sort_help, NULL}, {"split", split_main, split_help, NULL},
    {"set", set_main, set_help, NULL},    {"bench", bench_main, bench_help, bench_examples},
};

static int is_help(const char *text)
{
    return !strcmp(text, "--help") || !strcmp(text, "-h");
}

static const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

/* Help may stand anywhere among a command's options, but after "--" there are only files. */
static int wants_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
        if (is_help(argv[i]))
            return 1;
    return 0;
}

static int print(const char *text, const char *more)
{
    if (fputs(text, stdout) >= 0 && (!more || fputs(more, stdout) >= 0) && !fflush(stdout))
        return CLI_OK;
    fputs("cohort: cannot write to standard output\n", stderr);
    return CLI_FAILED;
}

/* In place of a standard stream that is closed the first file that is opened would come, and messages would
 * be written into that. What is put there instead fails when it is used. */
static void streams_hold(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return;
}

int main(int argc, char **argv)
{
    static fault fault;
    streams_hold();
    if (argc < 2) {
        fputs(help, stderr);
        return CLI_BAD_INPUT;
    }
    if (is_help(argv[1]) || (!strcmp(argv[1], "help") && argc == 2))
        return print(help, NULL);
    if (!strcmp(argv[1], "--version")) {
        char version[64];
        snprintf(version, sizeof version, "cohort %s\n", cohort_version());
        return print(version, NULL);
    }
    int asks = !strcmp(argv[1], "help");
    const struct command *command = command_find(argv[1 + asks]);
    if (!command) {
        fprintf(
            stderr,
            "cohort: %s: no such command (info, count, sort, split, set, bench; cohort --help tells more)\n",
            argv[1 + asks]);
        return CLI_BAD_INPUT;
    }
    if (asks || wants_help(argc - 2, argv + 2))
        return print(command->help, command->examples);
    int status = command->run(argc - 2, argv + 2, &fault);
    progress_clear();
    outputs_discard();
    if (status)
        fprintf(stderr, "cohort %s: %s\n", command->name, fault.text);
    return status;
}
