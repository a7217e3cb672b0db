// CUB, from the headers of the toolkit that compiles this: what people use in place of a multisplit (a radix
// sort of the bits that name the bucket; DevicePartition for two), and its sort, select, histogram, scan and
// sum.
//
// Buckets are ranges of the keys. Where their number is a power of two they are the topmost bits, and a sort
// of these bits is the whole work. Else labels are computed first and sorted with the keys along (the
// "reduced-bit sort" of Ashkiani et al.). Of DevicePartition the second part comes out in reverse order.
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>

#include "peer_gpu.cuh"

using namespace peer;

static std::string version()
{
    char text[64];
    std::snprintf(text, sizeof text, "%d.%d.%d", CUB_VERSION / 100000, CUB_VERSION / 100 % 1000,
                  CUB_VERSION % 100);
    return text;
}

static Array<char> workspace;

// CUB's calls come in two: how much workspace, and the work.
template <class Call> std::vector<double> measured(const Options &o, Call call)
{
    std::size_t bytes = 0;
    must(call(nullptr, bytes), "workspace for CUB");
    workspace.ensure(bytes + 1);
    return timed(o, [&] { return call(workspace.data(), bytes); });
}

static int log2_of(std::uint64_t m)
{
    int log = 0;
    while ((std::uint64_t{1} << log) < m)
        log++;
    return log;
}

// ---- multisplit -------------------------------------------------------------------------------------------

struct Three {
    std::uint32_t a, b, c;
};

// CUB's sorts take one array of values: labels are sorted with keys and values in one, packed beforehand.
template <class K, class V> struct Pair {
    K key;
    V value;
};

template <class K> __global__ void labels_make(bench_keys of, const K *keys, std::uint16_t *labels)
{
    std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; i < of.n;
         i += step)
        labels[i] = static_cast<std::uint16_t>(bench_keys_bucket(&of, keys[i]));
}

template <class K> struct Below {
    __host__ __device__ bool operator()(const K &key) const { return key < (K{1} << (8 * sizeof(K) - 1)); }
};
template <class K, class V> struct BelowFirst {
    __host__ __device__ bool operator()(const thrust::tuple<K, V> &pair) const
    {
        return Below<K>()(thrust::get<0>(pair));
    }
};

