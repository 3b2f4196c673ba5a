/* The rate of the hardware's clock. */
#include "ticks.h"

static double seconds_of(struct timespec time)
{
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* One reading of both clocks: the closest of some, since an interrupt may come between the two. */
static void read_both(double *seconds, uint64_t *ticks)
{
    uint64_t closest = UINT64_MAX;
    for (int attempt = 0; attempt < 20; attempt++) {
        struct timespec now;
        uint64_t before = pse_emulate_ticks();
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t between = pse_emulate_ticks() - before;
        if (between < closest) {
            closest = between;
            *seconds = seconds_of(now);
            *ticks = before + between / 2;
        }
    }
}

double pse_emulate_ticks_rate(double seconds)
{
    double first, last;
    uint64_t begin, end;
    const struct timespec nap = {.tv_sec = (time_t)seconds,
                                 .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    read_both(&first, &begin);
    nanosleep(&nap, NULL);
    read_both(&last, &end);
    return (double)(end - begin) / (last - first);
}
