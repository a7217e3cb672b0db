/* child.c: what a child prints goes to unnamed temporary files, which need no reader beside it. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char *text_back(FILE *file, size_t *bytes)
{
    long end = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    char *text = end < 0 ? NULL : malloc((size_t)end + 1);
    if (!text)
        return NULL;
    rewind(file);
    *bytes = fread(text, 1, (size_t)end, file);
    text[*bytes] = 0;
    return text;
}

/* A child does not outlive this program. */
static void exec_in(const char *const *argv, FILE *out, FILE *err)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (dup2(fileno(out), STDOUT_FILENO) < 0 || dup2(fileno(err), STDERR_FILENO) < 0)
        _exit(127);
    execvp(argv[0], (char *const *)argv); /* leaves the texts alone: POSIX says so, its type does not */
    _exit(127);
}

static int ended(const char *name, int how, const char *said, fault *fault)
{
    int n = said ? (int)strcspn(said, "\n") : 0;
    n = n < 300 ? n : 300;
    if (WIFEXITED(how) && !WEXITSTATUS(how))
        return CLI_OK;
    if (WIFSIGNALED(how))
        return fault_set(fault, CLI_FAILED, "%s: killed by signal %d", name, WTERMSIG(how));
    if (WEXITSTATUS(how) == 127 && !n)
        return fault_set(fault, CLI_FAILED, "%s: cannot be run", name);
    return fault_set(fault, CLI_FAILED, "%s: exit status %d: %.*s", name, WEXITSTATUS(how), n,
                     said ? said : "");
}

static int run(child *c, const char *const *argv, FILE *out, FILE *err, fault *fault)
{
    struct rusage usage;
    int how;
    size_t said;
    double start = seconds_now();
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        return fault_set(fault, CLI_FAILED, "%s: cannot be run: %s", argv[0], strerror(errno));
    if (!pid)
        exec_in(argv, out, err);
    while (wait4(pid, &how, 0, &usage) < 0)
        if (errno != EINTR)
            return fault_set(fault, CLI_FAILED, "%s: %s", argv[0], strerror(errno));
    c->seconds = seconds_now() - start;
    c->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
    c->out = text_back(out, &c->out_bytes);
    c->err = text_back(err, &said);
    if (!c->out || !c->err)
        return fault_set(fault, CLI_FAILED, "%s: no memory for what it printed", argv[0]);
    return ended(argv[0], how, c->err, fault);
}

int child_run(child *c, const char *const *argv, fault *fault)
{
    memset(c, 0, sizeof *c);
    FILE *out = tmpfile(), *err = tmpfile();
    int status = out && err
                     ? run(c, argv, out, err, fault)
                     : fault_set(fault, CLI_FAILED, "%s: no temporary file: %s", argv[0], strerror(errno));
    if (out)
        fclose(out);
    if (err)
        fclose(err);
    return status;
}

void child_free(child *c)
{
    free(c->out);
    free(c->err);
    c->out = c->err = NULL;
}

int child_find(char *path, size_t room, const char *name)
{
    const char *list = getenv("PATH");
    while (list && *list) {
        int n = (int)strcspn(list, ":");
        if (snprintf(path, room, "%.*s/%s", n, list, name) < (int)room && n && !access(path, X_OK))
            return 1;
        list += n + (list[n] == ':');
    }
    return 0;
}

int child_own_folder(char *path, size_t room)
{
    ssize_t n = readlink("/proc/self/exe", path, room - 1);
    if (n <= 0)
        return 0;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return slash != NULL;
}
