/* Queues and credits.
 *
 * A queue is an edge as its consumer sees it: what has come along it and was not used yet.  It has `depth`
 * places, and a call starts only when every queue that it feeds has one left.  The oldest iteration in flight
 * may always go on: so queues can't deadlock. */
#ifndef PSE_ENGINE_CREDITS_H
#define PSE_ENGINE_CREDITS_H

#include "engine.h"

typedef struct pse_engine_credits {
    uint64_t *sent;          /* per push: messages handed over so far */
    uint32_t *queued;        /* per edge: arrays that came and were not used yet */
    _Atomic uint32_t *shown; /* ... as the board shows it; NULL at the end */
} pse_engine_credits;

void pse_engine_queue_changed(pse_engine *s, uint64_t tph, uint32_t edge, uint32_t source, int by);

/* Note on the board that one more message of an edge was used; returns how many that makes. */
uint64_t pse_engine_count_taken(pse_engine *s, uint32_t edge);
void pse_engine_tell_taken(pse_engine *s, uint32_t source, uint32_t edge, uint64_t taken);

/* One rank has taken more of an edge than `before`: if that makes the least of this node grow, whoever sent
 * it here gets to know.  False if ranks of this node are counted one by one. */
bool pse_engine_credit_grew(pse_engine *s, uint32_t edge, uint64_t before);

/* Whether every queue that the call feeds has a place left. */
bool pse_engine_has_credit(pse_engine *s, const pse_context *context, const pse_call *call);

#endif
