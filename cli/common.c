/* Faults, contexts, time, and numbers as text. */
#define _XOPEN_SOURCE 700

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

int fault_set(fault *fault, int status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(fault->text, sizeof fault->text, format, list);
    va_end(list);
    for (char *c = fault->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    fault->status = status;
    return status;
}

int fault_library(fault *fault, cohort_status status, const cohort_context *context, const char *doing)
{
    const char *message = cohort_message(context);
    const char *hint = status == COHORT_UNSUPPORTED ? " (--device cpu can do it)" : "";
    return fault_set(fault, CLI_FAILED, "%s: %s%s%s%s", doing, cohort_status_name(status),
                     *message ? ": " : "", message, hint);
}

/* The library's message but for its `device "D": ` in front, since --device D stands there already. */
static const char *without_device(const char *message, const char *device)
{
    char front[64];
    int n = snprintf(front, sizeof front, "device \"%s\": ", device ? device : "auto");
    return n < (int)sizeof front && !strncmp(message, front, (size_t)n) ? message + n : message;
}

static int context_of(cohort_context **out, const char *device, uint64_t threads,
                      const cohort_progress *progress, fault *fault)
{
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    options.device = device;
    options.threads = threads;
    if (progress)
        options.progress = *progress;
    cohort_status status = cohort_context_create(&options, out);
    if (status == COHORT_OK)
        return CLI_OK;
    int bad = status == COHORT_NO_DEVICE || status == COHORT_RANGE;
    const char *message = cohort_message(NULL);
    if (!strncmp(message, "COHORT_", 7)) /* a variable of the environment, which the message names */
        return fault_set(fault, bad ? CLI_BAD_INPUT : CLI_FAILED, "%s", message);
    return fault_set(fault, bad ? CLI_BAD_INPUT : CLI_FAILED, "--device %s: %s", device ? device : "auto",
                     without_device(message, device));
}

static int is_auto(const char *device)
{
    return !device || !strcmp(device, "auto");
}

/* Why auto took the CPU: no GPU, or one that lacks something. */
static const char *why_cpu(int lacks)
{
    uint64_t gpus = 0;
    if (lacks)
        return "the GPU does not offer the map that this takes";
    if (cohort_device_count(&gpus) || gpus)
        return "no GPU can be used";
    return *cohort_message(NULL) ? cohort_message(NULL) : "no GPU";
}

int context_open(cohort_context **out, const char *device, uint64_t threads, const cohort_progress *progress,
                 uint64_t widths, fault *fault)
{
    const char *set = getenv("COHORT_DEVICE");
    int lacks = 0, status = context_of(out, device, threads, progress, fault);
    if (status || !is_auto(device) || (set && *set && strcmp(set, "auto")))
        return status;
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_status asked = cohort_context_get_info(*out, &info);
    if (!asked && (info.map_widths & widths) != widths) {
        lacks = 1;
        cohort_context_destroy(*out);
        status = context_of(out, "cpu", threads, progress, fault);
        if (status)
            return status;
        asked = cohort_context_get_info(*out, &info);
    }
    if (asked)
        return fault_library(fault, asked, *out, "cannot ask the device");
    fprintf(stderr, "device: %s (auto: %s)\n", info.device,
            strcmp(info.backend, "cpu") ? "the first GPU that can be used" : why_cpu(lacks));
    return CLI_OK;
}

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

size_t text_digits(char *to, uint64_t number)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    for (size_t i = 0; i < n; i++)
        to[i] = digits[n - 1 - i];
    return n;
}

char *text_grouped(char to[TEXT_NUMBER_BYTES], uint64_t number)
{
    char digits[20];
    size_t n = text_digits(digits, number);
    char *end = to;
    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            *end++ = ',';
        *end++ = digits[i];
    }
    *end = 0;
    return to;
}

char *text_bytes(char to[TEXT_NUMBER_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    snprintf(to, TEXT_NUMBER_BYTES, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return to;
}

int text_is_utf8(void)
{
    const char *locale = getenv("LC_ALL");
    if (!locale || !*locale)
        locale = getenv("LC_CTYPE");
    if (!locale || !*locale)
        locale = getenv("LANG");
    return locale && (strstr(locale, "UTF-8") || strstr(locale, "utf8") || strstr(locale, "UTF8"));
}
