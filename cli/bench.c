/* cohort bench: measurements. Each has its name, its own file in bench/, and one row in the table below. */
#include <string.h>

#include "../bench/bench.h"

const char bench_help[] =
    "usage: cohort bench limits | map | hopscotch | multisplit | sort | set | table | count [OPTION]...\n"
    "       cohort bench show    FILE.json... [--experiment, --name, --width LIST] [--against FILE.json]...\n"
    "                            [--plot FILE.svg]\n"
    "       cohort bench compare OLD.json NEW.json [--tolerance PERCENT]\n"
    "       cohort bench pages   [--check] PAGE...\n"
    "\n"
    "limits      what this machine's memory can do at most, which every other figure is held against: "
    "copies, "
    "random\n"
    "            reads and compare-and-swaps, the same from the last cache, and the link to a GPU\n"
    "map         the operations of the hash map, beside the limit that binds each and the best of its peers\n"
    "hopscotch   maps of LINES under mixed operations, beside pages and concurrent maps of others\n"
    "multisplit  stable partition into buckets by each method, beside rivals and peers\n"
    "sort        the radix sort; compaction, histogram, sums\n"
    "set         operations on sets, beside CRoaring, on one thread\n"
    "table       joins and group-by on tables, from frames to a frame, beside duckdb and polars\n"
    "count       counting the k-mers of made-up reads, beside jellyfish and kmc where they are installed\n"
    "show        recorded figures as a table and as a drawing\n"
    "compare     what moved beyond the spread from OLD to NEW; exit status 1 if something got slower\n"
    "pages       writes the figures in pages of text from recorded ones, between the comments '<!-- figures: "
    "FILE.json...\n"
    "            [OPTION]... -->' and '<!-- end of figures -->'; --check only tells if a page or drawing "
    "would change\n"
    "\n"
    "all that measure:\n"
    "  --device D         cpu, cuda, cuda:N, or auto (a GPU if there is one)\n"
    "  --threads N        CPU threads, 1 to 1024 (default: one a core)\n"
    "  --quick            small sizes, few runs\n"
    "  --runs N           timed runs of each row, 1 to 32 (default: 5; of count 3)\n"
    "  --table-bytes N    the table of the limits' random accesses (default: 2 GiB, or a quarter of the free "
    "memory)\n"
    "  --json FILE        also write the figures there; '-' is standard output, and then nothing else is\n"
    "  --plot FILE.svg    draw the figures there\n"
    "  --against FILE     figures of peers, or of an earlier run, to stand beside ours; may be repeated\n"
    "\n"
    "map:\n"
    "  --experiment NAME  operations, threads (1, 2, 4, ... of the CPU's), headline (2^27 4+4 B pairs), "
    "duplicates\n"
    "                     (uniform and Zipf), multimap (1 to 10,000 values a key): these if none is\n"
    "                     named; groups (lanes on one key, 1 to 32), sweep (4 M keys at a time into 128 M "
    "slots up to\n"
    "                     load 0.97), deletes (64 M in, 32 M out), host (columns in its memory),\n"
    "                     readers (threads that look up in one map), loads (plain, relaxed),\n"
    "                     batches (1 to n entries a call), sums (by key), full (what goes in vain\n"
    "                     in full maps, and churn); all\n"
    "  --tune             the best grids for this GPU\n"
    "  --n, --load        pairs in the table, and pairs / slots\n"
    "  --width KV         32/0, 32/32, 64/0, 64/32, 64/64\n"
    "  --only TEXT,...    only rows whose name holds one of these\n"
    "  --layout NAME      pages or lines\n"
    "  --peers DIR        where the peers' programs are (default, of a CPU: peers beside this one); 'none'\n"
    "\n"
    "hopscotch:\n"
    "  --experiment NAME  static (built and read, beside linear, quadratic and cuckoo tables),\n"
    "                     ranges (mixed streams on 100 to 100,000 keys): these if none is named; sizes\n"
    "                     (2^20 to 2^26 operations), loads, zipf, threads, ageing; all\n"
    "  --n, --load        operations of sizes, pairs of the others; pairs / slots\n"
    "  --exponent         of zipf (0, 0.4, 0.8, 0.99, 1.2)\n"
    "  --width KV         32/32, 64/64, 128/64\n"
    "  --layout NAME      lines or pages (default: both)\n"
    "  --peers DIR        as of map (default, of a GPU too: peers beside this one)\n"
    "  --row-seconds N    what a row of streams may take at most (10): else a prefix of it is measured\n"
    "\n";

