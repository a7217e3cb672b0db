/* file_input.h: what the fuzzers of the library's own files share. Each input is loaded twice: as it is, and
 * with its checksums made right, so that what lies behind them is reached too. */
#ifndef FUZZ_FILE_INPUT_H
#define FUZZ_FILE_INPUT_H

#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cohort.h"
#include "io/file.h"

#define MEMORY_LIMIT (64u << 20) /* of the context: a file may ask for more than the machine has */

static uint64_t memory_out;

static void *limited_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    (void)user;
    (void)stream;
    if (bytes > MEMORY_LIMIT - memory_out)
        return NULL;
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    memory_out += memory ? bytes : 0;
    return memory;
}

static void limited_free(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    (void)user;
    (void)alignment;
    (void)stream;
    memory_out -= bytes;
    free(memory);
}

static cohort_context *fuzz_context(void)
{
    static cohort_context *context;
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    options.device = "cpu";
    options.threads = 1;
    options.alloc.alloc = limited_alloc;
    options.alloc.free = limited_free;
    if (!context && cohort_context_create(&options, &context))
        abort();
    return context;
}

static uint64_t fuzz_sum(const unsigned char *data, uint64_t bytes)
{
    uint64_t sum = bytes ^ 0x636f686f7274u;
    for (uint64_t i = 0; i < bytes; i += 8) {
        unsigned char word[8] = {0};
        memcpy(word, data + i, bytes - i < 8 ? bytes - i : 8);
        sum = (sum ^ file_get(word)) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 32;
    }
    return sum;
}

/* Right magic, version, kind, number of sections and checksums. */
static void fuzz_seal(unsigned char *data, uint64_t size, enum file_kind kind, unsigned sections)
{
    static const unsigned char magic[8] = {0x89, 'c', 'o', 'h', 'o', 'r', 't', '\n'};
    uint64_t head = 24 + 16 * (uint64_t)sections, place = head + 8;
    if (size < place)
        return;
    memcpy(data, magic, 8);
    file_put(data + 8, 1 | (uint64_t)kind << 32);
    file_put(data + 16, sections);
    for (unsigned i = 0; i < sections; i++) {
        uint64_t bytes = file_get(data + 24 + 16 * i);
        if (bytes > size - place)
            break;
        file_put(data + 24 + 16 * i + 8, fuzz_sum(data + place, bytes));
        bytes += -bytes & 7;
        place += bytes < size - place ? bytes : size - place;
    }
    file_put(data + head, fuzz_sum(data, head));
}

/* Calls load with the path of a file of these bytes. */
static void fuzz_file(const unsigned char *data, size_t size, void (*load)(const char *path))
{
    static int file = -1;
    char path[32];
    if (file < 0)
        file = memfd_create("input", 0);
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    load(path);
}

__attribute__((unused)) static void fuzz_both(const uint8_t *data, size_t size, enum file_kind kind,
                                              unsigned sections, void (*load)(const char *path))
{
    unsigned char *sealed = malloc(size + 1);
    if (!sealed)
        abort();
    memcpy(sealed, data, size);
    fuzz_file(sealed, size, load);
    fuzz_seal(sealed, size, kind, sections);
    fuzz_file(sealed, size, load);
    free(sealed);
    cohort_trim(fuzz_context());
}

#endif
