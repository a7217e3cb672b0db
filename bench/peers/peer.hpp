// peer.hpp: what the peers' programs share: arguments, keys (those of our own bench), threads, timing, rows as JSON.
//
// One run fills a map and then goes through all operations, each timed; the figures are those of several runs. With more
// than one thread only operations are measured that the peer allows from several threads at once.
#ifndef COHORT_BENCH_PEER_HPP
#define COHORT_BENCH_PEER_HPP

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../inputs.h"

namespace peer
{

struct Options {
    std::string experiment = "map", width = "64/64", device = "cpu", input = "uniform";
    std::string rows = "fm"; // of mixes: f finds, m mixed streams
    std::uint64_t n = 1 << 20, runs = 3, range = 1 << 20, room = 1 << 20;
    double exponent = 0, bound = 1e9; // of mixes: seconds that a row's runs may take
    unsigned threads = 1;
};

inline Options options_read(int argc, char **argv)
{
    Options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string name = argv[i], value = argv[i + 1];
        if (name == "--experiment")
            o.experiment = value;
        else if (name == "--width")
            o.width = value;
        else if (name == "--n")
            o.n = std::strtoull(argv[i + 1], nullptr, 10);
        else if (name == "--runs")
            o.runs = std::strtoull(argv[i + 1], nullptr, 10);
        else if (name == "--threads")
            o.threads = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
        else if (name == "--device")
            o.device = value;
        else if (name == "--input")
            o.input = value;
        else if (name == "--rows")
            o.rows = value;
        else if (name == "--range")
            o.range = std::strtoull(argv[i + 1], nullptr, 10);
        else if (name == "--room")
            o.room = std::strtoull(argv[i + 1], nullptr, 10);
        else if (name == "--exponent")
            o.exponent = std::strtod(argv[i + 1], nullptr);
        else if (name == "--bound")
            o.bound = std::strtod(argv[i + 1], nullptr);
        else if (name != "--buckets" && name != "--data" && name != "--quick") {
            std::fprintf(stderr, "%s: no such option\n", argv[i]);
            std::exit(2);
        }
    }
    return o;
}

// A number of threads that wait for work; each gets a share of [0, n).
class Team
{
  public:
    explicit Team(unsigned threads) : count(threads), gate(threads)
    {
        for (unsigned i = 1; i < threads; i++)
            members.emplace_back([this, i] {
                for (;;) {
                    gate.arrive_and_wait();
                    if (!work)
                        return;
                    work(total * i / count, total * (i + 1) / count);
                    gate.arrive_and_wait();
                }
            });
    }
    ~Team()
    {
        work = nullptr;
        if (count > 1)
            gate.arrive_and_wait();
        for (auto &member : members)
            member.join();
    }
    // Seconds that the work took.
    double run(std::uint64_t n, std::function<void(std::uint64_t, std::uint64_t)> what)
    {
        work = std::move(what);
        total = n;
        auto start = std::chrono::steady_clock::now();
        if (count > 1)
            gate.arrive_and_wait();
        work(0, n / count);
        if (count > 1)
            gate.arrive_and_wait();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

  private:
    unsigned count;
    std::uint64_t total = 0;
    std::function<void(std::uint64_t, std::uint64_t)> work;
    std::barrier<> gate;
    std::vector<std::thread> members;
};

// ---- rows -----------------------------------------------------------------------------------------------------------

struct Row {
    std::string name, keys;
    double items;
    std::vector<double> seconds;
    bool prefix = false; // of a longer stream
};

// The seconds of each run, of `repeat` calls, go into the row; a run before them warms up.
template <class Work> void time_runs(const Options &o, Row &row, unsigned repeat, Work work)
{
    for (std::uint64_t run = 0; run <= o.runs; run++) {
        auto start = std::chrono::steady_clock::now();
        for (unsigned i = 0; i < repeat; i++)
            work();
        double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (run)
            row.seconds.push_back(std::max(seconds, 1e-9));
    }
}

class Report
{
  public:
    Report() { std::printf("{\"rows\": ["); }
    ~Report() { std::printf("\n]}\n"); }
    void add(const Options &o, unsigned threads, Row row, const char *peer, const char *version)
    {
        std::sort(row.seconds.begin(), row.seconds.end());
        std::size_t runs = row.seconds.size();
        char prefix[64] = ""; // not all of the entries were measured
        if (row.prefix)
            std::snprintf(prefix, sizeof prefix, "\"extras\": {\"prefix\": %.6g}, ", row.items);
        std::printf(
            "%s\n {\"name\": \"%s\", \"width\": \"%s\", \"keys\": \"%s\", \"n\": %llu, \"threads\": %u, "
            "\"unit\": \"M/s\", \"scale\": 1e-6, \"median\": %.6g, \"least\": %.6g, \"most\": %.6g, "
            "\"runs\": %zu, "
            "%s\"peer\": {\"name\": \"%s\", \"version\": \"%s\"}}",
            rows++ ? "," : "", row.name.c_str(), o.width.c_str(), row.keys.c_str(),
            static_cast<unsigned long long>(o.n), threads, row.items / row.seconds[runs / 2],
            row.items / row.seconds[runs - 1], row.items / row.seconds[0], runs, prefix, peer, version);
    }