template <class K, class V> struct Split {
    const Options &o;
    Report &report;
    Array<K> keys, keys_out;
    Array<V> values, values_out;
    static constexpr bool pairs = !std::is_same<V, cub::NullType>::value;

    Split(const Options &options, Report &to)
        : o(options), report(to), keys(o.n), keys_out(o.n), values(pairs ? o.n : 0),
          values_out(pairs ? o.n : 0)
    {
        if (pairs)
            must(cudaMemset(values.data(), 0x5a, o.n * sizeof(V)), "values");
    }

    void row(bench_input input, std::uint64_t m, const std::vector<double> &seconds, const char *peer)
    {
        report.add(o, "multisplit", o.width, bench_input_names[input], "buckets", static_cast<double>(m),
                   seconds, peer, version());
    }

    void by_bits(bench_input input, std::uint64_t m)
    {
        int low = bench_is_pattern(input) ? 0 : 8 * sizeof(K) - log2_of(m), high = low + log2_of(m);
        row(input, m,
            measured(o,
                     [&](void *work, std::size_t &bytes) {
                         if constexpr (pairs)
                             return cub::DeviceRadixSort::SortPairs(work, bytes, keys.data(), keys_out.data(),
                                                                    values.data(), values_out.data(), o.n,
                                                                    low, high);
                         else
                             return cub::DeviceRadixSort::SortKeys(work, bytes, keys.data(), keys_out.data(),
                                                                   o.n, low, high);
                     }),
            "CUB radix sort of the bits");
    }

    void by_labels(bench_input input, std::uint64_t m)
    {
        Array<std::uint16_t> labels(o.n), labels_out(o.n);
        bench_keys of = {input, sizeof(K), o.n, m, nullptr};
        if constexpr (pairs && sizeof(V) > 8)
            return;
        else if constexpr (pairs) {
            Array<Pair<K, V>> packed(o.n), packed_out(o.n);
            row(input, m,
                measured(o,
                         [&](void *work, std::size_t &bytes) {
                             if (work)
                                 labels_make<<<4096, 256>>>(of, keys.data(), labels.data());
                             return cub::DeviceRadixSort::SortPairs(work, bytes, labels.data(),
                                                                    labels_out.data(), packed.data(),
                                                                    packed_out.data(), o.n, 0, log2_of(m));
                         }),
                "CUB radix sort of labels");
        } else
            row(input, m,
                measured(o,
                         [&](void *work, std::size_t &bytes) {
                             if (work)
                                 labels_make<<<4096, 256>>>(of, keys.data(), labels.data());
                             return cub::DeviceRadixSort::SortPairs(work, bytes, labels.data(),
                                                                    labels_out.data(), keys.data(),
                                                                    keys_out.data(), o.n, 0, log2_of(m));
                         }),
                "CUB radix sort of labels");
    }

    void partition(bench_input input)
    {
        Array<std::uint64_t> chosen(1);
        if constexpr (!pairs)
            row(input, 2,
                measured(o,
                         [&](void *work, std::size_t &bytes) {
                             return cub::DevicePartition::If(work, bytes, keys.data(), keys_out.data(),
                                                             chosen.data(), o.n, Below<K>());
                         }),
                "CUB DevicePartition");
        else if constexpr (sizeof(V) <= 8)
            row(input, 2,
                measured(o,
                         [&](void *work, std::size_t &bytes) {
                             return cub::DevicePartition::If(
                                 work, bytes, thrust::make_zip_iterator(keys.data(), values.data()),
                                 thrust::make_zip_iterator(keys_out.data(), values_out.data()), chosen.data(),
                                 o.n, BelowFirst<K, V>());
                         }),
                "CUB DevicePartition");
    }

    void all()
    {
        for (bench_input input : o.inputs)
            for (std::size_t i = 0; i < o.buckets.size(); i++) {
                std::uint64_t m = o.buckets[i];
                if (!i || input == INPUT_BINOMIAL)
                    keys_fill(keys, o.n, input, m);
                if (m == 2 && !bench_is_pattern(input))
                    partition(input);
                if ((m & (m - 1)) == 0)
                    by_bits(input, m);
                else
                    by_labels(input, m);
            }
    }
};

// ---- sort -------------------------------------------------------------------------------------------------

template <class K, class V> void sort_all(const Options &o, Report &report)
{
    Split<K, V> s(o, report);
    for (bench_input input : o.inputs) {
        keys_fill(s.keys, o.n, input, 256);
        auto seconds = measured(o, [&](void *work, std::size_t &bytes) {
            if constexpr (s.pairs)
                return cub::DeviceRadixSort::SortPairs(work, bytes, s.keys.data(), s.keys_out.data(),
                                                       s.values.data(), s.values_out.data(), o.n);
            else
                return cub::DeviceRadixSort::SortKeys(work, bytes, s.keys.data(), s.keys_out.data(), o.n);
        });
        report.add(o, "sort", o.width, bench_input_names[input], "", 0, seconds, "CUB radix sort", version());
    }
}

// ---- compaction, runs, histogram, sums --------------------------------------------------------------------

template <class K> struct UpTo {
    K most;
    __host__ __device__ bool operator()(const K &key) const { return key <= most; }
};

template <class K> void compact_rows(const Options &o, Report &report, Array<K> &keys, Array<K> &out)
{
    Array<std::uint64_t> chosen(1);
    for (int percent : {10, 50, 90}) {
        UpTo<K> below = {static_cast<K>(static_cast<double>(static_cast<K>(~K{0})) * percent / 100)};
        auto seconds = measured(o, [&](void *work, std::size_t &bytes) {
            return cub::DeviceSelect::If(work, bytes, keys.data(), out.data(), chosen.data(), o.n, below);
        });
        report.add(o, "compact", o.width, "uniform", "percent kept", percent, seconds, "CUB DeviceSelect",
                   version());
    }
}

