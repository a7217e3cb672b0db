/* The line is drawn over itself with a carriage return. All state is the main thread's; the signal handler
 * reads only whether a line is there. */
#define _XOPEN_SOURCE 700

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

#define BAR_WIDTH 28

static volatile sig_atomic_t line_drawn;

static struct {
    int terminal; /* 0: not asked yet, 1: yes, -1: no */
    const char *what;
    double begun, drawn;
} state;

static int on_terminal(void)
{
    if (!state.terminal) {
        const char *kind = getenv("TERM");
        state.terminal = isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") ? 1 : -1;
    }
    return state.terminal > 0;
}

static void quantity(char to[TEXT_NUMBER_BYTES], uint64_t number, int bytes)
{
    if (bytes)
        text_bytes(to, number);
    else
        text_grouped(to, number);
}

static void draw(uint64_t done, uint64_t total, int bytes, double elapsed)
{
    char bar[BAR_WIDTH + 1], have[TEXT_NUMBER_BYTES], all[TEXT_NUMBER_BYTES], rate[TEXT_NUMBER_BYTES];
    quantity(have, done, bytes);
    quantity(rate, elapsed > 0 ? (uint64_t)((double)done / elapsed) : 0, bytes);
    if (!total) {
        fprintf(stderr, "\r\033[K%s  %s  %s/s", state.what, have, rate);
    } else {
        double part = done < total ? (double)done / (double)total : 1;
        int filled = (int)(part * BAR_WIDTH);
        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', (size_t)filled);
        bar[BAR_WIDTH] = 0;
        quantity(all, total, bytes);
        fprintf(stderr, "\r\033[K%s [%s] %3.0f%%  %s of %s  %s/s", state.what, bar, part * 100, have, all,
                rate);
        double left = part > 0.01 ? elapsed / part - elapsed : 0;
        if (elapsed > 2 && left >= 1)
            fprintf(stderr, "  %d:%02d left", (int)left / 60, (int)left % 60);
    }
    fflush(stderr);
    line_drawn = 1;
}

static void progress(const char *what, uint64_t done, uint64_t total, int bytes)
{
    if (!on_terminal())
        return;
    double now = seconds_now();
    if (!state.what || strcmp(state.what, what)) {
        state.what = what;
        state.begun = now;
        state.drawn = 0;
    }
    if (now - state.drawn < 0.1)
        return;
    state.drawn = now;
    draw(done, total, bytes, now - state.begun);
}

void progress_bytes(const char *what, uint64_t done, uint64_t total)
{
    progress(what, done, total, 1);
}

void progress_items(const char *what, uint64_t done, uint64_t total)
{
    progress(what, done, total, 0);
}

void progress_clear(void)
{
    static const char erase[] = "\r\033[K";
    if (line_drawn && write(STDERR_FILENO, erase, sizeof erase - 1) > 0)
        line_drawn = 0;
}

static int from_library(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    progress_items(what, done, total);
    return 0;
}

const cohort_progress progress_library = {from_library, NULL};
