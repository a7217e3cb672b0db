// CRoaring: the experiments of `bench set`, one core. Its sources, roaring.c and roaring.h, are what scripts/deps.sh --bench brings.
#include "peer.hpp"

#include "../set_inputs.h"
#include "../set_texts.h"
#include <roaring.h>

#include <cstring>
#include <malloc.h>

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
    void measure(const std::string &name, const std::string &keys, std::uint64_t n, double items,
                 unsigned repeat, Work work, bool prefix = false)
    {
        peer::Row row{name, keys, items * repeat, {}, prefix};
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
void measure_ops(Run &r, const std::vector<Set *> &sets, const std::string &keys, double items, int first,
                 int end)
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

// A dense set from bytes in Roaring's format, all of whose containers are bitmaps: to add half of 2^32 integers takes long.
Set *dense_set(std::uint64_t set, std::uint64_t bits)
{
    const std::uint64_t chunks = bits >> 16, head = 8 + chunks * 8;
    std::vector<char> bytes(head + bits / 8);
    auto put = [&](std::uint64_t at, std::uint64_t value, std::size_t size) {
        std::memcpy(&bytes[at], &value, size);
    };
    put(0, 12346, 4); // no runs
    put(4, chunks, 4);
    for (std::uint64_t chunk = 0; chunk < chunks; chunk++) {
        std::uint64_t members = 0;
        for (std::uint64_t i = 0; i < 1024; i++) {
            std::uint64_t word = set_dense_word(set, chunk * 1024 + i);
            members += static_cast<unsigned>(__builtin_popcountll(word));
            put(head + chunk * 8192 + i * 8, word, 8);
        }
        put(8 + chunk * 4, chunk, 2);
        put(10 + chunk * 4, members - 1, 2);
        put(8 + chunks * 4 + chunk * 4, head + chunk * 8192, 4);
    }
    return roaring_bitmap_portable_deserialize_safe(bytes.data(), bytes.size());
}

void dense(Run &r, const set_sizes &sizes)
{
    std::vector<Set *> sets = {dense_set(0, sizes.dense_bits), dense_set(1, sizes.dense_bits)};
    const double items = static_cast<double>(sizes.dense_bits);
    measure_ops(r, sets, "half of all", items, 0, 1);
    // from here on malloc keeps what it has had
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_MMAP_MAX, 0);
    r.measure("set and", "half of all, trimming off", 1, items, 1,
              [&] { roaring_bitmap_free(roaring_bitmap_and(sets[0], sets[1])); });
    free_all(sets);
}

void skewed(Run &r, std::uint64_t skew, bool drawn)
{
    std::vector<Set *> sets;
    std::uint64_t small = SET_LARGE / skew;
    for (std::uint64_t s = 0; s < 2; s++) {
        std::uint64_t count = s ? small : SET_LARGE;
        std::vector<std::uint32_t> members(SET_CHUNKS_SKEWED * count);
        for (std::uint64_t chunk = 0; chunk < SET_CHUNKS_SKEWED; chunk++)
            set_chunk_members(drawn, s, chunk, count, members.data() + chunk * count);
        sets.push_back(roaring_bitmap_of_ptr(members.size(), members.data()));
    }
    measure_ops(r, sets, "arrays 1:" + std::to_string(skew) + (drawn ? ", drawn" : ""),
                static_cast<double>(SET_CHUNKS_SKEWED * (SET_LARGE + small)), 0, skew == 1 ? 4 : 1);
    free_all(sets);
}

void skewed(Run &r)
{
    for (bool drawn : {false, true})
        for (std::uint64_t skew = 1; skew <= 64; skew *= skew == 1 ? 8 : 2)
            skewed(r, skew, drawn);
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
            hit[i / 8] =
                static_cast<std::uint8_t>(hit[i / 8] | roaring_bitmap_contains(set, values[i]) << i % 8);
    });
    roaring_bitmap_free(set);
}

// Which sets contain each value: all are asked. Of many values a part is measured, and told.
void find_all(Run &r, const std::vector<Set *> &sets, const std::string &keys,
              const std::vector<std::uint32_t> &values, std::uint64_t most)
{
    const std::uint64_t asked = std::min<std::uint64_t>(values.size(), most);
    const bool prefix = asked < values.size();
    std::vector<std::uint64_t> found, offsets(asked + 1), counts(asked);
    double items = static_cast<double>(asked) * static_cast<double>(sets.size());
    r.measure(
        "set containing", keys, values.size(), items, 1,
        [&] {
            found.clear();
            for (std::size_t i = 0; i < asked; i++) {
                offsets[i] = found.size();
                for (std::size_t s = 0; s < sets.size(); s++)
                    if (roaring_bitmap_contains(sets[s], values[i]))
                        found.push_back(s);
            }
            offsets[asked] = found.size();
        },
        prefix);
    r.measure(
        "set containing count", keys, values.size(), items, 1,
        [&] {
            for (std::size_t i = 0; i < asked; i++) {
                std::uint64_t count = 0;
                for (Set *set : sets)
                    count += roaring_bitmap_contains(set, values[i]);
                counts[i] = count;
            }
        },
        prefix);
}

// n sets, each as `fill` makes its members.
template <class Fill> std::vector<Set *> made(std::uint64_t n, Fill fill)
{
    std::vector<std::uint32_t> members(SET_SMALL_MOST);
    std::vector<Set *> sets;
    for (std::uint64_t s = 0; s < n; s++)
        sets.push_back(roaring_bitmap_of_ptr(fill(s, members.data()), members.data()));
    return sets;
}

