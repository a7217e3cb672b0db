/* device.h: what driver.c and streams.c share: the device as it was opened, its streams and events. */
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include "cuda/driver.h"
#include "inside.h"

struct device {
    char text[160];               /* as in "--device sim:TEXT" */
    struct sim_schedule schedule; /* of its launches, each with a seed of its own */
    unsigned multiprocessors;
    uint64_t launches;
    uint64_t random;    /* of the queues */
    double nanoseconds; /* that the device has worked */
    int error;          /* the sticky one; ends with the context */
    unsigned references;
};
extern struct device device;

uint64_t device_random(void);

extern const struct cuda_driver device_table;

/* jit.c */
enum jit_result sim_compile(const struct jit_program *program, struct jit_image *image, char **log);
int sim_image_load(const void *image); /* 1: its kernels can be found */
void device_lock(void);                /* calls happen one at a time */
void device_unlock(void);

/* ---- streams.c ----------------------------------------------------------------------------------------- */

enum op_kind { OP_COPY, OP_SET, OP_LAUNCH, OP_RECORD, OP_WAIT };

struct op {
    struct op *next;
    enum op_kind kind;
    char *to;
    const char *from;
    size_t bytes;
    unsigned char value;
    cuda_event event;
    uint64_t version; /* of the event */
    struct launch launch;
    char data[]; /* pageable memory as it was at the call; a kernel's parameters */
};

struct cuda_stream_s {
    cuda_stream next;
    struct op *first, *last;
    unsigned flags;
    int destroyed;
};

struct cuda_event_s {
    cuda_event next;
    uint64_t recorded, done; /* how often */
    uint64_t users;          /* ops that name it */
    double nanoseconds;
    int destroyed;
};

cuda_stream
streams_resolve(cuda_stream s); /* NULL: the legacy stream; waits as that one does. NULL: not a stream */
struct op *op_new(enum op_kind kind, size_t data_bytes);
int streams_add(cuda_stream s, struct op *op); /* a CUDA result */
int streams_finish(cuda_stream s);
int streams_finish_event(cuda_event e);
void streams_work(void); /* a little, as time passes */
int event_known(cuda_event e);
int event_is_done(cuda_event e);
unsigned streams_end(FILE *out); /* the context ends: drops all; how many were left */

cuda_result sim_stream_create(cuda_stream *out, unsigned flags);
cuda_result sim_stream_destroy(cuda_stream s);
cuda_result sim_event_create(cuda_event *out, unsigned flags);
cuda_result sim_event_destroy(cuda_event e);

#endif