const char bench_examples[] =
    "multisplit and sort:\n"
    "  --experiment NAME  of multisplit: methods (each method and rival against the number of buckets), "
    "inputs "
    "(auto on\n"
    "                     skewed keys), sizes (auto against n): these if none is named; patterns (auto on "
    "keys "
    "as tables\n"
    "                     have them), functions (each kind of bucket function); all. Of sort: sort if none "
    "is "
    "named;\n"
    "                     patterns; primitives (compaction, runs, histogram, sums); all\n"
    "  --n, --buckets     entries (64M: 64 million), 1 to 65536\n"
    "  --width KV         bits of keys and payload: 32/0, 32/32, 64/0, 64/32, 64/64, 32/96 (three columns)\n"
    "  --input NAME,...   uniform, skewed (nine of ten in one bucket), binomial, equal, sorted; patterns: "
    "ascending,\n"
    "                     descending, stride-16, stride-256, values-100, values-1000000, cycle-1000, "
    "steps-64,\n"
    "                     nearly-sorted\n"
    "  --method NAME,...  of multisplit: auto, unordered, direct, warp, block, look-back, reserved, digits\n"
    "  --peers DIR        where the peers' programs are (default: peers beside this program); 'none': run "
    "none,\n"
    "                     nor the rivals\n"
    "\n"
    "set:\n"
    "  --experiment NAME  real, dense, skewed, contains, build, small (batches of small sets), density, "
    "containing, threads,\n"
    "                     working (sets that change); all\n"
    "  --data DIR         of real and containing: folders of texts, a set each\n"
    "\n"
    "table:\n"
    "  --experiment NAME  groups, joins (these if none is named), sweep (joins by size, share of matches, "
    "rows "
    "a key); all\n"
    "  --n, --k           rows (10M; 100K with --quick), and values of the few keys of groups (100,10,2)\n"
    "  --query NAME,...   q1, q2, q3, q4, q5, q7, q10 of groups, j1 to j5 of joins (all of these); sd, "
    "nunique "
    "of groups\n"
    "  --input NAME,...   plain, sorted, nulls (one of twenty)\n"
    "  --text NAME,...    strings as dictionary, utf8\n"
    "  --method NAME,...  how the sweep's joins look up: auto, dense, partitioned, factor\n"
    "\n"
    "count:\n"
    "  --bytes N          of FASTQ to make (default: 1G; 30M with --quick); --depth N (30), --error RATE "
    "(0.01), --seed N\n"
    "  --reads FILE       reads to count; made there if there is none, and kept\n"
    "  --kmer K           1 to 32 (default: 21)\n"
    "\n"
    "examples:\n"
    "  cohort bench limits --device cpu --json limits.json\n"
    "  cohort bench map --n 128M --load 0.5,0.8,0.9 --width 32/32,64/64 --json map.json --plot map.svg\n"
    "  cohort bench set --device cpu --threads 1 --json set.json\n"
    "  cohort bench table --threads 2 --n 1M --experiment groups --query q1,q10\n"
    "  cohort bench compare before.json after.json\n";

static const struct bench_command {
    const char *name;
    int (*run)(int argc, char **argv, fault *fault);
} commands[] = {
    {"limits", bench_limits_main},         {"map", bench_map_main},     {"hopscotch", bench_hopscotch_main},
    {"multisplit", bench_multisplit_main}, {"sort", bench_sort_main},   {"set", bench_set_main},
    {"table", bench_table_main},           {"count", bench_count_main}, {"show", bench_show_main},
    {"compare", bench_compare_main},       {"pages", bench_pages_main}};

int bench_main(int argc, char **argv, fault *fault)
{
    if (!argc)
        return fault_set(fault, CLI_BAD_INPUT,
                         "what is to be measured? limits, map, hopscotch, multisplit, sort, set, table or "
                         "count (cohort bench "
                         "--help tells more)");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(argv[0], commands[i].name))
            return commands[i].run(argc - 1, argv + 1, fault);
    return fault_set(
        fault, CLI_BAD_INPUT,
        "%s: no such measurement (limits, map, hopscotch, multisplit, sort, set, table, count, show, "
        "compare, pages; cohort "
        "bench --help tells more)",
        argv[0]);
}
