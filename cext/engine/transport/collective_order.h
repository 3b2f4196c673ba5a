/* One order of collective calls on all ranks of a thread. */
#ifndef PSE_ENGINE_COLLECTIVE_ORDER_H
#define PSE_ENGINE_COLLECTIVE_ORDER_H

#include "engine.h"

#define PSE_STANDING_LISTS 64u

typedef struct pse_engine_ordered_call {
    struct pse_engine_ordered_call *next;
    uint64_t tph, turn;   /* which call: its TPH, and the number of the collective call there */
    uint32_t ranks;       /* of this rank and those below: where it stands */
    pse_context *context; /* NULL while it does not stand here */
    const pse_call *call;
} pse_engine_ordered_call;

typedef struct pse_engine_collective_order {
    pse_engine_ordered_call *standing[PSE_STANDING_LISTS]; /* calls that stand somewhere, by TPH and turn */
    pse_engine_ordered_call *ordered, *last_ordered;       /* those to run, in their order */
} pse_engine_collective_order;

bool pse_engine_order_matters(const pse_engine *s, const pse_call *call);

/* The call stands here: nothing can keep it from running any more but its turn.  False: no memory. */
bool pse_engine_order_announce(pse_engine *s, pse_context *context, const pse_call *call);

/* Whether a call is to run now.  PROGRESS_RAN: *context and *call say which; CALLER: the outbox must be sent
 * first, as *result says; BLOCKED: none. */
int pse_engine_order_next(pse_engine *s, pse_context **context, const pse_call **call, int *result);

void pse_engine_order_message(pse_engine *s, const pse_message *message);
void pse_engine_order_destroy(pse_engine *s);

#endif
