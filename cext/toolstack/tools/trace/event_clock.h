/* The clock of events: CLOCK_MONOTONIC, from the processor's counter where the system itself trusts it. */
#ifndef PSE_TRACE_EVENT_CLOCK_H
#define PSE_TRACE_EVENT_CLOCK_H

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* The system's clock costs 25 to 40 ns, the counter alone 10 to 15.  So the two are read together once in a
 * millisecond, and between that the counter goes on at the rate that it had last.  The counter is not read in
 * order with what is loaded before, and the rate is known to some 1e-6: an event's time is exact to some 10
 * ns. */
struct pse_trace_clock_state {
    uint64_t ticks, time; /* when both were read */
    uint64_t span;        /* ticks for which that holds; 0: none */
    uint64_t rate;        /* ns of a tick, times 2^32 */
};

#pragma GCC visibility push(hidden)

extern struct pse_trace_clock_state pse_trace_clock_state;

/* Read both for the first time, some time before the first event. */
void pse_trace_begin_clock(void);
/* Read both if the counter can be trusted. */
uint64_t pse_trace_read_clocks(void);

#pragma GCC visibility pop

static inline uint64_t pse_trace_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
}

/* The time of what is recorded now, never less than before; the lock is held. */
static inline uint64_t pse_trace_clock(void)
{
    const struct pse_trace_clock_state *state = &pse_trace_clock_state;
    const uint64_t passed = pse_trace_ticks() - state->ticks;
    if (__builtin_expect(passed >= state->span, 0))
        return pse_trace_read_clocks();
    return state->time + (passed * state->rate >> 32);
}

#endif
