/* backend/limits.h: what the device can do at most, measured. */
#ifndef COHORT_BACKEND_LIMITS_H
#define COHORT_BACKEND_LIMITS_H

#include "backend/backend.h"

struct limits_backend {
    cohort_status (*measure)(cohort_context *, cohort_limits *); /* waits */
};

#endif
