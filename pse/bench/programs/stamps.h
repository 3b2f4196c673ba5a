/* Time stamps that modules take and keep to themselves until they are asked, so that the engine isn't
 * disturbed. */
#ifndef STAMPS_H
#define STAMPS_H

#include <stdint.h>
#include <time.h>

/* ns of CLOCK_MONOTONIC, which is the same for all processes of a node. */
static inline int64_t stamp(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void compute_until(int64_t time)
{
    while (stamp() < time)
        continue;
}

#endif
