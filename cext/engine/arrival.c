#include "arrival.h"

#include "deadlock_detection.h"
#include "messaging.h"
#include "state/engine_state.h"
#include "transport/delivery.h"
#include "transport/forwarding.h"
#include "transport/posting.h"

/* A message from another rank. */
static void arrive(pse_engine *s, const pse_message *message)
{
    if (pse_engine_deadlock_message(s, message))
        return;
    s->posting.delivered++;
    pse_engine_accept(s, message);
}

void pse_engine_drain(pse_engine *s)
{
    pse_inbox *inbox = pse_board_inbox(s->board, s->plan->rank);
    pse_message message;
    while (pse_channel_inbox_take(inbox, &message))
        arrive(s, &message);
}

void pse_engine_deliver(pse_engine *s, const pse_message *message)
{
    arrive(s, message);
}

/* A rank that is done, or stands at a pause, goes on answering; others may still wait for partitions that
 * were here. */
bool pse_engine_serve(pse_engine *s)
{
    pse_engine_drain(s);
    if (s->posting.overflow_count > 0)
        pse_engine_flush_overflow(s);
    pse_engine_forward_retry(s);
    pse_messaging_buffer(s->messaging); /* Nobody here receives anything before the run goes on. */
    pse_engine_deadlock_answer(s);
    pse_engine_ring_all(s);
    return !s->out_of_memory;
}
