// peer_gpu.cuh: what the peers' programs on a GPU share: arguments, keys (those of our own bench, made on the GPU), timing by
// events, rows as JSON.
#ifndef COHORT_BENCH_PEER_GPU_CUH
#define COHORT_BENCH_PEER_GPU_CUH

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define BENCH_INLINE static inline __host__ __device__
#include "../inputs.h"

namespace peer
{

inline void must(cudaError_t error, const char *doing)
{
    if (error) {
        std::fprintf(stderr, "%s: %s\n", doing, cudaGetErrorString(error));
        std::exit(1);
    }
}

struct Options {
    std::string experiment = "multisplit", width = "32/0", device = "cuda";
    std::uint64_t n = 1 << 20, runs = 3;
    std::vector<std::uint64_t> buckets = {2, 256};
    std::vector<bench_input> inputs = {INPUT_UNIFORM};
};

inline std::vector<std::string> words_of(const std::string &list)
{
    std::vector<std::string> words(1);
    for (char c : list)
        if (c == ',')
            words.emplace_back();
        else
            words.back() += c;
    return words;
}

inline Options options_read(int argc, char **argv)
{
    Options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string name = argv[i], value = argv[i + 1];
        if (name == "--experiment")
            o.experiment = value;
        else if (name == "--width")
            o.width = value;
        else if (name == "--n")
            o.n = std::strtoull(argv[i + 1], nullptr, 10);
        else if (name == "--runs")
            o.runs = std::strtoull(argv[i + 1], nullptr, 10);
        else if (name == "--device")
            o.device = value;
        else if (name == "--buckets") {
            o.buckets.clear();
            for (auto &word : words_of(value))
                o.buckets.push_back(std::strtoull(word.c_str(), nullptr, 10));
        } else if (name == "--input") {
            o.inputs.clear();
            for (auto &word : words_of(value))
                for (int input = 0; input < INPUTS; input++)
                    if (word == bench_input_names[input])
                        o.inputs.push_back(static_cast<bench_input>(input));
        } else if (name != "--threads" && name != "--data" && name != "--quick") {
            std::fprintf(stderr, "%s: no such option\n", argv[i]);
            std::exit(2);
        }
    }
    if (o.device != "cuda")
        o.experiment = "none of ours";
    return o;
}

// ---- device memory and keys -------------------------------------------------------------------------------------------

template <class T> class Array
{
  public:
    explicit Array(std::uint64_t n = 0) : count(n)
    {
        if (n)
            must(cudaMalloc(&memory, n * sizeof(T)), "memory for the peer");
    }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    ~Array()
    {
        if (memory)
            cudaFree(memory);
    }
    void ensure(std::uint64_t n)
    {
        if (n <= count)
            return;
        cudaFree(memory);
        memory = nullptr;
        must(cudaMalloc(&memory, n * sizeof(T)), "memory for the peer");
        count = n;
    }
    T *data() { return static_cast<T *>(memory); }

  private:
    void *memory = nullptr;
    std::uint64_t count;
};

template <class K> __global__ void keys_make(bench_keys of, K *keys)
{
    std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; i < of.n;
         i += step)
        keys[i] = static_cast<K>(bench_input_key(&of, i));
}

template <class K> void keys_fill(Array<K> &keys, std::uint64_t n, bench_input input, std::uint64_t buckets)
{
    Array<std::uint16_t> law(BENCH_LAW);
    if (input == INPUT_BINOMIAL) {
        std::vector<std::uint16_t> host(BENCH_LAW);
        bench_binomial(host.data(), buckets);
        must(cudaMemcpy(law.data(), host.data(), BENCH_LAW * 2, cudaMemcpyHostToDevice), "the binomial law");
    }
    bench_keys of = {input, sizeof(K), n, buckets, law.data()};
    keys_make<<<4096, 256>>>(of, keys.data());
    must(cudaDeviceSynchronize(), "keys");
}

// ---- timing and rows --------------------------------------------------------------------------------------------------

// Seconds of each run of `work`, after one that is not counted; what is over too soon is called several times in one run.
template <class Work> std::vector<double> timed(const Options &o, Work work)
{
    std::uint64_t enough = 1 << 23,
                  repeat =
                      o.n >= enough
                          ? 1
                          : std::max<std::uint64_t>(
                                1, std::min<std::uint64_t>(64, enough / std::max<std::uint64_t>(o.n, 1)));
    std::vector<double> seconds;
    cudaEvent_t start, stop;
    must(cudaEventCreate(&start), "an event");
    must(cudaEventCreate(&stop), "an event");
    for (std::uint64_t run = 0; run <= o.runs; run++) {
        float ms = 0;
        must(cudaEventRecord(start), "an event");
        for (std::uint64_t i = 0; i < repeat; i++)
            must(work(), "the peer");
        must(cudaEventRecord(stop), "an event");
        must(cudaEventSynchronize(stop), "the peer");
        must(cudaEventElapsedTime(&ms, start, stop), "an event");
        if (run)
            seconds.push_back(std::max(1e-3 * ms / static_cast<double>(repeat), 1e-9));
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

class Report
{
  public:
    Report() { std::printf("{\"rows\": ["); }
    ~Report() { std::printf("\n]}\n"); }
    // `at` is what the row's place is called, "" if it has none. items: of one run, if they are not n.
    void add(const Options &o, const char *name, const std::string &width, const char *keys,
             const char *at_name, double at, const std::vector<double> &seconds, const char *peer,
             const std::string &version, double items = 0)
    {
        std::size_t runs = seconds.size();
        double n = items > 0 ? items : static_cast<double>(o.n);
        char place[96] = "";
        if (*at_name)
            std::snprintf(place, sizeof place, "\"at_name\": \"%s\", \"at\": %g, ", at_name, at);
        std::printf(
            "%s\n {\"name\": \"%s\", \"width\": \"%s\", \"keys\": \"%s\", %s\"n\": %llu, \"unit\": \"G/s\", "
            "\"scale\": 1e-9, \"median\": %.6g, \"least\": %.6g, \"most\": %.6g, \"runs\": %zu, "
            "\"peer\": {\"name\": \"%s\", \"version\": \"%s\"}}",
            rows++ ? "," : "", name, width.c_str(), keys, place, static_cast<unsigned long long>(o.n),
            n / seconds[runs / 2], n / seconds[runs - 1], n / seconds[0], runs, peer, version.c_str());
        std::fflush(stdout);
    }

  private:
    std::size_t rows = 0;
};

} // namespace peer

#endif
