/* Spinning, yielding and sleeping between two looks. */
#define _GNU_SOURCE
#include "backoff.h"

#include <sched.h>

#include "clock.h"

/* Until when this thread takes its core for free, or for one on which somebody computes. */
static _Thread_local uint64_t free_until, busy_until;

uint64_t pse_backoff_yield(uint64_t now, uint64_t computes, uint64_t *busy)
{
    sched_yield();
    const uint64_t back = pse_clock();
    if (back - now > computes)
        *busy = back + PSE_BACKOFF_TRUST_BUSY;
    return back;
}

static void nap(const pse_backoff *wait, uint64_t now)
{
    const uint64_t longest = wait->longest ? wait->longest : PSE_BACKOFF_LONGEST;
    uint64_t time = (now - wait->begin) / PSE_BACKOFF_SHARE;
    if (time < PSE_BACKOFF_SHORTEST)
        time = PSE_BACKOFF_SHORTEST;
    pse_clock_sleep_until(pse_clock() + (time < longest ? time : longest));
}

/* What a yield takes at most that has met nobody who computes. */
static uint64_t computes(const pse_backoff *wait)
{
    return wait->patient ? PSE_BACKOFF_YIELD_BUSY_PATIENT : PSE_BACKOFF_YIELD_BUSY;
}

/* Let others run, and learn from it. */
static void let_others_run(const pse_backoff *wait, uint64_t now)
{
    const uint64_t back = pse_backoff_yield(now, computes(wait), &busy_until);
    free_until = back - now < PSE_BACKOFF_YIELD_FREE ? back + PSE_BACKOFF_TRUST_FREE : 0;
}

/* Whether the look that ends now has moved data. */
static bool moved_data(pse_backoff *wait, uint64_t now)
{
    const uint64_t took = now - wait->back;
    if (!wait->cold && (!wait->quickest || took < wait->quickest))
        wait->quickest = took;
    return took > (wait->cold ? PSE_BACKOFF_LOOK_MOVED : 3 * wait->quickest + 1000) && took < computes(wait);
}

void pse_backoff_pause(pse_backoff *wait)
{
    const uint64_t now = pse_clock();
    if (!wait->begin) {
        wait->begin = now;
    } else if (moved_data(wait, now)) {
        wait->begin = wait->back = now;
        wait->cold = false;
        return;
    }
    const uint64_t awake = wait->patient ? PSE_BACKOFF_AWAKE_PATIENT : PSE_BACKOFF_AWAKE;
    const bool was_cold = wait->cold;
    wait->cold = false;
    if (was_cold) {
        /* Look once more at once: only a look with warm caches tells whether data moves. */
    } else if (now - wait->begin > awake || now < busy_until) {
        nap(wait, now);
        wait->cold = true;
    } else if (now >= free_until || ++wait->looks % PSE_BACKOFF_LOOKS == 0) {
        let_others_run(wait, now);
    }
    wait->back = pse_clock();
}
