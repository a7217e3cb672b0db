// A plain kernel that puts the words of two dense sets together: what memory alone allows, without chunks,
// counts or directories.
#include "peer_gpu.cuh"

#include "../set_inputs.h"

#include <cstring>

namespace
{

using namespace peer;

__global__ void fill(std::uint64_t set, std::uint64_t words, std::uint64_t *to)
{
    std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; i < words;
         i += step)
        to[i] = set_dense_word(set, i);
}

__global__ void both(std::uint64_t n, const uint4 *a, const uint4 *b, uint4 *to)
{
    std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; i < n;
         i += step) {
        uint4 x = a[i], y = b[i];
        to[i] = make_uint4(x.x & y.x, x.y & y.y, x.z & y.z, x.w & y.w);
    }
}

__global__ void count(std::uint64_t n, const uint4 *a, const uint4 *b, unsigned long long *sum)
{
    std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x, ones = 0;
    for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; i < n;
         i += step) {
        uint4 x = a[i], y = b[i];
        ones += __popc(x.x & y.x) + __popc(x.y & y.y) + __popc(x.z & y.z) + __popc(x.w & y.w);
    }
    for (int lane = 16; lane; lane /= 2)
        ones += __shfl_down_sync(~0u, ones, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, ones);
}

void dense(Options o, int quick)
{
    Report report;
    std::uint64_t bits = set_sizes_of(quick).dense_bits, words = bits / 64, n = words / 2;
    Array<std::uint64_t> sets[3] = {Array<std::uint64_t>(words), Array<std::uint64_t>(words),
                                    Array<std::uint64_t>(words)};
    Array<unsigned long long> sum(1);
    auto *a = reinterpret_cast<uint4 *>(sets[0].data()), *b = reinterpret_cast<uint4 *>(sets[1].data());
    auto *to = reinterpret_cast<uint4 *>(sets[2].data());
    for (std::uint64_t set = 0; set < 2; set++)
        fill<<<4096, 256>>>(set, words, sets[set].data());
    must(cudaMemset(sum.data(), 0, 8), "a sum");
    o.n = 1;
    o.width = "32";
    for (int blocks : {2048, 16384, 65536}) {
        std::string version = std::to_string(blocks) + " blocks";
        auto seconds = timed(o, [&] {
            both<<<blocks, 256>>>(n, a, b, to);
            return cudaGetLastError();
        });
        report.add(o, "set and", o.width, "half of all", "", 0, seconds, "plain kernel", version,
                   static_cast<double>(bits));
        seconds = timed(o, [&] {
            count<<<blocks, 256>>>(n, a, b, sum.data());
            return cudaGetLastError();
        });
        report.add(o, "set and count", o.width, "half of all", "", 0, seconds, "plain kernel", version,
                   static_cast<double>(bits));
    }
}

} // namespace

int main(int argc, char **argv)
{
    Options o = options_read(argc, argv);
    int quick = 0;
    for (int i = 1; i + 1 < argc; i += 2)
        if (!std::strcmp(argv[i], "--quick"))
            quick = std::atoi(argv[i + 1]);
    if (o.experiment == "set dense")
        dense(o, quick);
    else
        Report nothing;
}
