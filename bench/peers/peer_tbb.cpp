// tbb::concurrent_hash_map, whose every operation may run beside any other, and tbb::concurrent_unordered_map, whose inserts
// and finds may; tbb::parallel_sort.
#include "peer_mix.hpp"

#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_unordered_map.h>
#include <tbb/global_control.h>
#include <tbb/parallel_sort.h>
#include <tbb/version.h>

template <class K, class V> class Hash
{
  public:
    static constexpr bool concurrent_inserts = true, concurrent_updates = true;
    static constexpr const char *name = "tbb::concurrent_hash_map";
    static const char *version() { return TBB_VERSION_STRING; }
    explicit Hash(std::uint64_t n) : inner(n) {}
    void insert(K key, V value) { inner.insert({key, value}); }
    void find(K key, V &value) const
    {
        typename Inner::const_accessor at;
        if (inner.find(at, key))
            value = at->second;
    }
    bool contains(K key) const { return inner.count(key) != 0; }
    void assign(K key, V value)
    {
        typename Inner::accessor at;
        inner.insert(at, key);
        at->second = value;
    }
    void add(K key, V value)
    {
        typename Inner::accessor at;
        inner.insert(at, key);
        at->second += value;
    }
    void erase(K key) { inner.erase(key); }
    template <class Visit> void each(Visit visit) const
    {
        for (const auto &pair : inner)
            visit(pair.first, pair.second);
    }

  private:
    using Inner = tbb::concurrent_hash_map<K, V>;
    Inner inner;
};

template <class K, class V> struct Unordered : peer::Usual<tbb::concurrent_unordered_map<K, V>, K, V> {
    using Base = peer::Usual<tbb::concurrent_unordered_map<K, V>, K, V>;
    using Base::Base;
    static constexpr bool concurrent_inserts = true;
    static constexpr const char *name = "tbb::concurrent_unordered_map";
    static const char *version() { return TBB_VERSION_STRING; }
    void erase(K key) { Base::inner.unsafe_erase(key); }
};

// The first of them, with answers that tell what was there.
template <class K, class V> class Told
{
  public:
    using Thread = peer::NoThread;
    static constexpr const char *name = "tbb::concurrent_hash_map";
    static const char *version() { return TBB_VERSION_STRING; }
    explicit Told(std::uint64_t n) : inner(n) {}
    bool insert(K key, V value) { return !inner.insert({key, value}); }
    bool find(K key, V &value) const
    {
        typename Inner::const_accessor at;
        bool hit = inner.find(at, key);
        if (hit)
            value = at->second;
        return hit;
    }
    bool contains(K key) const { return inner.count(key) != 0; }
    bool erase(K key) { return inner.erase(key); }

  private:
    using Inner = tbb::concurrent_hash_map<K, V>;
    Inner inner;
};

int main(int argc, char **argv)
{
    peer::Options options = peer::options_read(argc, argv);
    peer::Report report;
    peer::measure_width<Hash>(report, options);
    peer::measure_width<Unordered>(report, options);
    peer::measure_mixes<Told>(report, options);
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism, options.threads);
    peer::measure_sort(
        report, options, options.threads, [](auto &v) { tbb::parallel_sort(v.begin(), v.end()); },
        "tbb::parallel_sort", TBB_VERSION_STRING);
}
