/* Waiting without hanging: a rank that waits here reads notices, and rank 0 finds out when no rank can
 * continue.
 *
 * A rank that has waited for a while says so.  When all have, rank 0 asks all of them, twice: if all still
 * wait, none has continued in between and no notice is on its way, it is a deadlock.  If a rank then waits in
 * a standard send whose data MPI has buffered, the program works through buffering only: that is reported,
 * and from then on sends return as MPI lets them.  Otherwise the job is ended.
 */
#ifndef PSE_CHECK_DEADLOCK_H
#define PSE_CHECK_DEADLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "notices.h"

enum { PATIENCE_MS = 5000, SHOWN_RANKS = 16 };

/* What this rank waits for. */
struct waiting_state {
    bool blocked, releasable, told, impatient;
    int receiver;     /* rank in the job, of the send that is releasable */
    uint64_t changes; /* begins and ends of waiting */
    const char *routine, *where, *text;
};

static inline uint64_t now_ms(void)
{
    return pse_clock() / 1000000;
}

#pragma GCC visibility push(hidden)

extern struct waiting_state pse_check_state;
extern bool pse_check_released;     /* sends don't wait for their match any more */
extern bool pse_check_many_threads; /* several threads call MPI: then what one waits for says nothing */

/* The lock is held by all that is in the tool, and never while MPI or the program may wait. */
void pse_check_lock(void);
void pse_check_unlock(void);

/* Whatever a rank owes the others when it is in the tool. */
void pse_check_attend(void);
void pse_check_answer(void);
/* Rank 0: a rank has said that it waits, or has answered. */
void pse_check_take_stuck(int from);
void pse_check_take_answer(const struct check_notice *notice, int from);
/* Wait until `ready` says so; with the lock, which is let go while it sleeps. */
void pse_check_wait_until(bool (*ready)(void *), void *data, const char *routine, const char *where,
                          const char *text);
/* Begin; `attend` is called whenever this rank is in the tool, after its notices have been read. */
void pse_check_open_detector(void (*attend)(void));

#pragma GCC visibility pop

#endif
