/* How a rank pauses between two looks at MPI: it spins while it has the core for itself, else lets others
 * run, and sleeps when the wait gets long.
 *
 * Whether the core is free is learnt from sched_yield: it comes back within a microsecond if nobody else
 * wants this core.  That knowledge holds for a while, so a spinning rank asks only now and then.  A yield
 * that takes long has met somebody who computes: then sleeping is better, since a sleeper that wakes up gets
 * the core back sooner than one that yields.
 *
 * A look that takes much longer than the quickest one of the same wait has moved data.  Then there is no
 * pause, or a message that goes in many pieces would have to wait for each of them. */
#ifndef PSE_COOPWAIT_BACKOFF_H
#define PSE_COOPWAIT_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* One wait.  All zero at its begin; the first look costs nothing of this. */
struct backoff {
    uint64_t begin, back; /* of the wait, or of the last time that data moved; of the current look */
    uint64_t quickest;
    unsigned looks;
    bool cold; /* the last look came after a sleep, so its time says nothing */
};

/* After a look that found nothing. */
void pse_coopwait_pause(struct backoff *wait);

#endif
