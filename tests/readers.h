/* readers.h: threads that read one object at once, each by a reader on a context of its own. */
#ifndef COHORT_TEST_READERS_H
#define COHORT_TEST_READERS_H

#include "test.h"

#include <pthread.h>

#define READERS_MOST 8

/* One more context of the device under test; of a CPU with so many threads. */
static inline cohort_context *another_context(struct test *t, uint64_t threads)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *context;
    options.threads = t->kind == TEST_CPU ? threads : 0;
    OK(t, cohort_context_create(&options, &context));
    return context;
}

/* read(reader) of `count` readers of so many bytes each. The simulated GPU is one for all threads of the
 * process: there one reads after the other. */
static inline void read_at_once(struct test *t, void *(*read)(void *), void *readers, size_t bytes, int count)
{
    pthread_t thread[READERS_MOST];
    char *reader = readers;
    REQUIRE(t, count <= READERS_MOST);
    for (int i = 0; i < count; i++)
        if (t->kind == TEST_SIM)
            read(reader + bytes * (size_t)i);
        else
            REQUIRE(t, !pthread_create(&thread[i], NULL, read, reader + bytes * (size_t)i));
    for (int i = 0; i < count && t->kind != TEST_SIM; i++)
        pthread_join(thread[i], NULL);
}

#endif
