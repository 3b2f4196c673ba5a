/* Exact sleeping. */
#define _GNU_SOURCE
#include "clock.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>

void pse_clock_sleep_until(uint64_t time)
{
    static _Thread_local bool exact;
    if (!exact)
        exact = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0;
    const struct timespec until = {.tv_sec = (time_t)(time / 1000000000u),
                                   .tv_nsec = (long)(time % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}
