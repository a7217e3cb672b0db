/* graph.c: calls of the library captured into a CUDA graph (test.h). */
#include "cuda/driver.h"
#include "test.h"

void test_graph_open(struct test *t, struct test_graph *g)
{
    cuda_stream stream;
    *g = (struct test_graph){.gpu = test_gpu_enter(t)};
    const struct cuda_driver *d = g->gpu.driver;
    REQUIRE(t, d);
    if (!d->stream_begin_capture) {
        test_gpu_leave(g->gpu);
        test_skip(t, "this device has no graphs");
    }
    t->memory = TEST_DEVICE;
    REQUIRE(t, !d->stream_create(&stream, CUDA_STREAM_NON_BLOCKING));
    g->stream = stream;
    OK(t, cohort_set_stream(t->context, stream));
}

cohort_status test_graph_capture(struct test *t, struct test_graph *g,
                                 cohort_status (*calls)(struct test *, void *), void *of)
{
    const struct cuda_driver *d = g->gpu.driver;
    cuda_graph graph = NULL;
    cuda_graph_exec exec;
    OK(t, cohort_wait(t->context));
    REQUIRE(t, !d->stream_begin_capture(g->stream, 2));
    cohort_status status = calls(t, of);
    int ended = d->stream_end_capture(g->stream, &graph);
    if (status) {
        if (!ended && graph)
            d->graph_destroy(graph);
        return status;
    }
    REQUIRE(t, !ended);
    REQUIRE(t, !d->graph_instantiate(&exec, graph, 0));
    g->graph = graph;
    g->exec = exec;
    return COHORT_OK;
}

void test_graph_launch(struct test *t, struct test_graph *g)
{
    REQUIRE(t, !g->gpu.driver->graph_launch(g->exec, g->stream));
}

void test_graph_close(struct test *t, struct test_graph *g)
{
    const struct cuda_driver *d = g->gpu.driver;
    if (g->exec)
        CHECK(t, !d->graph_exec_destroy(g->exec) && !d->graph_destroy(g->graph));
    OK(t, cohort_set_stream(t->context, COHORT_STREAM_OWN));
    CHECK(t, !d->stream_destroy(g->stream));
    test_gpu_leave(g->gpu);
}
