/* When nothing can run: say what is waited for, and sleep until it comes. */
#ifndef PSE_ENGINE_WAITING_H
#define PSE_ENGINE_WAITING_H

#include "engine.h"

#define PSE_NO_REASON UINT32_MAX

/* How long a rank with remote peers computes small calls, or waits for a full inbox, without looking at MPI.
 */
#define PSE_POLL_NANOSECONDS 50000u

typedef struct pse_engine_waiting {
    uint64_t polled_at;
    uint32_t wants, announced; /* PSE_WANT_*: found by the last pass; shown on the board */
    uint32_t reason; /* what the oldest blocked call waits for: PSE_WANT_*, 0 for input, NO_REASON */
    uint64_t frees_seen, still_since; /* for finding out that nobody can ever free */
    uint32_t bells_seen;
    uint64_t recorded_begin; /* of the latest wait in the trace; 0: there is none */
} pse_engine_waiting;

/* Say what we wait for, so that whoever brings it rings.  Then everything must be looked at once more. */
void pse_engine_announce(pse_engine *s, uint32_t wants);

/* Sleep; says why to return to the caller, or -1 to go on. */
int pse_engine_wait_for_work(pse_engine *s, uint32_t seen, uint64_t patience);

#endif
