/* child.c: a part of a case in a forked process (test.h). */
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define SECONDS 60 /* that a child may take */

static _Noreturn void run_child(struct test *t, void (*body)(struct test *, void *), void *arg, int out)
{
    jmp_buf leave;
    t->exit = &leave;
    signal(SIGALRM, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    alarm(SECONDS);
    if (!setjmp(leave))
        body(t, arg);
    ssize_t written = t->failures ? write(out, t->message, strlen(t->message)) : 0;
    _exit(t->failures ? 1 : written < 0);
}

/* What the child has to say, until it ends. */
static void listen(int in, char *text, size_t room)
{
    size_t used = 0;
    ssize_t n;
    while (used + 1 < room && (n = read(in, text + used, room - used - 1)) > 0)
        used += (size_t)n;
    text[used] = 0;
}

int test_in_child(struct test *t, void (*body)(struct test *, void *), void *arg)
{
    char text[sizeof t->message];
    int pipes[2], status = 0;
    REQUIRE(t, !pipe(pipes));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(pipes[0]);
        run_child(t, body, arg, pipes[1]);
    }
    close(pipes[1]);
    if (child < 0) {
        close(pipes[0]);
        return CHECK(t, child > 0);
    }
    listen(pipes[0], text, sizeof text);
    close(pipes[0]);
    REQUIRE(t, waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        return CHECKF(t, 0, WTERMSIG(status) == SIGALRM ? "the child hangs" : "the child ends by signal %d",
                      WTERMSIG(status));
    return CHECKF(t, !WEXITSTATUS(status), "in the child: %s", text);
}