// As many values, and then many.
template <class Fill>
void containing_made(Run &r, const char *keys, std::uint64_t n, std::uint64_t values, std::uint64_t many,
                     std::uint64_t universe, Fill fill)
{
    std::vector<Set *> sets = made(n, fill);
    for (std::uint64_t count : {values, many}) {
        std::vector<std::uint32_t> asked(count);
        for (std::uint64_t i = 0; i < count; i++)
            asked[i] = static_cast<std::uint32_t>(set_asked_value(i, universe));
        find_all(r, sets, keys, asked, count == values ? values : values / 4);
    }
    free_all(sets);
}

void containing(Run &r, const set_sizes &sizes)
{
    containing_made(r, "small sets", SET_SMALL, SET_VALUES_SMALL, SET_VALUES_SMALL_MANY, 1 << 20,
                    set_small_fill);
    containing_made(r, "sets of 2.3 members", sizes.tiny, SET_VALUES_TINY, SET_VALUES_TINY_MANY,
                    SET_TINY_UNIVERSE, set_tiny_fill);
    each_real(r, [&](const set_texts &t, std::vector<Set *> &sets) {
        std::vector<std::uint32_t> asked(SET_VALUES_REAL);
        for (std::uint64_t i = 0; i < asked.size(); i++)
            asked[i] = t.member[set_asked_value(i, t.members)];
        find_all(r, sets, t.name, asked, asked.size());
    });
}

// Batches of pairs of small sets: one pair after the other.
void small_batches(Run &r)
{
    std::vector<Set *> sets = made(SET_SMALL, set_small_fill);
    for (std::uint64_t rows = 1; rows <= SET_SMALL_BATCH; rows *= 10) {
        std::uint64_t repeat = SET_SMALL_BATCH / rows;
        auto operand = [&](std::uint64_t i) { return sets[set_small_operand(i)]; };
        std::vector<std::uint64_t> counts(rows);
        std::vector<Set *> answers(rows);
        r.measure("set and count", "small sets", rows, static_cast<double>(rows),
                  static_cast<unsigned>(repeat < 1000 ? repeat : 1000), [&] {
                      for (std::uint64_t i = 0; i < rows; i++)
                          counts[i] = roaring_bitmap_and_cardinality(operand(2 * i), operand(2 * i + 1));
                  });
        r.measure("set and", "small sets", rows, static_cast<double>(rows),
                  static_cast<unsigned>(repeat < 1000 ? repeat : 1000), [&] {
                      for (std::uint64_t i = 0; i < rows; i++)
                          answers[i] = roaring_bitmap_and(operand(2 * i), operand(2 * i + 1));
                      for (Set *answer : answers)
                          roaring_bitmap_free(answer);
                  });
    }
    free_all(sets);
}

// One set against each of many tiny ones; itself is the last.
void small_each(Run &r, std::uint64_t n)
{
    std::vector<std::uint32_t> all, one(SET_TINY_ASKED);
    std::vector<Set *> sets = made(n, [&](std::uint64_t set, std::uint32_t *to) {
        std::uint64_t count = set_tiny_fill(set, to);
        all.insert(all.end(), to, to + count);
        return count;
    });
    for (std::size_t i = 0; i < one.size(); i++)
        one[i] = all[i * (all.size() / one.size())];
    sets.push_back(roaring_bitmap_of_ptr(one.size(), one.data()));
    std::vector<std::uint64_t> counts(sets.size());
    r.measure("set and each count", "1,000 members and each set of 2.3", sets.size(),
              static_cast<double>(sets.size()), 1, [&] {
                  for (std::size_t i = 0; i < sets.size(); i++)
                      counts[i] = roaring_bitmap_and_cardinality(sets.back(), sets[i]);
              });
    free_all(sets);
}

// A set from integers in no order; AND into a set. A copy that is changed, and what is given back, are not timed.
void working(Run &r, const set_sizes &sizes)
{
    std::vector<std::uint32_t> members[2];
    Set *sets[2], *changed = roaring_bitmap_create();
    for (std::uint64_t s = 0; s < 2; s++) {
        for (std::uint64_t i = 0; i < sizes.working; i++)
            members[s].push_back(static_cast<std::uint32_t>(set_working_member(s, i)));
        sets[s] = roaring_bitmap_create();
        roaring_bitmap_add_many(sets[s], sizes.working, members[s].data());
    }
    auto timed = [&](const char *name, auto before, auto work) {
        peer::Row row{name, "", static_cast<double>(sizes.working), {}};
        for (std::uint64_t run = 0; run <= r.options.runs; run++) {
            roaring_bitmap_free(changed);
            changed = before();
            auto start = std::chrono::steady_clock::now();
            work();
            if (run)
                row.seconds.push_back(
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
        r.options.n = sizes.working;
        r.options.width = "32";
        for (const char *keys : {"in chunks", "flat"}) { // theirs is one kind
            row.keys = keys;
            r.report.add(r.options, 1, row, "CRoaring", ROARING_VERSION);
        }
    };
    timed(
        "set update add", [] { return roaring_bitmap_create(); },
        [&] { roaring_bitmap_add_many(changed, sizes.working, members[0].data()); });
    timed(
        "set and into", [&] { return roaring_bitmap_copy(sets[0]); },
        [&] { roaring_bitmap_and_inplace(changed, sets[1]); });
    timed(
        "set and to third", [] { return roaring_bitmap_create(); },
        [&] {
            roaring_bitmap_free(changed);
            changed = roaring_bitmap_and(sets[0], sets[1]);
        });
    for (Set *set : {sets[0], sets[1], changed})
        roaring_bitmap_free(set);
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
    else if (name == "set small") {
        small_batches(r);
        small_each(r, sizes.tiny);
    } else if (name == "set working")
        working(r, sizes);
    else if (name == "set build")
        build(r, sizes);
}