template <class K> void runs_rows(const Options &o, Report &report, Array<K> &keys, Array<K> &out)
{
    Array<std::uint64_t> total(1);
    for (bench_input input : {INPUT_ASCENDING, INPUT_STEPS_64}) {
        keys_fill(keys, o.n, input, 1);
        auto seconds = measured(o, [&](void *work, std::size_t &bytes) {
            return cub::DeviceSelect::Unique(work, bytes, keys.data(), out.data(), total.data(), o.n);
        });
        report.add(o, "runs", o.width, bench_input_names[input], "length", input == INPUT_ASCENDING ? 1 : 64,
                   seconds, "CUB DeviceSelect::Unique", version());
    }
}

template <class K> struct Upper {
    int shift;
    __host__ __device__ int operator()(const K &key) const { return static_cast<int>(key >> shift); }
};

template <class K> void histogram_rows(const Options &o, Report &report, Array<K> &keys)
{
    Array<std::uint32_t> bins(65536);
    for (bench_input input : {INPUT_SKEWED, INPUT_UNIFORM}) {
        keys_fill(keys, o.n, input, 256);
        for (std::uint64_t m : o.buckets) {
            if (m & (m - 1))
                continue;
            const int key_bits = static_cast<int>(8 * sizeof(K)), bins_count = static_cast<int>(m);
            auto ids = thrust::make_transform_iterator(keys.data(), Upper<K>{key_bits - log2_of(m)});
            auto seconds = measured(o, [&](void *work, std::size_t &bytes) {
                return cub::DeviceHistogram::HistogramEven(work, bytes, ids, bins.data(), bins_count + 1, 0,
                                                           bins_count, static_cast<long long>(o.n));
            });
            report.add(o, "histogram", o.width, bench_input_names[input], "buckets", static_cast<double>(m),
                       seconds, "CUB DeviceHistogram", version());
        }
    }
}

template <class K> void primitives(const Options &o, Report &report)
{
    Array<K> keys(o.n), out(o.n);
    Array<std::uint64_t> total(1);
    keys_fill(keys, o.n, INPUT_UNIFORM, 256);
    compact_rows(o, report, keys, out);
    runs_rows(o, report, keys, out);
    keys_fill(keys, o.n, INPUT_UNIFORM, 256);
    auto scan = measured(o, [&](void *work, std::size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(work, bytes, keys.data(), out.data(), o.n);
    });
    report.add(o, "scan", o.width, "uniform", "", 0, scan, "CUB DeviceScan", version());
    auto sum = measured(o, [&](void *work, std::size_t &bytes) {
        return cub::DeviceReduce::Sum(work, bytes, keys.data(), total.data(), o.n);
    });
    report.add(o, "reduce", o.width, "uniform", "", 0, sum, "CUB DeviceReduce", version());
    histogram_rows(o, report, keys);
}

int main(int argc, char **argv)
{
    Options o = options_read(argc, argv);
    Report report;
    using u32 = std::uint32_t;
    using u64 = std::uint64_t;
    using none = cub::NullType;
    if (o.experiment == "multisplit") {
        if (o.width == "32/0")
            Split<u32, none>(o, report).all();
        else if (o.width == "64/0")
            Split<u64, none>(o, report).all();
        else if (o.width == "32/32")
            Split<u32, u32>(o, report).all();
        else if (o.width == "64/64")
            Split<u64, u64>(o, report).all();
        else if (o.width == "32/96")
            Split<u32, Three>(o, report).all();
    } else if (o.experiment == "sort") {
        if (o.width == "32/0")
            sort_all<u32, none>(o, report);
        else if (o.width == "64/0")
            sort_all<u64, none>(o, report);
        else if (o.width == "32/32")
            sort_all<u32, u32>(o, report);
        else if (o.width == "64/64")
            sort_all<u64, u64>(o, report);
    } else if (o.experiment == "primitives") {
        if (o.width == "32/0")
            primitives<u32>(o, report);
        else if (o.width == "64/0")
            primitives<u64>(o, report);
    }
}
