// libcuckoo's map: two buckets of four slots a key, a spin lock for each of many stripes of buckets.
#include "peer_mix.hpp"

#include <libcuckoo/cuckoohash_map.hh>

template <class K, class V> class Cuckoo
{
  public:
    using Thread = peer::NoThread;
    static constexpr const char *name = "libcuckoo";
    static const char *version() { return "Debian"; }
    explicit Cuckoo(std::uint64_t n) : inner(n) {}
    bool insert(K key, V value) { return !inner.insert(key, value); }
    bool find(K key, V &value) const { return inner.find(key, value); }
    bool contains(K key) const { return inner.contains(key); }
    bool erase(K key) { return inner.erase(key); }

  private:
    libcuckoo::cuckoohash_map<K, V> inner;
};

int main(int argc, char **argv)
{
    peer::Options options = peer::options_read(argc, argv);
    peer::Report report;
    peer::measure_mixes<Cuckoo>(report, options);
}
