// Randomised insertion, one of the rivals in Ashkiani et al., "GPU Multisplit": a bucket is given twice the
// room that its keys need; each key goes to a random place of its bucket's room, and on from there while
// places are taken; what is empty is squeezed out at the end. Unordered. The sizes come from a histogram,
// which the time includes. Pairs travel as 8-byte words and stay so at the end.
#include <cub/cub.cuh>
#include <thrust/iterator/transform_iterator.h>

#include "peer_gpu.cuh"

using namespace peer;

static constexpr std::uint64_t room = 2;

template <class T> struct Filled {
    __host__ __device__ bool operator()(const T &entry) const { return entry != static_cast<T>(~T{0}); }
};

struct Bucket {
    std::uint32_t range;
    __host__ __device__ int operator()(std::uint32_t key) const { return static_cast<int>(key / range); }
};

// T is the key, or the key with its value below it. No entry is all ones: such a key is left for the end,
// where it belongs.
template <class T>
__global__ void insert(std::uint64_t n, Bucket bucket, const std::uint32_t *keys, const std::uint32_t *values,
                       const std::uint64_t *starts, T *places)
{
    std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; i < n;
         i += step) {
        std::uint32_t key = keys[i];
        T entry = key, empty = static_cast<T>(~T{0});
        if constexpr (sizeof(T) == 8)
            entry = static_cast<std::uint64_t>(key) << 32 | values[i];
        if (entry == empty)
            continue;
        int b = bucket(key);
        std::uint64_t first = room * starts[b], size = room * starts[b + 1] - first;
        for (std::uint64_t at = bench_mix_64(i) % size;
             atomicCAS(&places[first + at], empty, entry) != empty;)
            at = at + 1 < size ? at + 1 : 0;
    }
}

// How many entries are not in a bucket's range at `starts`.
template <class T>
__global__ void misplaced(std::uint64_t n, Bucket bucket, const std::uint64_t *starts, const T *entries,
                          unsigned long long *wrong)
{
    std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; i < n;
         i += step) {
        std::uint64_t entry = entries[i];
        int b = bucket(static_cast<std::uint32_t>(sizeof(T) == 8 ? entry >> 32 : entry));
        if (i < starts[b] || i >= starts[b + 1])
            atomicAdd(wrong, 1);
    }
}

template <class T> void measure(const Options &o, Report &report)
{
    Array<std::uint32_t> keys(o.n), values(sizeof(T) == 8 ? o.n : 1), counts(65537);
    Array<std::uint64_t> starts(65537), chosen(2);
    Array<T> places(room * o.n), out(o.n);
    Array<char> workspace;
    must(cudaMemset(values.data(), 0x5a, sizeof(T) == 8 ? 4 * o.n : 4), "values");
    for (bench_input input : o.inputs)
        for (std::uint64_t m : o.buckets) {
            if (m < 2)
                continue;
            keys_fill(keys, o.n, input, m);
            Bucket bucket = {static_cast<std::uint32_t>(bench_range(m))};
            auto ids = thrust::make_transform_iterator(keys.data(), bucket);
            std::size_t bytes[3] = {0, 0, 0};
            auto count = [&](void *work) {
                return cub::DeviceHistogram::HistogramEven(work, bytes[0], ids, counts.data(),
                                                           static_cast<int>(m) + 1, 0, static_cast<int>(m),
                                                           static_cast<long long>(o.n));
            };
            auto sum = [&](void *work) {
                return cub::DeviceScan::ExclusiveSum(work, bytes[1], counts.data(), starts.data(),
                                                     static_cast<int>(m) + 1);
            };
            auto squeeze = [&](void *work) {
                return cub::DeviceSelect::If(work, bytes[2], places.data(), out.data(), chosen.data(),
                                             room * o.n, Filled<T>());
            };
            must(count(nullptr), "workspace");
            must(sum(nullptr), "workspace");
            must(squeeze(nullptr), "workspace");
            workspace.ensure(std::max({bytes[0], bytes[1], bytes[2]}) + 1);
            must(cudaMemset(counts.data(), 0, 4 * 65537), "counts");
            auto seconds = timed(o, [&] {
                must(count(workspace.data()), "histogram");
                must(sum(workspace.data()), "sum");
                must(cudaMemsetAsync(places.data(), 0xff, room * o.n * sizeof(T)), "places");
                insert<T>
                    <<<4096, 256>>>(o.n, bucket, keys.data(), values.data(), starts.data(), places.data());
                must(cudaMemsetAsync(out.data(), 0xff, o.n * sizeof(T)), "out");
                return squeeze(workspace.data());
            });
            unsigned long long wrong;
            auto *to = reinterpret_cast<unsigned long long *>(chosen.data() + 1);
            must(cudaMemset(to, 0, 8), "check");
            misplaced<T><<<4096, 256>>>(o.n, bucket, starts.data(), out.data(), to);
            must(cudaMemcpy(&wrong, to, 8, cudaMemcpyDeviceToHost), "check");
            if (wrong) {
                std::fprintf(stderr, "randomised insertion: %llu entries in wrong buckets\n", wrong);
                std::exit(1);
            }
            report.add(o, "multisplit", o.width, bench_input_names[input], "buckets", static_cast<double>(m),
                       seconds, "randomised insertion", "room for twice as many");
        }
}

int main(int argc, char **argv)
{
    Options o = options_read(argc, argv);
    Report report;
    if (o.experiment == "multisplit" && o.n && o.width == "32/0")
        measure<std::uint32_t>(o, report);
    else if (o.experiment == "multisplit" && o.n && o.width == "32/32")
        measure<unsigned long long>(o, report);
}
