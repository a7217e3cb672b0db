// std::unordered_map and std::sort of the compiler's library.
#include "peer.hpp"

#include <unordered_map>

template <class K, class V> struct Map : peer::Usual<std::unordered_map<K, V>, K, V> {
    using peer::Usual<std::unordered_map<K, V>, K, V>::Usual;
    static constexpr const char *name = "std::unordered_map";
    static const char *version()
    {
        static const std::string text = "libstdc++ " + std::to_string(_GLIBCXX_RELEASE);
        return text.c_str();
    }
};

int main(int argc, char **argv)
{
    peer::Options options = peer::options_read(argc, argv);
    peer::Report report;
    peer::measure_width<Map>(report, options);
    peer::measure_sort(
        report, options, 1, [](auto &v) { std::sort(v.begin(), v.end()); }, "std::sort",
        Map<std::uint32_t, std::uint32_t>::version());
}
