// absl::flat_hash_map.
#include "peer.hpp"

#include <absl/base/config.h>
#include <absl/container/flat_hash_map.h>

template <class K, class V> struct Map : peer::Usual<absl::flat_hash_map<K, V>, K, V> {
    using peer::Usual<absl::flat_hash_map<K, V>, K, V>::Usual;
    static constexpr const char *name = "absl::flat_hash_map";
    static const char *version()
    {
        static const std::string text =
            std::to_string(ABSL_LTS_RELEASE_VERSION) + "." + std::to_string(ABSL_LTS_RELEASE_PATCH_LEVEL);
        return text.c_str();
    }
};

int main(int argc, char **argv)
{
    peer::Options options = peer::options_read(argc, argv);
    peer::Report report;
    peer::measure_width<Map>(report, options);
}
