// boost::unordered_flat_map.
#include "peer.hpp"

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/version.hpp>

template <class K, class V> struct Flat : peer::Usual<boost::unordered_flat_map<K, V>, K, V> {
    using peer::Usual<boost::unordered_flat_map<K, V>, K, V>::Usual;
    static constexpr const char *name = "boost::unordered_flat_map";
    static const char *version() { return BOOST_LIB_VERSION; }
};

int main(int argc, char **argv)
{
    peer::Options options = peer::options_read(argc, argv);
    peer::Report report;
    peer::measure_width<Flat>(report, options);
}
