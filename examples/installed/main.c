/* Counts how often each number occurs, with the library as `make install` left it. */
#include <cohort.h>
#include <stdio.h>

int main(void)
{
    uint64_t numbers[1000], asked[3] = {0, 7, 1234}, counts[3], none = 0;
    for (uint64_t i = 0; i < 1000; i++)
        numbers[i] = i * i % 10;

    cohort_context *context = NULL;
    cohort_map *map = NULL;
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT; /* 64-bit keys and values */
    options.capacity = 10;
    if (cohort_context_create(NULL, &context) || cohort_map_create(context, &options, &map) ||
        cohort_map_apply(map, COHORT_OP_COUNT, 1000, numbers, NULL, NULL) ||
        cohort_map_find(map, 3, asked, counts, &none, NULL)) {
        fprintf(stderr, "%s\n", cohort_message(context));
        return 1;
    }
    for (int i = 0; i < 3; i++)
        printf("%llu occurs %llu times\n", (unsigned long long)asked[i], (unsigned long long)counts[i]);
    cohort_map_destroy(map);
    cohort_context_destroy(context);
    return 0;
}
