#include "trace_hooks.h"
#include "abi_coven.h"

/* How the bytes travel; `rank`: at the other end. */
static uint16_t flags_of(const pse_messaging *messaging, const pse_message *message, uint32_t rank)
{
    uint16_t flags = message->flags != 0 ? PSE_MESSAGE_COLLECTIVE : 0;
    if (messaging->hooks.is_remote(messaging->hooks.engine, rank))
        flags |= PSE_MESSAGE_REMOTE;
    if (message->kind == PSE_CARRIES_PARTITION_SCALAR)
        return flags | PSE_MESSAGE_SCALAR;
    if (rank != messaging->hooks.rank &&
        (message->kind == PSE_CARRIES_PARTITION_REFERENCE || message->kind == PSE_CARRIES_PARTITION_POINTER))
        flags |= PSE_MESSAGE_RENDEZVOUS;
    return flags | PSE_MESSAGE_COPIED;
}

static void note_at(const pse_messaging *messaging, uint64_t time, uint16_t type, const pse_message *message,
                    uint32_t rank, uint64_t bytes)
{
    pse_recorder_add_at(messaging->hooks.recorder, time, type, flags_of(messaging, message, rank),
                        message->site, message->tph, bytes,
                        pse_pair(rank, (uint32_t)(message->sequence & PSE_KEY_NUMBER)),
                        pse_pair(message->edge, message->index));
}

void pse_messaging_note_message(const pse_messaging *messaging, uint16_t type, const pse_message *message,
                                uint32_t rank, uint64_t bytes)
{
    note_at(messaging, pse_clock(), type, message, rank, bytes);
}

void pse_messaging_note_passing(const pse_messaging *messaging, const pse_message *message, uint64_t bytes)
{
    uint64_t now = pse_clock();
    note_at(messaging, now, PSE_EVENT_PARTITION_SEND, message, messaging->hooks.rank, bytes);
    note_at(messaging, now, PSE_EVENT_PARTITION_RECEIVE, message, messaging->hooks.rank, bytes);
}

/* The trace's number of a collective, and whether one partition is its root. */
static uint16_t number_of(uint32_t kind, bool *rooted)
{
    static const struct {
        uint8_t number, rooted;
    } kinds[] = {
#define X(name, has_root) [COVEN_##name] = {PSE_COLLECTIVE_##name, has_root},
        COVEN_COLLECTIVES(X)
#undef X
    };
    *rooted = kinds[kind].rooted;
    return kinds[kind].number;
}

uint64_t pse_messaging_note_collective(const pse_messaging_schedule *plan, uint16_t type, uint64_t first)
{
    const pse_mailbox *mailbox = plan->mailbox;
    uint64_t now = pse_clock();
    bool rooted;
    uint16_t number = number_of(plan->what.kind, &rooted);
    pse_recorder_add_at(mailbox->messaging->hooks.recorder, now, type, number, plan->site, mailbox->tph,
                        first, pse_pair(mailbox->partition, (uint32_t)(plan->key & PSE_KEY_NUMBER)),
                        pse_pair(rooted ? (uint32_t)plan->what.root : PSE_NONE, mailbox->region.scope));
    return now;
}
