// The talk's experiment by others: two sets drawn evenly from 10 million, as sorted arrays (std::set_intersection) and as bitmaps
// of all (boost::dynamic_bitset, if its header is here); how many they share, what they share, and that written out.
#include "peer.hpp"

#include "../set_inputs.h"
#if __has_include(<boost/dynamic_bitset.hpp>)
#    include <boost/dynamic_bitset.hpp>
#    include <boost/version.hpp>
#endif

#include <iterator>

namespace
{

using Members = std::vector<std::uint32_t>;

volatile std::uint64_t sink;

struct Run {
    peer::Report report;
    peer::Options options;

    template <class Work>
    void measure(const char *name, std::uint64_t each, const char *peer, const char *version, Work work)
    {
        double items = 2.0 * static_cast<double>(SET_UNIVERSE / each);
        unsigned repeat = items > 1e6 ? 1 : 5;
        peer::Row row{name, "1/" + std::to_string(each) + " of 10,000,000", items * repeat, {}};
        peer::time_runs(options, row, repeat, work);
        options.n = 1;
        options.width = "32";
        report.add(options, 1, row, peer, version);
    }
};

// Counts what is put down.
struct Counter {
    using iterator_category = std::output_iterator_tag;
    using value_type = void;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = void;
    std::uint64_t count = 0;
    Counter &operator*() { return *this; }
    Counter &operator++() { return *this; }
    Counter &operator++(int) { return *this; }
    Counter &operator=(std::uint32_t)
    {
        count++;
        return *this;
    }
};

void arrays(Run &r, std::uint64_t each, const Members &a, const Members &b)
{
    const char *name = "std::set_intersection", *version = __VERSION__;
    Members out(a.size());
    r.measure("set and count", each, name, version,
              [&] { sink = std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), Counter()).count; });
    r.measure("set and", each, name, version, [&] {
        Members both(a.size());
        both.resize(static_cast<std::size_t>(
            std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), both.begin()) - both.begin()));
        sink = both.size();
    });
    r.measure("set and export", each, name, version, [&] {
        sink = static_cast<std::uint64_t>(
            std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), out.begin()) - out.begin());
    });
}

#if __has_include(<boost/dynamic_bitset.hpp>)
void bitsets(Run &r, std::uint64_t each, const Members &a, const Members &b)
{
    const char *name = "boost::dynamic_bitset", *version = BOOST_LIB_VERSION;
    boost::dynamic_bitset<std::uint64_t> x(SET_UNIVERSE), y(SET_UNIVERSE);
    Members out(a.size());
    for (std::uint32_t member : a)
        x.set(member);
    for (std::uint32_t member : b)
        y.set(member);
    r.measure("set and count", each, name, version, [&] { sink = (x & y).count(); });
    r.measure("set and", each, name, version, [&] { sink = (x & y).size(); });
    r.measure("set and export", each, name, version, [&] {
        auto both = x & y;
        std::size_t n = 0;
        for (auto at = both.find_first(); at != both.npos; at = both.find_next(at))
            out[n++] = static_cast<std::uint32_t>(at);
        sink = n;
    });
}
#else
void bitsets(Run &, std::uint64_t, const Members &, const Members &) {}
#endif

} // namespace

int main(int argc, char **argv)
{
    Run r;
    r.options = peer::options_read(argc, argv);
    if (r.options.experiment != "set density")
        return 0;
    for (std::uint64_t each : set_densities_each) {
        Members sets[2];
        for (std::uint64_t s = 0; s < 2; s++)
            for (std::uint64_t i = 0; i < SET_UNIVERSE / each; i++)
                sets[s].push_back(set_even_member(s, each, i));
        arrays(r, each, sets[0], sets[1]);
        bitsets(r, each, sets[0], sets[1]);
    }
}
