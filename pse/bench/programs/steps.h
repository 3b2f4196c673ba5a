/* Work that is an amount, not a time: whoever shares the core, or is interrupted, takes longer for it. */
#ifndef STEPS_H
#define STEPS_H

#include <stdint.h>

/* Steps that depend on each other; nothing leaves the registers. */
static inline void do_steps(int64_t steps)
{
    uint64_t state = (uint64_t)steps;
    for (int64_t step = 0; step < steps; step++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(state));
    }
}

#endif
