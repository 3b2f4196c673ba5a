/* The processor's counter beside the system's clock. */
#include "event_clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "hot.h"

PSE_TRACE_HOT_DATA struct pse_trace_clock_state pse_trace_clock_state;

/* Each reading is 20 ns off at most. */
enum {
    SPAN = 1000000,            /* ns until both are read again */
    RATE_SPAN = 50000000,      /* ns from which a rate is found */
    FIRST_RATE_SPAN = 2000000, /* the same of the first one: MPI takes longer to start */
    READINGS = 8,
};

struct clock_reading {
    uint64_t ticks, time;
};

PSE_TRACE_HOT_TABLE static bool is_trusted;
PSE_TRACE_HOT_TABLE static uint64_t shortest;         /* that a reading took; 0: there was none yet */
PSE_TRACE_HOT_TABLE static struct clock_reading base; /* from which the next rate is found */
/* volatile: called through it, and not through the table of the linker, which is elsewhere. */
PSE_TRACE_HOT_TABLE static int (*volatile read_clock)(clockid_t, struct timespec *) = clock_gettime;

/* As pse_clock has it. */
static inline uint64_t system_time(void)
{
    struct timespec now;
    read_clock(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Linux takes the counter for its own clock only where it has a constant rate, is the same on all processors
 * and is watched. */
static bool is_clock_of_system(void)
{
    char name[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file)
        return false;
    const bool is_read = fgets(name, sizeof name, file);
    fclose(file);
    return is_read && strcmp(name, "tsc\n") == 0;
}

/* The first that takes hardly longer than any before, since an interrupt may come between the two; else the
 * closest of some. */
static struct clock_reading read_both(void)
{
    struct clock_reading best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < READINGS && least > shortest + shortest / 4; i++) {
        const uint64_t before = pse_trace_ticks(), time = system_time(), took = pse_trace_ticks() - before;
        if (took < least) {
            least = took;
            best = (struct clock_reading){before + took / 2, time};
        }
    }
    shortest = shortest == 0 || least < shortest ? least : shortest;
    return best;
}

void pse_trace_begin_clock(void)
{
    is_trusted = is_clock_of_system();
    base = read_both();
}

/* Of a clock of 0.1 to 10 GHz, and like the rate before: else the counter was set anew, as of a virtual
 * machine that moves. */
static bool is_plausible(double rate, double before)
{
    const bool is_like_before = before == 0 || (rate > 0.99 * before && rate < 1.01 * before);
    return rate > 0.1 && rate < 10 && is_like_before;
}

__attribute__((cold, noinline)) static void find_rate(const struct clock_reading *now)
{
    struct pse_trace_clock_state *state = &pse_trace_clock_state;
    const double unit = 0x1p32;
    const double rate = (double)(now->time - base.time) / (double)(now->ticks - base.ticks);
    is_trusted = is_plausible(rate, (double)state->rate / unit);
    state->rate = (uint64_t)(rate * unit);
    state->span = is_trusted ? (uint64_t)(SPAN / rate) : 0;
    base = *now;
}

static inline bool wants_rate(uint64_t time)
{
    return is_trusted && time - base.time >= (pse_trace_clock_state.rate ? RATE_SPAN : FIRST_RATE_SPAN);
}

PSE_TRACE_HOT uint64_t pse_trace_read_clocks(void)
{
    struct pse_trace_clock_state *state = &pse_trace_clock_state;
    const uint64_t latest = state->time + (state->span * state->rate >> 32);
    const bool has_rate = is_trusted && state->rate;
    struct clock_reading now = {0, 0};
    if (!has_rate)
        now.time = system_time();
    if (has_rate || wants_rate(now.time))
        now = read_both();
    if (wants_rate(now.time))
        find_rate(&now);
    state->ticks = now.ticks;
    state->time = now.time > latest ? now.time : latest;
    return state->time;
}
