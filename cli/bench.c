/* cohort bench: measurements. Each has its name, its own file in bench/, and one row in the table below. */
#include <string.h>

#include "../bench/bench.h"

const char bench_help[] =
    "usage: cohort bench limits [--device D] [--threads N] [--table-bytes N] [--json FILE]\n"
    "       cohort bench map    [--device D] [--threads N] [--quick] [--json FILE] [--runs N]\n"
    "                           [--n N[,N...]] [--load L[,L...]] [--width KV[,KV...]] [--only "
    "TEXT[,TEXT...]]\n"
    "\n"
    "limits  what this machine's memory can do at most, which is what every other figure is held against: "
    "copies,\n"
    "        random reads and compare-and-swaps, the same from the last cache, and the link to a GPU\n"
    "map     the operations of the hash map, each beside the limit that binds it\n"
    "\n"
    "  --device D        cpu, cuda, cuda:N, or auto (a GPU if there is one)\n"
    "  --threads N       CPU threads, 1 to 1024 (default: one a core)\n"
    "  --table-bytes N   the table of the random accesses (default: 2 GiB, or a quarter of the free memory)\n"
    "  --quick           a minute instead of many: small sizes, few runs\n"
    "  --runs N          timed runs of each row, 1 to 32 (default 5)\n"
    "  --n, --load       pairs in the table, and pairs / slots\n"
    "  --width KV        32/0, 32/32, 64/0, 64/32, 64/64\n"
    "  --only TEXT       only rows whose name holds TEXT\n"
    "  --json FILE       also write the figures there; '-' is standard output, and then nothing else is\n"
    "\n"
    "examples:\n"
    "  cohort bench limits --device cpu --json limits.json\n"
    "  cohort bench map --n 134217728 --load 0.5,0.8,0.9 --width 32/32,64/64\n";

static const struct bench_command {
    const char *name;
    int (*run)(int argc, char **argv, fault *fault);
} commands[] = {{"limits", bench_limits_main}, {"map", bench_map_main}};

int bench_main(int argc, char **argv, fault *fault)
{
    if (!argc)
        return fault_set(fault, CLI_BAD_INPUT,
                         "what is to be measured? limits or map (cohort bench --help tells more)");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(argv[0], commands[i].name))
            return commands[i].run(argc - 1, argv + 1, fault);
    return fault_set(fault, CLI_BAD_INPUT,
                     "%s: no such measurement (limits, map; cohort bench --help tells more)", argv[0]);
}
