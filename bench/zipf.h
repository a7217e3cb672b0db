/* zipf.h: ranks by Zipf's law, rank r with probability proportional to (r + 1)^-s: rejection-inversion
 * (Hoermann and Derflinger, 1996). Entry i has its own stream of random numbers, so that any thread can
 * make it. */
#ifndef COHORT_BENCH_ZIPF_H
#define COHORT_BENCH_ZIPF_H

#include <math.h>

#include "keys.h"

typedef struct bench_zipf {
    uint64_t n;
    double s, low, high; /* the integral of x^-s at the ends */
} bench_zipf;

/* The integral of x^-s, and its inverse; both exact where s is near 1, too. */
static inline double bench_zipf_integral(double s, double x)
{
    double l = log(x), e = (1 - s) * l;
    return fabs(e) < 1e-9 ? l : expm1(e) / (1 - s);
}

static inline double bench_zipf_inverse(double s, double y)
{
    double t = y * (1 - s);
    return fabs(t) < 1e-9 ? exp(y) : exp(log1p(fmax(t, -1 + 1e-15)) / (1 - s));
}

static inline bench_zipf bench_zipf_make(uint64_t n, double s)
{
    bench_zipf z = {n, s, bench_zipf_integral(s, 1.5) - 1, bench_zipf_integral(s, (double)n + 0.5)};
    return z;
}

/* 0 to n - 1. */
static inline uint64_t bench_zipf_rank(const bench_zipf *z, uint64_t i)
{
    for (uint64_t draw = 0;; draw++) {
        double u = (double)(bench_mix_64(bench_mix_64(i + 1) + draw * 0x9e3779b97f4a7c15ull) >> 11) * 0x1p-53;
        double y = z->high + u * (z->low - z->high), x = bench_zipf_inverse(z->s, y);
        double k = floor(fmin(fmax(x + 0.5, 1), (double)z->n));
        if (y >= bench_zipf_integral(z->s, k + 0.5) - pow(k, -z->s))
            return (uint64_t)k - 1;
    }
}

#endif
