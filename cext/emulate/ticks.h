/* The hardware's clock: a register that counts at a constant rate. */
#ifndef PSE_EMULATE_TICKS_H
#define PSE_EMULATE_TICKS_H

#include <stdint.h>

#include "clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static inline uint64_t pse_emulate_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return pse_clock();
#endif
}

/* Read the system's clock, CLOCK_MONOTONIC in seconds, and this one at the same time: the closest of some
   readings, since an interrupt may come between the two. */
void pse_emulate_read_clocks(double *seconds, uint64_t *ticks);

/* Compute for so many ticks after `begin` and touch no memory; gives the last tick. */
static inline uint64_t pse_emulate_spin(uint64_t begin, uint64_t ticks)
{
    uint64_t now;
    do
        now = pse_emulate_ticks();
    while (now - begin < ticks);
    return now;
}

#endif
