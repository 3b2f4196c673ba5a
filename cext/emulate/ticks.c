/* The hardware's clock beside the system's. */
#include "ticks.h"

static double seconds_of(struct timespec time)
{
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void pse_emulate_read_clocks(double *seconds, uint64_t *ticks)
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
