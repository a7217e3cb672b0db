// The tables of rivals_kernels.h on a GPU, for `cohort bench hopscotch --experiment static`: built from n
// pairs of 32/32 in a power of two of slots, at least n / 0.8 of them, and read: keys that are there, and
// keys that are not. Keys, orders and clock are those of our own rows. A table that refuses a pair is
// cleared and built with another seed, which is part of its time. Every answer is checked.
#include "peer_gpu.cuh"

#include "rivals_kernels.h"

using namespace peer;

typedef void (*Kernel)(const rivals_args);

struct Rival {
    const char *name;
    Kernel build, retrieve;
};
static const Rival rivals[] = {{"linear", rivals_linear_build, rivals_linear_retrieve},
                               {"quadratic", rivals_quadratic_build, rivals_quadratic_retrieve},
                               {"cuckoo", rivals_cuckoo_build, rivals_cuckoo_retrieve}};

static constexpr int tries = 10;

// Values are keys here, as in our own rows.
__global__ void columns_make(std::uint64_t n, std::uint64_t step, co_u32 *keys, co_u32 *queries,
                             co_u32 *absent)
{
    std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
    if (i >= n)
        return;
    keys[i] = static_cast<co_u32>(bench_key(i, 4));
    queries[i] = static_cast<co_u32>(bench_key(bench_other(i, n, step), 4));
    absent[i] = static_cast<co_u32>(bench_key(i + n, 4));
}

__global__ void answers_check(std::uint64_t n, const co_u32 *keys, const co_u32 *results, int there,
                              co_u32 *wrong)
{
    std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
    if (i < n && results[i] != (there ? keys[i] : 0))
        atomicAdd(wrong, 1);
}

class Table
{
  public:
    explicit Table(const Options &options)
        : o(options), log(log_of(options.n)), slots(std::uint64_t{1} << log), keys(o.n), queries(o.n),
          absent(o.n), results(o.n), flag(1), table(slots)
    {
        columns_make<<<blocks(), 256>>>(o.n, bench_step(o.n), keys.data(), queries.data(), absent.data());
        must(cudaDeviceSynchronize(), "keys");
        must(cudaEventCreate(&start), "an event");
        must(cudaEventCreate(&stop), "an event");
    }
    ~Table()
    {
        cudaEventDestroy(start);
        cudaEventDestroy(stop);
    }

    // Seconds of each run, after one that is not counted.
    std::vector<double> builds(const Rival &rival)
    {
        std::vector<double> seconds;
        for (std::uint64_t run = 0; run <= o.runs; run++) {
            double once = build(rival);
            if (run)
                seconds.push_back(once);
        }
        std::sort(seconds.begin(), seconds.end());
        return seconds;
    }

    std::vector<double> retrieves(const Rival &rival, bool there)
    {
        must(cudaMemset(results.data(), 0x5a, o.n * 4), "results");
        auto seconds = timed(o, [&] {
            rival.retrieve<<<blocks(), 256>>>(args((there ? queries : absent).data()));
            return cudaGetLastError();
        });
        must(cudaMemset(flag.data(), 0, 4), "check");
        answers_check<<<blocks(), 256>>>(o.n, queries.data(), results.data(), there, flag.data());
        if (told()) {
            std::fprintf(stderr, "%s: %u lookups are wrong\n", rival.name, told());
            std::exit(1);
        }
        return seconds;
    }

  private:
    const Options &o;
    co_u32 log;
    std::uint64_t slots, seed = 0;
    Array<co_u32> keys, queries, absent, results, flag;
    Array<co_u64> table;
    cudaEvent_t start, stop;

    static co_u32 log_of(std::uint64_t n)
    {
        co_u32 log = 2;
        while ((std::uint64_t{4} << log) / 5 < n)
            log++;
        return log;
    }

    unsigned blocks() const { return static_cast<unsigned>((o.n + 255) / 256); }

    rivals_args args(const co_u32 *asked)
    {
        return {table.data(), asked, keys.data(), results.data(),   flag.data(),
                o.n,          seed,  log,         RIVALS_CHAIN(log)};
    }

    co_u32 told()
    {
        co_u32 word;
        must(cudaMemcpy(&word, flag.data(), 4, cudaMemcpyDeviceToHost), "the peer");
        return word;
    }

    void clear()
    {
        must(cudaMemsetAsync(table.data(), 0, 8 * slots), "slots");
        must(cudaMemsetAsync(flag.data(), 0, 4), "slots");
    }

    // Of an empty table; what a refused one takes counts, clearing it too.
    double build(const Rival &rival)
    {
        double seconds = 0;
        seed = 0;
        for (int i = 0; i < tries; i++) {
            float ms = 0;
            if (!i) {
                clear();
                must(cudaDeviceSynchronize(), "slots"); // as before each of our own runs
            }
            must(cudaEventRecord(start), "an event");
            if (i)
                clear();
            rival.build<<<blocks(), 256>>>(args(keys.data()));
            must(cudaEventRecord(stop), "an event");
            must(cudaEventSynchronize(stop), "the peer");
            must(cudaEventElapsedTime(&ms, start, stop), "an event");
            seconds += 1e-3 * ms;
            if (!told())
                return std::max(seconds, 1e-9);
            seed += 0x9e3779b97f4a7c15ull;
        }
        std::fprintf(stderr, "%s: a pair found no place %d times\n", rival.name, tries);
        std::exit(1);
    }
};

int main(int argc, char **argv)
{
    Options o = options_read(argc, argv);
    Report report;
    if (o.experiment != "static" || !o.n || o.width != "32/32")
        return 0;
    Table table(o);
    for (const Rival &rival : rivals) {
        auto row = [&](const char *name, const char *keys, const std::vector<double> &seconds) {
            report.add(o, name, o.width, keys, "", 0, seconds, rival.name, "");
        };
        row("static build", "distinct", table.builds(rival));
        row("static retrieve", "all there", table.retrieves(rival, true));
        row("static absent", "none there", table.retrieves(rival, false));
    }
}