  private:
    std::size_t rows = 0;
};

// ---- the experiments --------------------------------------------------------------------------------------------------

template <class K, class V> struct Columns {
    std::uint64_t n;
    std::vector<K> keys, queries, half, absent;
    std::vector<V> results;
    explicit Columns(std::uint64_t count) : n(count), keys(n), queries(n), half(n), absent(n), results(n)
    {
        std::uint64_t step = bench_step(n);
        for (std::uint64_t i = 0; i < n; i++) {
            std::uint64_t other = bench_other(i, n, step);
            keys[i] = static_cast<K>(bench_key(i, sizeof(K)));
            queries[i] = static_cast<K>(bench_key(other, sizeof(K)));
            half[i] = static_cast<K>(bench_key(other + (i & 1 ? n : 0), sizeof(K)));
            absent[i] = static_cast<K>(bench_key(i + n, sizeof(K)));
        }
    }
};

template <class Map, class K, class V>
void measure_map(Report &report, const Options &o, unsigned threads, Columns<K, V> &c)
{
    Team team(threads);
    bool updates = threads == 1 || Map::concurrent_updates, inserts = threads == 1 || Map::concurrent_inserts;
    double n = static_cast<double>(o.n);
    std::vector<Row> rows = {{"map insert", "any wins", n, {}},    {"map find", "all there", n, {}},
                             {"map find", "half there", n, {}},    {"map find", "none there", n, {}},
                             {"map contains", "all there", n, {}}, {"map contains", "none there", n, {}},
                             {"map assign", "all there", n, {}},   {"map apply add", "all there", n, {}},
                             {"map erase", "all there", n, {}}};
    auto timed = [&](std::size_t row, auto what) {
        double seconds = team.run(o.n, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t i = first; i < last; i++)
                what(i);
        });
        rows[row].seconds.push_back(std::max(seconds, 1e-9));
    };
    std::uint64_t warm = o.runs > 1;
    for (std::uint64_t run = 0; run < o.runs + warm; run++) {
        if (run == 1)
            for (auto &row : rows)
                row.seconds.clear(); // the first was the warm-up
        auto map = std::make_unique<Map>(o.n);
        auto find = [&](const std::vector<K> &keys) {
            return [&](std::uint64_t i) { map->find(keys[i], c.results[i]); };
        };
        auto contains = [&](const std::vector<K> &keys) {
            return [&](std::uint64_t i) { c.results[i] = map->contains(keys[i]); };
        };
        if (inserts)
            timed(0, [&](std::uint64_t i) { map->insert(c.keys[i], static_cast<V>(c.keys[i])); });
        else
            for (std::uint64_t i = 0; i < o.n; i++)
                map->insert(c.keys[i], static_cast<V>(c.keys[i]));
        timed(1, find(c.queries));
        timed(2, find(c.half));
        timed(3, find(c.absent));
        timed(4, contains(c.queries));
        timed(5, contains(c.absent));
        if (updates) {
            timed(6, [&](std::uint64_t i) { map->assign(c.queries[i], static_cast<V>(c.keys[i])); });
            timed(7, [&](std::uint64_t i) { map->add(c.queries[i], static_cast<V>(c.keys[i])); });
            timed(8, [&](std::uint64_t i) { map->erase(c.queries[i]); });
        }
    }
    for (auto &row : rows)
        if (!row.seconds.empty())
            report.add(o, threads, row, Map::name, Map::version());
}

