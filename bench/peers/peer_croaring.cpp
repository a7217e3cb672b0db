// CRoaring: the experiments of `bench set`, one core. Its sources, roaring.c and roaring.h, are what scripts/deps.sh --bench brings.
#include "peer.hpp"

#include "../set_inputs.h"
#include "../set_texts.h"
#include <roaring.h>

#include <cstring>

namespace
{

using Set = roaring_bitmap_t;
using Two = Set *(*)(const Set *, const Set *);
using Count = uint64_t (*)(const Set *, const Set *);

struct Run {
    peer::Report report;
    peer::Options options;
    const char *data = nullptr;
    int quick = 0;

    template <class Work>
    void measure(const std::string &name, const std::string &keys, std::uint64_t n, double items, unsigned repeat, Work work)
    {
        peer::Row row{name, keys, items * repeat, {}};
        peer::time_runs(options, row, repeat, work);
        options.n = n;
        options.width = "32";
        report.add(options, 1, row, "CRoaring", ROARING_VERSION);
    }
};

volatile std::uint64_t sink;

const struct {
    const char *name;
    Two two;
    Count count;
} ops[] = {{"and", roaring_bitmap_and, roaring_bitmap_and_cardinality},
           {"or", roaring_bitmap_or, roaring_bitmap_or_cardinality},
           {"andnot", roaring_bitmap_andnot, roaring_bitmap_andnot_cardinality},
           {"xor", roaring_bitmap_xor, roaring_bitmap_xor_cardinality}};

// Each set and the next one.
void measure_ops(Run &r, const std::vector<Set *> &sets, const std::string &keys, double items, int first, int end)
{
    std::uint64_t n = sets.size() - 1;
    unsigned repeat = items > 1e6 ? 1 : 5;
    for (int op = first; op < end; op++) {
        r.measure(std::string("set ") + ops[op].name, keys, n, items, repeat, [&] {
            for (std::size_t i = 0; i < n; i++)
                roaring_bitmap_free(ops[op].two(sets[i], sets[i + 1]));
        });
        r.measure(std::string("set ") + ops[op].name + " count", keys, n, items, repeat, [&] {
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < n; i++)
                sum += ops[op].count(sets[i], sets[i + 1]);
            sink = sum;
        });
    }
}

void free_all(std::vector<Set *> &sets)
{
    for (Set *set : sets)
        roaring_bitmap_free(set);
    sets.clear();
}

void measure_open(Run &r, const std::vector<Set *> &sets, const std::string &keys)
{
    std::vector<std::vector<char>> blobs;
    for (Set *set : sets) {
        blobs.emplace_back(roaring_bitmap_portable_size_in_bytes(set));
        roaring_bitmap_portable_serialize(set, blobs.back().data());
    }
    r.measure("set open", keys, sets.size(), static_cast<double>(sets.size()), 5, [&] {
        std::vector<Set *> opened;
        for (auto &blob : blobs) {
            Set *set = roaring_bitmap_portable_deserialize_safe(blob.data(), blob.size());
            const char *why = nullptr;
            if (!set || !roaring_bitmap_internal_validate(set, &why))
                std::exit(1);
            opened.push_back(set);
        }
        free_all(opened);
    });
}

/* The sets of each real collection. */
template <class Each> void each_real(Run &r, Each each)
{
    struct dirent **names = nullptr;
    int found = r.data ? scandir(r.data, &names, set_is_name, alphasort) : 0;
    for (int f = 0; f < found; f++) {
        set_texts t;
        if (!set_texts_read(&t, r.data, names[f]->d_name))
            continue;
        std::vector<Set *> sets;
        for (std::uint64_t s = 0; s < t.sets; s++) {
            sets.push_back(roaring_bitmap_of_ptr(t.offsets[s + 1] - t.offsets[s], t.member + t.offsets[s]));
            roaring_bitmap_run_optimize(sets.back());
        }
        each(t, sets);
        free_all(sets);
        set_texts_free(&t);
    }
}

