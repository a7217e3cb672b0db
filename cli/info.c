/* cohort info: the devices, what they have and what they offer, and versions. */
#include <string.h>

#ifndef COHORT_NO_ZLIB
#    include <zlib.h>
#    define ZLIB_NAME "zlib ", zlibVersion()
#else
#    define ZLIB_NAME "no zlib", ""
#endif

#ifdef COHORT_JANSSON
#    include <jansson.h>
#    define JSON_NAME "jansson " JANSSON_VERSION
#else
#    define JSON_NAME "no jansson"
#endif

#include "cli.h"

const char info_help[] =
    "usage: cohort info [--device D]\n"
    "\n"
    "Prints the devices that cohort can use, their memory, the map widths that they offer, and versions.\n"
    "What they can do at most is measured by 'cohort bench limits'.\n"
    "\n"
    "  --device D   this one only: cpu, cuda, cuda:N, or auto\n"
    "\n"
    "example:\n"
    "  cohort info\n";

/* Whether a map of this width can be made there. */
static int width_offered(cohort_context *context, cohort_width width)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    options.width = width;
    options.layout = width == COHORT_WIDTH_128_64 ? COHORT_LAYOUT_LINES : COHORT_LAYOUT_PAGES;
    options.capacity = 1;
    cohort_map *map = NULL;
    cohort_status status = cohort_map_create(context, &options, &map);
    cohort_map_destroy(map);
    return status == COHORT_OK;
}

static void widths_print(cohort_context *context)
{
    static const struct {
        cohort_width width;
        const char *name;
    } widths[] = {{COHORT_WIDTH_32_0, "32/0"},   {COHORT_WIDTH_32_32, "32/32"},
                  {COHORT_WIDTH_64_0, "64/0"},   {COHORT_WIDTH_64_32, "64/32"},
                  {COHORT_WIDTH_64_64, "64/64"}, {COHORT_WIDTH_128_64, "128/64"}};
    printf("  map widths    ");
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        if (width_offered(context, widths[i].width))
            printf(" %s", widths[i].name);
    printf(" (bits of key/value)\n");
}

static int device_print(const char *name, fault *fault)
{
    cohort_context *context;
    char text[TEXT_NUMBER_BYTES];
    int status = context_open(&context, name, 0, NULL, 0, fault);
    if (status)
        return status;
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_status asked = cohort_context_get_info(context, &info);
    if (asked != COHORT_OK) {
        status = fault_library(fault, asked, context, "cannot ask the device");
    } else {
        int cpu = !strcmp(info.backend, "cpu");
        printf("%s\n", name);
        printf("  device          %s\n", info.device);
        printf("  %-15s %llu\n", cpu ? "threads" : "multiprocessors", (unsigned long long)info.threads);
        printf("  memory          %s", text_bytes(text, info.memory_bytes));
        printf(", %s free\n", text_bytes(text, info.memory_free));
        if (info.l2_bytes)
            printf("  last cache      %s\n", text_bytes(text, info.l2_bytes));
        if (info.architecture)
            printf("  architecture    sm_%llu\n", (unsigned long long)info.architecture);
        widths_print(context);
    }
    cohort_context_destroy(context);
    return status;
}

static int all_print(fault *fault)
{
    uint64_t gpus = 0;
    cohort_status status = cohort_device_count(&gpus);
    if (status != COHORT_OK)
        return fault_library(fault, status, NULL, "cannot count the GPUs");
    if (device_print("cpu", fault))
        return fault->status;
    for (uint64_t i = 0; i < gpus; i++) {
        char name[TEXT_NUMBER_BYTES];
        snprintf(name, sizeof name, "cuda:%llu", (unsigned long long)i);
        /* A GPU that is there and cannot be used is worth a line, not the end. */
        if (device_print(name, fault))
            printf("%s\n  not usable      %s\n", name, fault->text);
    }
    if (!gpus)
        printf("no GPU%s%s\n", *cohort_message(NULL) ? ": " : "", cohort_message(NULL));
    return CLI_OK;
}

int info_main(int argc, char **argv, fault *fault)
{
    const char *device = NULL;
    arg args[] = {{"--device", ARG_TEXT, &device, 0, 0, 0}};
    size_t rest;
    int status = args_read(args, 1, argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: info takes no files", argv[0]);
    status = device ? device_print(device, fault) : all_print(fault);
    if (!status)
        printf("cohort %s, %s%s, %s; what devices can do at most: cohort bench limits\n", cohort_version(),
               ZLIB_NAME, JSON_NAME);
    if (fflush(stdout) && !status)
        status = fault_set(fault, CLI_FAILED, "cannot write to standard output");
    return status;
}
