// peer_mix.hpp: the streams of `cohort bench hopscotch` (mix.h) on the maps of others, with every answer
// checked.
//
// A map has: Map(room), insert, find, erase, contains, which answer whether the key was in before; and what
// threads do at their beginning and end (enter, leave), where that is not nothing. A stream's operations are
// shared out to the threads in equal parts.
#ifndef COHORT_BENCH_PEER_MIX_HPP
#define COHORT_BENCH_PEER_MIX_HPP

#include "peer.hpp"

#include "../mix.h"

namespace peer
{

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
    std::vector<std::uint8_t> op, hit;
    std::vector<K> key;
    std::vector<V> value, result;
    Stream(const Options &o, const MixKind &kind)
        : m(mix_make(o.n, o.range, o.exponent)), op(o.n), hit(o.n), key(o.n), value(o.n), result(o.n)
    {
        m.inserts = kind.inserts;
        m.erases = kind.erases;
        m.keys = kind.of;
        for (std::uint64_t i = 0; i < o.n; i++) {
            std::uint64_t index = mix_index(&m, i);
            op[i] = static_cast<std::uint8_t>(mix_op(&m, i));
            key[i] = static_cast<K>(bench_key(index, sizeof(K)));
            value[i] = static_cast<V>(bench_value(index));
        }
    }
};

template <class Map, class K, class V>
const char *mix_wrong(const Options &o, const Stream<K, V> &s, Map &map)
{
    std::vector<std::uint8_t> hit(o.n / 8 + 1), after(o.range / 8 + 1);
    std::uint64_t size = 0;
    typename Map::Thread here;
    for (std::uint64_t i = 0; i < o.n; i++)
        hit[i / 8] = static_cast<std::uint8_t>(hit[i / 8] | s.hit[i] << (i % 8));
    for (std::uint64_t k = 0; k < o.range; k++) {
        unsigned in = map.contains(static_cast<K>(bench_key(k, sizeof(K))));
        after[k / 8] = static_cast<std::uint8_t>(after[k / 8] | in << (k % 8));
        size += in;
    }
    mix_answers answers = {hit.data(), s.result.data(), after.data(), size, sizeof(V)};
    return mix_check(&s.m, &answers);
}

template <class Map, class K, class V> void measure_mix(Report &report, const Options &o, const MixKind &kind)
{
    Stream<K, V> s(o, kind);
    Team team(o.threads);
    Row row{kind.name, kind.keys, static_cast<double>(o.n), {}};
    for (std::uint64_t run = 0; run <= o.runs; run++) {
        Map map(o.room);
        team.run(o.range / 2, [&](std::uint64_t first, std::uint64_t last) {
            typename Map::Thread here;
            for (std::uint64_t i = first; i < last; i++)
                map.insert(static_cast<K>(bench_key(2 * i, sizeof(K))), static_cast<V>(bench_value(2 * i)));
        });
        double seconds = team.run(o.n, [&](std::uint64_t first, std::uint64_t last) {
            typename Map::Thread here;
            for (std::uint64_t i = first; i < last; i++)
                s.hit[i] = s.op[i] == MIX_FIND     ? map.find(s.key[i], s.result[i])
                           : s.op[i] == MIX_INSERT ? map.insert(s.key[i], s.value[i])
                                                   : map.erase(s.key[i]);
        });
        if (run) // the first was the warm-up
            row.seconds.push_back(std::max(seconds, 1e-9));
        const char *wrong = run == o.runs ? mix_wrong<Map, K, V>(o, s, map) : nullptr;
        if (wrong) {
            std::fprintf(stderr, "%s, %s: %s\n", Map::name, kind.name, wrong);
            std::exit(1);
        }
    }
    report.add(o, o.threads, row, Map::name, Map::version());
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
        else
            measure_mix<Map<std::uint64_t, std::uint64_t>, std::uint64_t, std::uint64_t>(report, o, kind);
    }
}

struct NoThread {
    NoThread() {}
};

} // namespace peer

#endif
