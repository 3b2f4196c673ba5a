/* How a rank rests between two looks at MPI: it spins while it has the core for itself, else lets others run,
 * and sleeps when the wait gets long.  Knows nothing of MPI.
 *
 * Whether the core is free is learnt from sched_yield: it comes back within a microsecond if nobody else
 * wants this core.  That knowledge holds for a while, so a spinning rank asks only now and then.  A yield
 * that takes long has met somebody who computes: then sleeping is better, since a sleeper that wakes up gets
 * the core back sooner than one that yields.
 *
 * A look that takes much longer than the quickest one of the same wait has moved data.  Then there is no
 * rest, or a message that goes in many pieces would have to wait for each of them. */
#ifndef PSE_COOPWAIT_REST_H
#define PSE_COOPWAIT_REST_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

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

/* One wait.  All zero at its begin; the first look costs nothing of this. */
typedef struct waiting {
    uint64_t begin, back; /* of the wait, or of the last time that data moved; of the current look */
    uint64_t quickest;
    unsigned looks;
    bool cold; /* the last look came after a sleep, so its time says nothing */
} waiting;

/* Until when this thread takes its core for free, or for one on which somebody computes. */
static _Thread_local uint64_t free_until, busy_until;

static inline uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Sleep; timers of this thread are exact from the first time on (they may be 50 us late by default). */
static void nap(uint64_t waited)
{
    static _Thread_local bool exact;
    if (!exact)
        exact = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0;
    uint64_t time = waited / NAP_SHARE;
    time = time < LEAST_NAP ? LEAST_NAP : time > LONGEST_NAP ? LONGEST_NAP : time;
    struct timespec sleep = {.tv_nsec = (long)time};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep, NULL);
}

/* Let others run, and learn from it. */
static void let_others_run(uint64_t now)
{
    sched_yield();
    uint64_t back = clock_now(), took = back - now;
    free_until = took < QUICK ? back + TRUST_FREE : 0;
    if (took > SLOW)
        busy_until = back + TRUST_BUSY;
}

/* Whether the look that ends now has moved data. */
static bool moved_data(waiting *w, uint64_t now)
{
    uint64_t took = now - w->back;
    if (w->cold)
        return false;
    if (!w->quickest || took < w->quickest)
        w->quickest = took;
    return took > 3 * w->quickest + 1000 && took < SLOW;
}

/* After a look that found nothing. */
static void rest(waiting *w)
{
    uint64_t now = clock_now();
    if (!w->begin) {
        w->begin = now;
    } else if (moved_data(w, now)) {
        w->begin = w->back = now;
        return;
    }
    bool was_cold = w->cold;
    w->cold = false;
    if (was_cold) {
        /* Look once more at once: only a look with warm caches tells whether data moves. */
    } else if (now - w->begin > AWAKE || now < busy_until) {
        nap(now - w->begin);
        w->cold = true;
    } else if (now >= free_until || ++w->looks % LOOKS == 0) {
        let_others_run(now);
    }
    w->back = clock_now();
}

#endif
