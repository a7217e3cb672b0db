/* split_tuning.h: which instance of the kernels does a split on which device, and how the input is cut for
 * it. */
#ifndef COHORT_CUDA_SPLIT_TUNING_H
#define COHORT_CUDA_SPLIT_TUNING_H

#include "device.h"
#include "shape/split_step.h"

/* One of the list of shape/split_instances.h. */
struct split_instance {
    const char *kernel; /* the name of its kernels, but for _FORM */
    enum split_way way;
    enum split_payload payload;
    enum split_loading loading;
    unsigned bits, items, threads;
    unsigned widest;       /* bytes of an entry in a tile */
    unsigned forms;        /* 1 << form of each that there is */
    unsigned architecture; /* from which on it is taken */
};

/* A row serves the devices of `driver` from its instance's architecture on. */
struct split_tuning {
    const char *driver;
    const struct split_instance *instance;
    unsigned buckets; /* at most */
    /* A multiprocessor: of BY_TABLE spans, a multiple of what it has of blocks at a time, of either launch
     * (0: it is not for spans); of TOGETHER tiles and of SPANS_TOGETHER spans that are at work at a time. */
    unsigned spans;
    unsigned span_tiles;  /* of a span of SPANS_TOGETHER, at most */
    unsigned least_tiles; /* a multiprocessor, from which on those are worth while that are FETCHED */
};

/* What a split asks for. */
struct split_request {
    enum split_way way; /* BY_TABLE for the three that it stands for */
    enum split_payload payload;
    enum split_loading loading; /* or a plainer one, where there is none such */
    unsigned buckets;
    unsigned forms;   /* 1 << form, or 0: any */
    int needs_spans;  /* of BY_TABLE: the row has spans */
    uint64_t entries; /* of ALONE, TOGETHER and SPANS_TOGETHER: all of them are in tiles at a time */
};

/* The first row that holds what is asked, of the newest architecture. NULL: there is none. */
const struct split_tuning *split_tuning_for(const struct gpu *g, const struct split_request *request);

/* Bytes of shared memory of a block; what a split IN_TILES counts of the next digit comes behind. */
unsigned split_instance_shared(const struct split_instance *instance);

/* Tiles that are TOGETHER, or spans, a multiprocessor, of whatever kind, at most. */
unsigned split_together_spans_most(const struct cuda_driver *driver);

/* How the methods DIRECT and WARP are done. */
struct split_warp_tuning {
    const char *driver;
    unsigned architecture;             /* from which on */
    unsigned direct_items, warp_items; /* rows in hand; kernels/split_direct.cu is compiled for these */
    unsigned warps;                    /* a multiprocessor, that spans are made for, */
    unsigned pieces;                   /* of so many pieces at most, each of the rows in hand */
    unsigned blocks;                   /* a multiprocessor */
};

const struct split_warp_tuning *split_warp_tuning_for(const struct gpu *g);

#endif