void real(Run &r)
{
    each_real(r, [&](const set_texts &t, std::vector<Set *> &sets) {
        measure_ops(r, sets, t.name, static_cast<double>(t.sets - 1), 0, 4);
        r.measure("set or many", t.name, 1, 1, 5, [&] {
            roaring_bitmap_free(roaring_bitmap_or_many(sets.size(), const_cast<const Set **>(sets.data())));
        });
        measure_open(r, sets, t.name);
    });
}

void dense(Run &r, const set_sizes &sizes)
{
    std::vector<Set *> sets;
    std::vector<std::uint32_t> members;
    for (std::uint64_t s = 0; s < 2; s++) {
        sets.push_back(roaring_bitmap_create());
        for (std::uint64_t word = 0; word < sizes.dense_bits / 64; word += 1024) {
            members.clear();
            for (std::uint64_t i = word; i < word + 1024; i++)
                for (std::uint64_t w = set_dense_word(s, i); w; w &= w - 1)
                    members.push_back(static_cast<std::uint32_t>(i * 64 + static_cast<unsigned>(__builtin_ctzll(w))));
            roaring_bitmap_add_many(sets[s], members.size(), members.data());
        }
    }
    measure_ops(r, sets, "half of all", static_cast<double>(sizes.dense_bits), 0, 1);
    free_all(sets);
}

void skewed(Run &r)
{
    for (std::uint64_t skew = 1; skew <= 64; skew *= skew == 1 ? 8 : 2) {
        std::vector<Set *> sets;
        std::uint64_t small = SET_LARGE / skew;
        for (std::uint64_t s = 0; s < 2; s++) {
            std::vector<std::uint32_t> members;
            for (std::uint64_t i = 0, count = s ? small : SET_LARGE; i < SET_CHUNKS_SKEWED * count; i++)
                members.push_back(set_spread_member(s, i / count, count, i % count));
            sets.push_back(roaring_bitmap_of_ptr(members.size(), members.data()));
        }
        measure_ops(r, sets, "arrays 1:" + std::to_string(skew), static_cast<double>(SET_CHUNKS_SKEWED * (SET_LARGE + small)), 0,
                    skew == 1 ? 4 : 1);
        free_all(sets);
    }
}

// The talk's: sets drawn evenly; and with the members written out.
void density(Run &r)
{
    for (std::uint64_t each : set_densities_each) {
        std::uint64_t n = SET_UNIVERSE / each;
        std::vector<Set *> sets;
        std::vector<std::uint32_t> members(n), out(n);
        for (std::uint64_t s = 0; s < 2; s++) {
            for (std::uint64_t i = 0; i < n; i++)
                members[i] = set_even_member(s, each, i);
            sets.push_back(roaring_bitmap_of_ptr(n, members.data()));
        }
        std::string keys = "1/" + std::to_string(each) + " of 10,000,000";
        double items = static_cast<double>(2 * n);
        measure_ops(r, sets, keys, items, 0, 1);
        r.measure("set and export", keys, 1, items, items > 1e6 ? 1 : 5, [&] {
            Set *both = roaring_bitmap_and(sets[0], sets[1]);
            roaring_bitmap_to_uint32_array(both, out.data());
            roaring_bitmap_free(both);
        });
        free_all(sets);
    }
}

void contains(Run &r, const set_sizes &sizes)
{
    std::uint64_t n = sizes.looked_into, step = bench_step(n);
    std::vector<std::uint32_t> members(n), values(sizes.lookups);
    for (std::uint64_t i = 0; i < n; i++)
        members[i] = static_cast<std::uint32_t>(bench_key(i, 4));
    for (std::uint64_t i = 0; i < sizes.lookups; i++)
        values[i] = set_lookup(i, n, step);
    std::sort(members.begin(), members.end());
    Set *set = roaring_bitmap_of_ptr(n, members.data());
    std::vector<std::uint8_t> hit((sizes.lookups + 7) / 8);
    r.measure("set contains", "half there", sizes.lookups, static_cast<double>(sizes.lookups), 1, [&] {
        std::fill(hit.begin(), hit.end(), static_cast<std::uint8_t>(0));
        for (std::uint64_t i = 0; i < sizes.lookups; i++)
            hit[i / 8] = static_cast<std::uint8_t>(hit[i / 8] | roaring_bitmap_contains(set, values[i]) << i % 8);
    });
    roaring_bitmap_free(set);
}

