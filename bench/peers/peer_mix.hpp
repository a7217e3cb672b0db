// peer_mix.hpp: the streams of `cohort bench hopscotch` (mix.h) on the maps of others, with every answer
// checked.
//
// A map has: Map(room), insert, find, erase, contains, which answer whether the key was in before; and what
// threads do at their beginning and end (enter, leave), where that is not nothing. A stream's operations are
// shared out to the threads in equal parts.
//
// A stream that would take a peer too long is cut: a first sample of its operations is timed, and if all runs
// would take longer than --bound seconds by it, there are fewer runs (which the row says), and a prefix of the
// stream is measured. The row says of how many operations ("prefix"), and has the n of the whole stream, beside
// whose rows it stands.
#ifndef COHORT_BENCH_PEER_MIX_HPP
#define COHORT_BENCH_PEER_MIX_HPP

#include "peer.hpp"

#include "../mix.h"

namespace peer
{

// A key of 16 bytes.
struct Wide {
    std::uint64_t low, high;
    bool operator==(const Wide &other) const { return low == other.low && high == other.high; }
    explicit operator unsigned long() const { return low; }
};

template <class K> K mix_key_of(std::uint64_t index)
{
    if constexpr (sizeof(K) == 16)
        return {bench_key(index, 8), bench_key_high(index)};
    else
        return static_cast<K>(bench_key(index, sizeof(K)));
}

struct MixKind {
    const char *name, *keys;
    std::uint32_t inserts, erases;
    mix_keys of;
};

inline const std::vector<MixKind> &mix_kinds()
{
    static const std::vector<MixKind> kinds = {{"mix find", "all there", 0, 0, MIX_THERE},
                                               {"mix find", "none there", 0, 0, MIX_ABSENT},
                                               {"mix 20/20/60", "half there", 20, 20, MIX_ALL},
                                               {"mix 40/40/20", "half there", 40, 40, MIX_ALL}};
    return kinds;
}

template <class K, class V> struct Stream {
    mix m;
    std::vector<std::uint32_t> drawn;
    std::vector<std::uint8_t> op, hit;
    std::vector<K> key;
    std::vector<V> value, result;
    Stream(const Options &o, const MixKind &kind)
        : m(mix_make(o.n, o.range, o.exponent)), drawn(o.n), op(o.n), hit(o.n), key(o.n), value(o.n),
          result(o.n)
    {
        m.inserts = kind.inserts;
        m.erases = kind.erases;
        m.keys = kind.of;
        for (std::uint64_t i = 0; i < o.n; i++) {
            std::uint64_t index = mix_index(&m, i);
            drawn[i] = static_cast<std::uint32_t>(index);
            op[i] = static_cast<std::uint8_t>(mix_op(&m, i));
            key[i] = mix_key_of<K>(index);
            value[i] = static_cast<V>(bench_value(index));
        }
        m.drawn = drawn.data();
    }
    Stream(const Stream &) = delete;
};

// Which keys are in at the end is asked by all threads, eight keys of a byte by one of them.
template <class Map, class K, class V>
const char *mix_wrong(Team &team, const Options &o, const Stream<K, V> &s, Map &map)
{
    std::vector<std::uint8_t> hit(o.n / 8 + 1), after(o.range / 8 + 1);
    std::atomic<std::uint64_t> size{0};
    for (std::uint64_t i = 0; i < o.n; i++)
        hit[i / 8] = static_cast<std::uint8_t>(hit[i / 8] | s.hit[i] << (i % 8));
    team.run(after.size(), [&](std::uint64_t first, std::uint64_t last) {
        typename Map::Thread here;
        std::uint64_t in = 0;
        for (std::uint64_t k = 8 * first; k < std::min(8 * last, o.range); k++)
            if (map.contains(mix_key_of<K>(k))) {
                after[k / 8] = static_cast<std::uint8_t>(after[k / 8] | 1u << (k % 8));
                in++;
            }
        size += in;
    });
    mix_answers answers = {hit.data(), s.result.data(), after.data(), size, sizeof(V)};
    return mix_check(&s.m, &answers);
}

// The half of the range that is in when a stream begins; its seconds.
template <class Map, class K, class V> double mix_fill(Team &team, const Options &o, Map &map)
{
    return team.run(o.range / 2, [&](std::uint64_t first, std::uint64_t last) {
        typename Map::Thread here;
        for (std::uint64_t i = first; i < last; i++)
            map.insert(mix_key_of<K>(2 * i), static_cast<V>(bench_value(2 * i)));
    });
}

// The first n operations of the stream; their seconds.
template <class Map, class K, class V> double mix_do(Team &team, Stream<K, V> &s, Map &map, std::uint64_t n)
{
    return team.run(n, [&](std::uint64_t first, std::uint64_t last) {
        typename Map::Thread here;
        for (std::uint64_t i = first; i < last; i++)
            s.hit[i] = s.op[i] == MIX_FIND     ? map.find(s.key[i], s.result[i])
                       : s.op[i] == MIX_INSERT ? map.insert(s.key[i], s.value[i])
                                               : map.erase(s.key[i]);
    });
}

// Seconds since it was made.
class Watch
{
  public:
    double read() const
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

