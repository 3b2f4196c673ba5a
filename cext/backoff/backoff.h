/* How a thread pauses between two looks at something that nobody announces (MPI): it spins while it has the
 * core for itself, else lets others run, and sleeps when the wait gets long.
 *
 * If it knows that those for which it waits have cores of their own, it never yields; if they may need this
 * one, at each look.  Else whether the core is free is learnt from sched_yield: it comes back within a
 * microsecond if nobody else wants this core.  That knowledge holds for a while, so a spinning thread asks
 * only now and then.  A yield that takes long has met somebody who computes: then sleeping is better, since a
 * sleeper that wakes up gets the core back sooner than one that yields.
 *
 * A look that takes much longer than the quickest one has moved data.  Then there is no pause, or a message
 * that goes in many pieces would have to wait for each of them. */
#ifndef PSE_BACKOFF_H
#define PSE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "abi_waiting.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pse_backoff_cores { PSE_BACKOFF_UNKNOWN_CORES, PSE_BACKOFF_OWN_CORE, PSE_BACKOFF_SHARED_CORES };

/* One wait.  All zero at its begin, but for what is known before; the first look costs nothing of this. */
typedef struct pse_backoff {
    uint64_t begin, back; /* of the wait, or of the last time that data moved; of the current look */
    uint64_t awake_until;
    uint64_t quickest; /* ns of the longer of two looks in a row, may be known before: MPI looks at its node
                        * and at the network in turn */
    uint64_t before;   /* ns of the last look; 0: none, or cold */
    uint64_t longest;  /* ns of a sleep; 0: PSE_BACKOFF_LONGEST */
    enum pse_backoff_cores cores; /* may be known before */
    unsigned looks;
    unsigned moved; /* looks that moved data since the last sleep */
    bool patient;   /* in MPI itself: stays awake for longer */
    bool cold;      /* the next look comes after a sleep, or after others ran: its time says nothing */
} pse_backoff;

/* After a look that found nothing. */
void pse_backoff_pause(pse_backoff *wait);

/* Let others run; gives the time after it.  If that took longer than `computes`, somebody computes on this
 * core, and *busy_until becomes the time until which waits should sleep at once. */
uint64_t pse_backoff_yield(uint64_t now, uint64_t computes, uint64_t *busy_until);

#ifdef __cplusplus
}
#endif
#endif
