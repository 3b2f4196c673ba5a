/* What this room writes into the trace; one test of a pointer where there is none.
 *
 * A message is noted when it leaves, when it has come to the rank of its receiver, and, if its bytes stay
 * with the sender until then, when the receiver has taken them and when the sender knows.  A collective is
 * noted for each partition that comes to it; its messages are noted as all others.
 */
#ifndef PSE_MESSAGING_TRACE_HOOKS_H
#define PSE_MESSAGING_TRACE_HOOKS_H

#include "collectives/schedule.h"
#include "mailbox.h"

static inline bool pse_messaging_is_traced(const pse_messaging *messaging)
{
    return messaging->hooks.recorder != NULL;
}

/* Note an event of a message; `rank`: at the other end of where this is noted. */
void pse_messaging_note_message(const pse_messaging *messaging, uint16_t type, const pse_message *message,
                                uint32_t rank, uint64_t bytes);
void pse_messaging_note_passing(const pse_messaging *messaging, const pse_message *message, uint64_t bytes);
/* `first`: bytes at its begin, the time of its begin at its end.  Gives the time. */
uint64_t pse_messaging_note_collective(const pse_messaging_schedule *plan, uint16_t type, uint64_t first);

static inline void pse_messaging_trace_leaving(const pse_messaging *messaging, const pse_message *message,
                                               uint32_t rank, uint64_t bytes)
{
    if (pse_messaging_is_traced(messaging))
        pse_messaging_note_message(messaging, PSE_EVENT_PARTITION_SEND, message, rank, bytes);
}

static inline void pse_messaging_trace_coming(const pse_messaging *messaging, const pse_message *message,
                                              uint64_t bytes)
{
    if (pse_messaging_is_traced(messaging))
        pse_messaging_note_message(messaging, PSE_EVENT_PARTITION_RECEIVE, message, message->source, bytes);
}

/* From one partition of this rank to another: it leaves and comes at once. */
static inline void pse_messaging_trace_passing(const pse_messaging *messaging, const pse_message *message,
                                               uint64_t bytes)
{
    if (pse_messaging_is_traced(messaging))
        pse_messaging_note_passing(messaging, message, bytes);
}

static inline void pse_messaging_trace_taken(const pse_messaging *messaging, const pse_message *message,
                                             uint64_t bytes)
{
    if (pse_messaging_is_traced(messaging))
        pse_messaging_note_message(messaging, PSE_EVENT_PARTITION_TAKE, message, message->source, bytes);
}

/* The other rank has let us know: by a message of the node, or through MPI. */
static inline void pse_messaging_trace_complete(const pse_messaging_request *item, uint8_t kind)
{
    const pse_mailbox *mailbox = item->mailbox;
    if (!pse_messaging_is_traced(mailbox->messaging))
        return;
    pse_message message = pse_messaging_message_of(item);
    message.kind = kind;
    pse_messaging_note_message(mailbox->messaging, PSE_EVENT_PARTITION_SEND_COMPLETE, &message,
                               mailbox->region.owners[item->peer], item->array.bytes);
}

static inline void pse_messaging_trace_begun(pse_messaging_schedule *plan)
{
    if (pse_messaging_is_traced(plan->mailbox->messaging))
        plan->begun = pse_messaging_note_collective(plan, PSE_EVENT_PARTITION_COLLECTIVE_BEGIN,
                                                    plan->what.count * plan->item);
}

static inline void pse_messaging_trace_ended(const pse_messaging_schedule *plan)
{
    if (pse_messaging_is_traced(plan->mailbox->messaging))
        pse_messaging_note_collective(plan, PSE_EVENT_PARTITION_COLLECTIVE_END, plan->begun);
}

#endif