  private:
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

// How much of a row's work is done, so that it takes at most o.bound seconds by what a sample of the first
// operations took: as many runs as a half of that pays tables for, one at least, and of the stream what fits
// into the other half, or into what the tables leave, but not less than the sample. Lookups share one table.
// The sample's table is that of the run which warms up.
template <class Map, class K, class V>
std::unique_ptr<Map> mix_cut(Team &team, Options &o, Stream<K, V> &s, const MixKind &kind)
{
    const std::uint64_t sample = std::min<std::uint64_t>(o.n, 1 << 14);
    const Watch watch;
    auto map = std::make_unique<Map>(o.room);
    mix_fill<Map, K, V>(team, o, *map);
    const double filled = watch.read(),
                 each = mix_do<Map, K, V>(team, s, *map, sample) / static_cast<double>(sample),
                 table = kind.inserts ? filled : 0;
    while (o.runs > 1 && table * static_cast<double>(o.runs + 1) > o.bound / 2)
        o.runs--;
    const double runs = static_cast<double>(o.runs + 1),
                 left = std::max(o.bound / runs - table, o.bound / runs / 2);
    if (each * static_cast<double>(o.n) > left)
        o.n = std::max(sample, std::min(o.n, static_cast<std::uint64_t>(left / each)));
    s.m.n = o.n;
    return map;
}

template <class Map, class K, class V>
void measure_mix(Report &report, const Options &given, const MixKind &kind)
{
    Stream<K, V> s(given, kind);
    Team team(given.threads);
    Options o = given;
    std::unique_ptr<Map> map = mix_cut<Map, K, V>(team, o, s, kind);
    Row row{kind.name, kind.keys, static_cast<double>(o.n), {}, o.n < given.n};
    mix_do<Map, K, V>(team, s, *map, o.n); // the warm-up
    for (std::uint64_t run = 0; run < o.runs; run++) {
        if (kind.inserts) {
            map = nullptr;
            map = std::make_unique<Map>(o.room);
            mix_fill<Map, K, V>(team, o, *map);
        }
        row.seconds.push_back(std::max(mix_do<Map, K, V>(team, s, *map, o.n), 1e-9));
    }
    const char *wrong = mix_wrong<Map, K, V>(team, o, s, *map);
    if (wrong) {
        std::fprintf(stderr, "%s, %s: %s\n", Map::name, kind.name, wrong);
        std::exit(1);
    }
    report.add(given, o.threads, row, Map::name, Map::version());
}

// Map is a template of key and value.
template <template <class, class> class Map> void measure_mixes(Report &report, const Options &o)
{
    if (o.experiment != "mixes")
        return;
    for (const MixKind &kind : mix_kinds()) {
        if (o.rows.find(kind.inserts ? 'm' : 'f') == std::string::npos)
            continue;
        if (o.width == "32/32")
            measure_mix<Map<std::uint32_t, std::uint32_t>, std::uint32_t, std::uint32_t>(report, o, kind);
        else if (o.width == "128/64")
            measure_mix<Map<Wide, std::uint64_t>, Wide, std::uint64_t>(report, o, kind);
        else
            measure_mix<Map<std::uint64_t, std::uint64_t>, std::uint64_t, std::uint64_t>(report, o, kind);
    }
}

struct NoThread {
    NoThread() {}
};

} // namespace peer

// The bench's keys are random already: a word of one is its hash, as std::hash has it of 8 bytes.
template <> struct std::hash<peer::Wide> {
    std::size_t operator()(const peer::Wide &key) const noexcept { return key.low; }
};

#endif
