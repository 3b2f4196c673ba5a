/* Spinning, yielding and sleeping between two looks. */
#define _GNU_SOURCE
#include "backoff.h"

#include <sched.h>

#include "clock.h"

/* Until when this thread takes its core for free, or for one on which somebody computes; how long it took it
 * for that after its last yield. */
static _Thread_local uint64_t free_until, busy_until, trust;

uint64_t pse_backoff_yield(uint64_t now, uint64_t computes, uint64_t *busy)
{
    sched_yield();
    const uint64_t back = pse_clock();
    if (back - now > computes)
        *busy = back + PSE_BACKOFF_TRUST_BUSY;
    return back;
}

/* Sleep, then stay awake for a part of that: what moves in pieces goes on as soon as the first is seen. */
static void nap(pse_backoff *wait, uint64_t now)
{
    const uint64_t longest = wait->longest ? wait->longest : PSE_BACKOFF_LONGEST;
    uint64_t time = (now - wait->begin) / PSE_BACKOFF_SHARE;
    if (time < PSE_BACKOFF_SHORTEST)
        time = PSE_BACKOFF_SHORTEST;
    else if (time > longest)
        time = longest;
    pse_clock_sleep_until(pse_clock() + time);
    const uint64_t awake = time / PSE_BACKOFF_SHARE;
    wait->awake_until = pse_clock() + (awake < PSE_BACKOFF_AWAKE_BETWEEN ? awake : PSE_BACKOFF_AWAKE_BETWEEN);
    wait->moved = 0;
    wait->cold = true;
}

/* What a yield takes at most that has met nobody who computes. */
static uint64_t computes(const pse_backoff *wait)
{
    return wait->patient ? PSE_BACKOFF_YIELD_BUSY_PATIENT : PSE_BACKOFF_YIELD_BUSY;
}

/* Let others run, and learn from it.  If somebody ran, the next look comes with cold caches: taken for one
 * that has moved data, it would keep two ranks that wait on one core awake for each other. */
static void let_others_run(pse_backoff *wait, uint64_t now)
{
    const uint64_t back = pse_backoff_yield(now, computes(wait), &busy_until);
    wait->cold = back - now >= PSE_BACKOFF_YIELD_FREE;
    free_until = wait->cold ? 0 : back + PSE_BACKOFF_TRUST_FREE;
    if (busy_until > back) {
        trust = trust ? 2 * trust : PSE_BACKOFF_TRUST_BUSY_FIRST;
        if (trust > PSE_BACKOFF_TRUST_BUSY)
            trust = PSE_BACKOFF_TRUST_BUSY;
        busy_until = back + trust;
    } else {
        trust = 0;
    }
}

/* Whether a thread that is awake shall let others run, not only look again. */
static bool yields(pse_backoff *wait, uint64_t now)
{
    if (wait->cores == PSE_BACKOFF_SHARED_CORES)
        return true;
    if (wait->cores == PSE_BACKOFF_OWN_CORE)
        return now - wait->begin > PSE_BACKOFF_AWAKE_ALONE && now >= busy_until;
    return now >= free_until || ++wait->looks % PSE_BACKOFF_LOOKS == 0;
}

/* Whether a thread shall sleep now. */
static bool sleeps(const pse_backoff *wait, uint64_t now)
{
    const uint64_t alone = wait->cores == PSE_BACKOFF_OWN_CORE ? PSE_BACKOFF_AWAKE_ALONE : 0;
    return now > wait->awake_until || (now < busy_until && now - wait->begin >= alone);
}

/* Whether the look that ends now has moved data. */
static bool moved_data(pse_backoff *wait, uint64_t now)
{
    const uint64_t took = now - wait->back, longer = took > wait->before ? took : wait->before;
    if (!wait->cold && wait->before && (!wait->quickest || longer < wait->quickest))
        wait->quickest = longer;
    wait->before = wait->cold ? 0 : took;
    const bool known = wait->quickest && !wait->cold;
    return took > (known ? 2 * wait->quickest + PSE_BACKOFF_LOOK_JITTER : PSE_BACKOFF_LOOK_MOVED) &&
           took < computes(wait);
}

/* Stay awake while data move.  The wait begins anew if that was no look that took long by chance: a long one
 * with warm caches, or two in a row without a sleep between. */
static void go_on(pse_backoff *wait, uint64_t now, bool cold)
{
    const uint64_t took = now - wait->back, until = now + (cold ? 1 : PSE_BACKOFF_SHARE) * took;
    wait->moved += !cold && took > PSE_BACKOFF_LOOK_MOVED ? 2 : 1;
    if (wait->moved > 1)
        wait->begin = now;
    if (until > wait->awake_until)
        wait->awake_until = until;
}

static void begin(pse_backoff *wait, uint64_t now)
{
    wait->begin = now;
    wait->awake_until = now + (wait->patient ? PSE_BACKOFF_AWAKE_PATIENT : PSE_BACKOFF_AWAKE);
}

void pse_backoff_pause(pse_backoff *wait)
{
    const uint64_t now = pse_clock();
    const bool cold = wait->cold, moved = wait->begin && moved_data(wait, now);
    wait->cold = false;
    if (!wait->begin)
        begin(wait, now);
    if (moved)
        go_on(wait, now, cold);
    else if (cold)
        ; /* Look once more at once: only a look with warm caches tells whether data moves. */
    else if (sleeps(wait, now))
        nap(wait, now);
    else if (yields(wait, now))
        let_others_run(wait, now);
    wait->back = moved ? now : pse_clock();
}