// 64 M inserts, 32 M deletes, and what is left taken out, from an empty map to its end.
template <class Map, class K, class V>
void measure_deletes(Report &report, const Options &o, Columns<K, V> &c)
{
    Row row{"deletes: end to end", "distinct", 1.5 * static_cast<double>(o.n), {}};
    std::uint64_t step = bench_step(o.n / 2);
    for (std::uint64_t i = 0; i < o.n / 2; i++)
        c.queries[i] = static_cast<K>(bench_key(2 * bench_other(i, o.n / 2, step), sizeof(K)));
    for (std::uint64_t run = 0; run < o.runs; run++) {
        auto start = std::chrono::steady_clock::now();
        {
            Map map(o.n);
            for (std::uint64_t i = 0; i < o.n; i++)
                map.insert(c.keys[i], static_cast<V>(c.keys[i]));
            for (std::uint64_t i = 0; i < o.n / 2; i++)
                map.erase(c.queries[i]);
            std::uint64_t at = 0;
            map.each([&](K key, V value) { c.absent[at] = key, c.results[at++] = value; });
        }
        row.seconds.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    report.add(o, 1, row, Map::name, Map::version());
}

template <class Map, class K, class V> void measure(Report &report, const Options &o)
{
    Columns<K, V> c(o.n);
    if (o.experiment == "deletes") {
        measure_deletes<Map, K, V>(report, o, c);
        return;
    }
    measure_map<Map, K, V>(report, o, 1, c);
    if (o.threads > 1)
        measure_map<Map, K, V>(report, o, o.threads, c);
}

template <template <class, class> class Map> void measure_width(Report &report, const Options &o)
{
    if (o.experiment != "map" && o.experiment != "deletes")
        return; // nothing of ours
    if (o.width == "32/32")
        measure<Map<std::uint32_t, std::uint32_t>, std::uint32_t, std::uint32_t>(report, o);
    else if (o.width == "64/32")
        measure<Map<std::uint64_t, std::uint32_t>, std::uint64_t, std::uint32_t>(report, o);
    else
        measure<Map<std::uint64_t, std::uint64_t>, std::uint64_t, std::uint64_t>(report, o);
}

// What all maps with the interface of std::unordered_map have in common.
template <class Inner, class K, class V> class Usual
{
  public:
    static constexpr bool concurrent_inserts = false, concurrent_updates = false;
    explicit Usual(std::uint64_t n)
    {
        if (n > 64) // tbb's reserve (2021.8) does not return when it finds nothing to do
            inner.reserve(n);
    }
    void insert(K key, V value) { inner.insert({key, value}); }
    void find(K key, V &value) const
    {
        auto at = inner.find(key);
        if (at != inner.end())
            value = at->second;
    }
    bool contains(K key) const { return inner.find(key) != inner.end(); }
    void assign(K key, V value) { inner[key] = value; }
    void add(K key, V value) { inner[key] += value; }
    void erase(K key) { inner.erase(key); }
    template <class Visit> void each(Visit visit) const
    {
        for (const auto &pair : inner)
            visit(pair.first, pair.second);
    }

  protected:
    Inner inner;
};

// ---- sorts --------------------------------------------------------------------------------------------------------------

template <class T, class Sort>
void measure_sort_of(Report &report, const Options &o, unsigned threads, const std::vector<T> &in, Sort sort,
                     const char *peer, const char *version)
{
    std::vector<T> out;
    Row row{"sort", o.input, static_cast<double>(o.n), {}};
    for (std::uint64_t run = 0; run <= o.runs; run++) {
        out = in;
        auto start = std::chrono::steady_clock::now();
        sort(out);
        double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (run)
            row.seconds.push_back(std::max(seconds, 1e-9));
    }
    report.add(o, threads, row, peer, version);
}

template <class K> struct Pair {
    K key, value;
};
template <class K> bool operator<(const Pair<K> &a, const Pair<K> &b)
{
    return a.key < b.key;
}

template <class K> std::vector<K> sort_keys(const Options &o)
{
    std::vector<K> keys(o.n);
    bench_keys of = {INPUT_UNIFORM, sizeof(K), o.n, 256, nullptr};
    for (int input = 0; input < INPUTS; input++)
        if (o.input == bench_input_names[input])
            of.input = static_cast<bench_input>(input);
    std::vector<std::uint16_t> law(BENCH_LAW);
    bench_binomial(law.data(), of.buckets);
    of.law = law.data();
    for (std::uint64_t i = 0; i < o.n; i++)
        keys[i] = static_cast<K>(bench_input_key(&of, i));
    return keys;
}

// Keys, or pairs as one array of structs; `sort` takes a vector of either.
template <class K, class Sort>
void measure_sort_width(Report &report, const Options &o, unsigned threads, Sort sort, const char *peer,
                        const char *version)
{
    std::vector<K> keys = sort_keys<K>(o);
    if (o.width == "32/0" || o.width == "64/0") {
        measure_sort_of(report, o, threads, keys, sort, peer, version);
        return;
    }
    std::vector<Pair<K>> pairs(o.n);
    for (std::uint64_t i = 0; i < o.n; i++)
        pairs[i] = {keys[i], static_cast<K>(i)};
    measure_sort_of(report, o, threads, pairs, sort, peer, version);
}

template <class Sort>
void measure_sort(Report &report, const Options &o, unsigned threads, Sort sort, const char *peer,
                  const char *version)
{
    if (o.experiment != "sort" || o.device != "cpu")
        return;
    if (o.width == "32/0" || o.width == "32/32")
        measure_sort_width<std::uint32_t>(report, o, threads, sort, peer, version);
    else if (o.width == "64/0" || o.width == "64/64")
        measure_sort_width<std::uint64_t>(report, o, threads, sort, peer, version);
}

} // namespace peer

#endif
