/* Spinning, yielding and sleeping between two looks. */
#define _GNU_SOURCE
#include "backoff.h"

#include <sched.h>

#include "clock.h"

/* All times in ns.  Twice what waking a sleeper on another core costs: longer waits are cheaper asleep. */
#define AWAKE 50000u
/* A yield that takes less than QUICK met nobody; one that takes longer than SLOW met somebody who computes.
 */
#define QUICK 1500u
#define SLOW 50000u
#define TRUST_FREE 200000u
#define TRUST_BUSY 3000000u
/* Naps grow with the wait: a message is seen late by a sixteenth of it on average. */
#define NAP_SHARE 8u
#define LEAST_NAP 20000u
#define LONGEST_NAP 5000000u
/* Looks of a spinning rank between two yields. */
#define LOOKS 64u

/* Until when this thread takes its core for free, or for one on which somebody computes. */
static _Thread_local uint64_t free_until, busy_until;

static void nap(uint64_t waited)
{
    const uint64_t time = waited / NAP_SHARE;
    pse_tool_sleep_until(pse_tool_clock() + (time < LEAST_NAP     ? LEAST_NAP
                                             : time > LONGEST_NAP ? LONGEST_NAP
                                                                  : time));
}

/* Let others run, and learn from it. */
static void let_others_run(uint64_t now)
{
    sched_yield();
    uint64_t back = pse_tool_clock(), took = back - now;
    free_until = took < QUICK ? back + TRUST_FREE : 0;
    if (took > SLOW)
        busy_until = back + TRUST_BUSY;
}

/* Whether the look that ends now has moved data. */
static bool moved_data(struct backoff *wait, uint64_t now)
{
    uint64_t took = now - wait->back;
    if (wait->cold)
        return false;
    if (!wait->quickest || took < wait->quickest)
        wait->quickest = took;
    return took > 3 * wait->quickest + 1000 && took < SLOW;
}

void pse_coopwait_pause(struct backoff *wait)
{
    uint64_t now = pse_tool_clock();
    if (!wait->begin) {
        wait->begin = now;
    } else if (moved_data(wait, now)) {
        wait->begin = wait->back = now;
        return;
    }
    bool was_cold = wait->cold;
    wait->cold = false;
    if (was_cold) {
        /* Look once more at once: only a look with warm caches tells whether data moves. */
    } else if (now - wait->begin > AWAKE || now < busy_until) {
        nap(now - wait->begin);
        wait->cold = true;
    } else if (now >= free_until || ++wait->looks % LOOKS == 0) {
        let_others_run(now);
    }
    wait->back = pse_tool_clock();
}
