/* count.c: how many GPUs there are for us. */
#include "device.h"

static int usable(const struct cuda_driver *driver, int ordinal)
{
    cuda_device device;
    int major, minor;
    return driver->device_get(&device, ordinal) == CUDA_OK &&
           driver->device_attribute(&major, CUDA_ATTRIBUTE_MAJOR, device) == CUDA_OK &&
           driver->device_attribute(&minor, CUDA_ATTRIBUTE_MINOR, device) == CUDA_OK &&
           gpu_tuning_for(driver, (unsigned)(10 * major + minor));
}

uint64_t cuda_backend_count(void)
{
    const char *why = NULL;
    int ordinal, devices = 0;
    uint64_t count = 0;
    const struct cuda_driver *driver = cuda_driver_for("cuda", &ordinal, &why);
    cuda_result r = driver ? driver->init(0) : CUDA_NO_DEVICE;
    if (r == CUDA_OK)
        r = driver->device_count(&devices);
    for (int i = 0; r == CUDA_OK && i < devices; i++)
        count += usable(driver, i);
    if (!driver)
        context_fail(NULL, COHORT_NO_DEVICE, "%s", why);
    else if (r != CUDA_OK)
        context_fail(NULL, COHORT_NO_DEVICE, "the driver's error is %d", r);
    else if (!count)
        context_fail(NULL, COHORT_NO_DEVICE, "%d GPUs, none of architecture sm_80 or later", devices);
    return count;
}
