/* jit.c: the simulated GPU's compiler: the host's cc. A program becomes a shared object whose kernels
 * register themselves when it is loaded, as those that are linked in do; its words are the test program's own
 * (exported: CMake's ENABLE_EXPORTS).
 *
 * An image is the shared object behind a line that tells its length. What has been loaded stays loaded. */
#include "device.h"

#ifndef SIM_FOLDER
#    define SIM_FOLDER "tests/sim" /* from the root of the tree */
#endif

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD 64
#define MARK "cohort simulated GPU, %zu bytes\n"

extern char **environ;

/* ---- files --------------------------------------------------------------------------------------------- */

struct folder {
    char path[200];
};

static int folder_make(struct folder *f)
{
    const char *base = getenv("TMPDIR");
    snprintf(f->path, sizeof f->path, "%s/cohort-sim-XXXXXX", base && strlen(base) < 150 ? base : "/tmp");
    return mkdtemp(f->path) != NULL;
}

static void path_of(const struct folder *f, const char *name, char path[300])
{
    snprintf(path, 300, "%s/%s", f->path, name);
}

static int put_file(const struct folder *f, const char *name, const void *data, size_t bytes)
{
    char path[300];
    path_of(f, name, path);
    FILE *file = fopen(path, "wb");
    int good = file && fwrite(data, 1, bytes, file) == bytes;
    return (file ? fclose(file) == 0 : 0) && good;
}

/* The contents with `before` bytes of room in front and a zero behind; NULL: it cannot be read. */
static char *get_file(const struct folder *f, const char *name, size_t before, size_t *bytes)
{
    char path[300];
    struct stat s;
    path_of(f, name, path);
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    if (file && !fstat(fileno(file), &s) && (data = calloc(1, before + (size_t)s.st_size + 1))) {
        *bytes = (size_t)s.st_size;
        if (fread(data + before, 1, *bytes, file) != *bytes) {
            free(data);
            data = NULL;
        }
    }
    if (file)
        fclose(file);
    return data;
}

static void folder_remove(const struct folder *f)
{
    static const char *const others[] = {"program.c", "program.so", "log"};
    char path[300];
    for (const struct cohort_text *t = cohort_texts; t->name; t++) {
        path_of(f, t->name, path);
        unlink(path);
    }
    for (int i = 0; i < 3; i++) {
        path_of(f, others[i], path);
        unlink(path);
    }
    rmdir(f->path);
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

/* The exit status of cc; -1: it cannot be run. */
static int run_cc(const struct folder *f)
{
    char source[300], object[300], log[300], include[320];
    path_of(f, "program.c", source);
    path_of(f, "program.so", object);
    path_of(f, "log", log);
    snprintf(include, sizeof include, "-I%s", f->path);
    char *const arguments[] = {"cc",
                               "-x",
                               "c",
                               "-std=gnu11",
                               "-O1",
                               "-Werror=implicit-function-declaration",
                               "-fPIC",
                               "-shared",
                               "-DCOHORT_SIM",
                               include,
                               "-I" SIM_FOLDER,
                               "-o",
                               object,
                               source,
                               NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int failed = posix_spawnp(&child, "cc", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!failed && waitpid(child, &status, 0) < 0)
        failed = errno != EINTR;
    return failed || !WIFEXITED(status) || WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

static int put_sources(const struct folder *f, const struct jit_program *p)
{
    for (const struct cohort_text *t = cohort_texts; t->name; t++)
        if (!put_file(f, t->name, t->text, strlen(t->text)))
            return 0;
    return put_file(f, "program.c", p->text, strlen(p->text));
}

enum jit_result sim_compile(const struct jit_program *p, struct jit_image *image, char **log)
{
    struct folder f;
    size_t bytes = 0;
    *log = NULL;
    if (!folder_make(&f))
        return JIT_NO_MEMORY;
    enum jit_result result = JIT_NO_COMPILER;
    int status = put_sources(&f, p) ? run_cc(&f) : -1;
    if (status < 0) {
        *log = strdup("a function of the user's needs cc on the simulated GPU, and it cannot be run");
    } else if (status > 0) {
        result = JIT_REFUSED;
        *log = get_file(&f, "log", 0, &bytes);
    } else {
        image->data = get_file(&f, "program.so", HEAD, &bytes);
        image->bytes = HEAD + bytes;
        result = image->data ? JIT_OK : JIT_NO_MEMORY;
        if (image->data)
            snprintf(image->data, HEAD, MARK, bytes);
    }
    folder_remove(&f);
    return result;
}

/* ---- loading ------------------------------------------------------------------------------------------- */

struct loaded {
    struct loaded *next;
    size_t bytes;
    char data[];
};
static struct loaded *all;

static int is_loaded(const char *data, size_t bytes)
{
    for (const struct loaded *l = all; l; l = l->next)
        if (l->bytes == bytes && !memcmp(l->data, data, bytes))
            return 1;
    return 0;
}

/* Keeps a copy, to know it again. */
static int remember(const char *data, size_t bytes)
{
    struct loaded *l = malloc(sizeof *l + bytes);
    if (!l)
        return 0;
    l->next = all;
    l->bytes = bytes;
    memcpy(l->data, data, bytes);
    all = l;
    return 1;
}

int sim_image_load(const void *image)
{
    struct folder f;
    char path[300], head[HEAD + 1] = "";
    size_t bytes = 0;
    memcpy(head, image, HEAD);
    if (sscanf(head, MARK, &bytes) != 1)
        return 0;
    const char *data = (const char *)image + HEAD;
    if (is_loaded(data, bytes))
        return 1;
    if (!folder_make(&f))
        return 0;
    path_of(&f, "program.so", path);
    int good = put_file(&f, "program.so", data, bytes) && dlopen(path, RTLD_NOW | RTLD_LOCAL) &&
               remember(data, bytes);
    folder_remove(&f);
    return good;
}