// Which sets contain each value: all are asked.
void find_all(Run &r, const std::vector<Set *> &sets, const std::string &keys, const std::vector<std::uint32_t> &values)
{
    std::vector<std::uint64_t> found, offsets(values.size() + 1);
    double items = static_cast<double>(values.size()) * static_cast<double>(sets.size());
    r.measure("set containing", keys, values.size(), items, 1, [&] {
        found.clear();
        for (std::size_t i = 0; i < values.size(); i++) {
            offsets[i] = found.size();
            for (std::size_t s = 0; s < sets.size(); s++)
                if (roaring_bitmap_contains(sets[s], values[i]))
                    found.push_back(s);
        }
        offsets[values.size()] = found.size();
    });
}

template <class Fill> void containing_made(Run &r, const char *keys, std::uint64_t n, std::uint64_t values, std::uint64_t universe, Fill fill)
{
    std::vector<std::uint32_t> members(SET_SMALL_MOST), asked(values);
    std::vector<Set *> sets;
    for (std::uint64_t s = 0; s < n; s++)
        sets.push_back(roaring_bitmap_of_ptr(fill(s, members.data()), members.data()));
    for (std::uint64_t i = 0; i < values; i++)
        asked[i] = static_cast<std::uint32_t>(set_asked_value(i, universe));
    find_all(r, sets, keys, asked);
    free_all(sets);
}

void containing(Run &r, const set_sizes &sizes)
{
    containing_made(r, "small sets", SET_SMALL, SET_VALUES_SMALL, 1 << 20, set_small_fill);
    containing_made(r, "sets of 2.3 members", sizes.tiny, SET_VALUES_TINY, SET_TINY_UNIVERSE, set_tiny_fill);
    each_real(r, [&](const set_texts &t, std::vector<Set *> &sets) {
        std::vector<std::uint32_t> asked(SET_VALUES_REAL);
        for (std::uint64_t i = 0; i < asked.size(); i++)
            asked[i] = t.member[set_asked_value(i, t.members)];
        find_all(r, sets, t.name, asked);
    });
}

void build(Run &r, const set_sizes &sizes)
{
    std::uint64_t n = sizes.unsorted;
    std::vector<std::uint32_t> members(n);
    for (std::uint64_t i = 0; i < n; i++)
        members[i] = static_cast<std::uint32_t>(bench_key(i, 4));
    if (n > 20000000)
        r.options.runs = 1; // it takes half a minute
    r.measure("set build", "in no order", n, static_cast<double>(n), 1, [&] {
        Set *set = roaring_bitmap_create();
        roaring_bitmap_add_many(set, n, members.data());
        roaring_bitmap_free(set);
    });
}

} // namespace

int main(int argc, char **argv)
{
    Run r;
    r.options = peer::options_read(argc, argv);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--data"))
            r.data = argv[i + 1];
        if (!std::strcmp(argv[i], "--quick"))
            r.quick = std::atoi(argv[i + 1]);
    }
    set_sizes sizes = set_sizes_of(r.quick);
    const std::string &name = r.options.experiment;
    if (name == "set real")
        real(r);
    else if (name == "set dense")
        dense(r, sizes);
    else if (name == "set skewed")
        skewed(r);
    else if (name == "set contains")
        contains(r, sizes);
    else if (name == "set containing")
        containing(r, sizes);
    else if (name == "set density")
        density(r);
    else if (name == "set build")
        build(r, sizes);
}
