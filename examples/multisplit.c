/* multisplit: twelve readings, each a sensor's number and a value, put in order of the sensor modulo 4: one
 * call. Runs on a GPU if there is one, else on the CPU (COHORT_DEVICE=cpu or cuda:N decides). */
#include <cohort.h>
#include <inttypes.h>
#include <stdio.h>

int main(void)
{
    uint32_t sensor[12] = {17, 4, 9, 12, 17, 2, 4, 30, 9, 21, 17, 4}, sensor_out[12];
    float value[12] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f, 9.5f, 10.5f, 11.5f},
          value_out[12];
    uint64_t offsets[5]; /* bucket b is [offsets[b], offsets[b + 1]) of the outputs */
    cohort_context *context = NULL;
    cohort_payload column = {value, value_out, sizeof value[0], 0};
    cohort_multisplit_desc desc = COHORT_MULTISPLIT_INIT;
    desc.n = 12;
    desc.buckets = 4;
    const cohort_fn fn = cohort_fn_modulo();
    desc.fn = &fn;
    desc.keys = sensor;
    desc.keys_out = sensor_out;
    desc.payloads = 1;
    desc.payload = &column;
    desc.offsets = offsets;
    if (cohort_context_create(NULL, &context) || cohort_multisplit(context, &desc)) {
        fprintf(stderr, "%s\n", cohort_message(context));
        return 1;
    }
    for (int b = 0; b < 4; b++) {
        printf("bucket %d:", b);
        for (uint64_t i = offsets[b]; i < offsets[b + 1]; i++)
            printf(" %" PRIu32 "=%.1f", sensor_out[i], value_out[i]);
        puts("");
    }
    cohort_context_destroy(context);
    return 0;
}
