/* What this room writes into the trace: one test of a pointer where there is none.
 *
 * A message is noted when it leaves, when it has come to the rank of its receiver, and, if its bytes stay
 * with the sender until then, when the receiver has taken them and when the sender knows.  A collective is
 * noted for each partition that comes to it; its messages are noted as all others.
 */
#ifndef PSE_NOTES_H
#define PSE_NOTES_H

#include "post.h"

static inline bool is_traced(const pse_mail *mail)
{
    return mail->hooks.recorder != NULL;
}

/* How the bytes travel; `rank`: at the other end. */
static inline uint16_t note_flags(const pse_mail *mail, const pse_message *message, uint32_t rank)
{
    uint16_t flags = message->flags != 0 ? PSE_MESSAGE_COLLECTIVE : 0;
    if (mail->hooks.is_remote(mail->hooks.engine, rank))
        flags |= PSE_MESSAGE_REMOTE;
    if (message->kind == PSE_CARRIES_MAIL_SCALAR)
        return flags | PSE_MESSAGE_SCALAR;
    if (rank != mail->hooks.rank &&
        (message->kind == PSE_CARRIES_MAIL_REFERENCE || message->kind == PSE_CARRIES_MAIL_POINTER))
        flags |= PSE_MESSAGE_RENDEZVOUS;
    return flags | PSE_MESSAGE_COPIED;
}

/* `message` as it was sent; `rank`: at the other end of where this is noted. */
static inline void note_message(const pse_mail *mail, uint64_t time, uint16_t type,
                                const pse_message *message, uint32_t rank, uint64_t bytes)
{
    pse_recorder_add_at(mail->hooks.recorder, time, type, note_flags(mail, message, rank), message->site,
                        message->tph, bytes, pse_pair(rank, (uint32_t)(message->sequence & KEY_NUMBER)),
                        pse_pair(message->edge, message->index));
}

static inline void note_leaving(const pse_mail *mail, const pse_message *message, uint32_t rank,
                                uint64_t bytes)
{
    if (is_traced(mail))
        note_message(mail, pse_clock(), PSE_EVENT_PARTITION_SEND, message, rank, bytes);
}

static inline void note_coming(const pse_mail *mail, const pse_message *message, uint64_t bytes)
{
    if (is_traced(mail))
        note_message(mail, pse_clock(), PSE_EVENT_PARTITION_RECEIVE, message, message->source, bytes);
}

/* From one partition of this rank to another: it leaves and comes at once. */
static inline void note_passing(const pse_mail *mail, const pse_message *message, uint64_t bytes)
{
    if (!is_traced(mail))
        return;
    uint64_t now = pse_clock();
    note_message(mail, now, PSE_EVENT_PARTITION_SEND, message, mail->hooks.rank, bytes);
    note_message(mail, now, PSE_EVENT_PARTITION_RECEIVE, message, mail->hooks.rank, bytes);
}

static inline void note_taken(const pse_mail *mail, const pse_message *message, uint64_t bytes)
{
    if (is_traced(mail))
        note_message(mail, pse_clock(), PSE_EVENT_PARTITION_TAKE, message, message->source, bytes);
}

/* The other rank has let us know: by a message of the node, or through MPI. */
static inline void note_complete(const request *item, uint8_t kind)
{
    const pse_mail *mail = item->box->mail;
    if (!is_traced(mail))
        return;
    pse_message message = message_of(item);
    message.kind = kind;
    note_message(mail, pse_clock(), PSE_EVENT_PARTITION_SEND_COMPLETE, &message,
                 item->box->region.owners[item->peer], item->array.bytes);
}

/* The trace's number of a collective, and whether one partition is its root. */
static inline uint16_t note_kind(uint32_t kind, bool *rooted)
{
    static const struct {
        uint8_t number, rooted;
    } kinds[] = {
        [COVEN_BARRIER] = {PSE_COLLECTIVE_BARRIER, 0},     [COVEN_BCAST] = {PSE_COLLECTIVE_BCAST, 1},
        [COVEN_REDUCE] = {PSE_COLLECTIVE_REDUCE, 1},       [COVEN_ALLREDUCE] = {PSE_COLLECTIVE_ALLREDUCE, 0},
        [COVEN_SCAN] = {PSE_COLLECTIVE_SCAN, 0},           [COVEN_GATHER] = {PSE_COLLECTIVE_GATHER, 1},
        [COVEN_ALLGATHER] = {PSE_COLLECTIVE_ALLGATHER, 0}, [COVEN_SCATTER] = {PSE_COLLECTIVE_SCATTER, 1},
        [COVEN_ALLTOALL] = {PSE_COLLECTIVE_ALLTOALL, 0},   [COVEN_ALLTOALLV] = {PSE_COLLECTIVE_ALLTOALLV, 0},
    };
    *rooted = kinds[kind].rooted;
    return kinds[kind].number;
}

/* `first`: bytes at its begin, the time of its begin at its end. */
static inline void note_collective(const schedule *plan, uint64_t now, uint16_t type, uint64_t first)
{
    const pse_box *box = plan->box;
    bool rooted;
    uint16_t number = note_kind(plan->what.kind, &rooted);
    pse_recorder_add_at(box->mail->hooks.recorder, now, type, number, plan->site, box->tph, first,
                        pse_pair(box->partition, (uint32_t)(plan->key & KEY_NUMBER)),
                        pse_pair(rooted ? (uint32_t)plan->what.root : PSE_NONE, box->region.scope));
}

static inline void note_begun(schedule *plan)
{
    if (!is_traced(plan->box->mail))
        return;
    plan->begun = pse_clock();
    note_collective(plan, plan->begun, PSE_EVENT_PARTITION_COLLECTIVE_BEGIN, plan->what.count * plan->item);
}

static inline void note_ended(const schedule *plan)
{
    if (is_traced(plan->box->mail))
        note_collective(plan, pse_clock(), PSE_EVENT_PARTITION_COLLECTIVE_END, plan->begun);
}

#endif
