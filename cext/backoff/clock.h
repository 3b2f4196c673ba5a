/* Time of this host, and sleeping that ends when it should. */
#ifndef PSE_CLOCK_H
#define PSE_CLOCK_H

#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds of the monotonic clock. */
static inline uint64_t pse_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Sleep until a time of that clock.  Timers of this thread are exact from the first time on (by default they
 * may be 50 us late). */
void pse_clock_sleep_until(uint64_t time);

#ifdef __cplusplus
}
#endif
#endif
