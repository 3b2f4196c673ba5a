/* What comes from other ranks, and what lets this one go on. */
#include "collectives/progress.h"
#include "mailbox.h"
#include "matching.h"
#include "sending.h"
#include "trace_hooks.h"

static pse_messaging_array array_of(const pse_messaging *messaging, const pse_message *message)
{
    pse_messaging_array came = {.type = (uint8_t)message->dtype};
    pse_block *block = NULL;
    switch (message->kind) {
    case PSE_CARRIES_PARTITION_SCALAR:
        came.bytes = message->dtype >> 8;
        came.data = (void *)(uintptr_t)&message->value;
        return came;
    case PSE_CARRIES_PARTITION_REFERENCE:
        came.bytes = message->value.reference.bytes;
        came.data = messaging->hooks.arena_base + message->value.reference.at;
        return came;
    case PSE_CARRIES_PARTITION_HANDLE:
        block = (pse_block *)(messaging->hooks.arena_base + message->value.handle);
        break;
    default:
        block = message->value.pointer;
        break;
    }
    came.bytes = (uint64_t)block->layout.shape[0] * block->layout.itemsize;
    came.data = messaging->hooks.data(messaging->hooks.engine, block);
    return came;
}

/* The oldest send to this partition with this key was received. */
static void acknowledged(pse_mailbox *mailbox, const pse_message *message)
{
    pse_messaging_request *item = mailbox->sends[message->edge % PSE_LANES].first;
    while (item != NULL && !(item->peer == message->edge && item->key == message->sequence))
        item = item->next;
    if (item != NULL)
        pse_messaging_send_acknowledged(item, PSE_CARRIES_PARTITION_REFERENCE);
}

static void receive(pse_messaging *messaging, pse_mailbox *mailbox, const pse_message *message)
{
    pse_messaging_array came = array_of(messaging, message);
    pse_messaging_trace_coming(messaging, message, came.bytes);
    pse_messaging_request *wanted = pse_messaging_take_receive(mailbox, message->edge, message->sequence);
    if (wanted != NULL) {
        pse_messaging_meet(messaging, wanted, message, &came, NULL);
        pse_messaging_release_block(messaging, message);
    } else if (!pse_messaging_add_unexpected(mailbox, message, &came, false, NULL)) {
        pse_messaging_begin_fault(messaging, mailbox, PSE_MESSAGING_MEMORY);
    }
}

void pse_messaging_deliver(pse_messaging *messaging, const pse_message *message)
{
    pse_mailbox *mailbox = pse_messaging_find_mailbox(
        messaging, message->tph, pse_messaging_scope_of(message->sequence), message->index, true);
    if (mailbox == NULL) {
        pse_messaging_begin_fault(messaging, NULL, PSE_MESSAGING_MEMORY)->here.partition = message->index;
        return;
    }
    if (message->kind == PSE_CARRIES_PARTITION_TAKEN)
        acknowledged(mailbox, message);
    else
        receive(messaging, mailbox, message);
    pse_messaging_advance_schedules(messaging);
}

void pse_messaging_sent(pse_messaging *messaging, void *token)
{
    pse_messaging_send_acknowledged(token, PSE_CARRIES_PARTITION_POINTER);
    pse_messaging_advance_schedules(messaging);
}

bool pse_messaging_retry(pse_messaging *messaging)
{
    bool left = pse_messaging_send_postponed(messaging);
    pse_messaging_advance_schedules(messaging);
    return messaging->postponed != NULL || left;
}

bool pse_messaging_keeps_senders(const pse_messaging *messaging)
{
    return messaging->references > 0;
}

static void buffer_mailbox(pse_mailbox *mailbox)
{
    for (uint32_t lane = 0; lane < PSE_LANES; lane++)
        for (pse_messaging_unexpected *item = mailbox->unexpected[lane].first; item != NULL;
             item = item->next)
            if (item->is_reference)
                pse_messaging_detach(mailbox->messaging, item);
}

bool pse_messaging_buffer(pse_messaging *messaging)
{
    const uint64_t before = messaging->references;
    for (size_t i = 0; i < messaging->bucket_count && messaging->references > 0; i++)
        for (pse_mailbox *mailbox = messaging->buckets[i]; mailbox != NULL; mailbox = mailbox->chained)
            buffer_mailbox(mailbox);
    const bool copied = messaging->references < before;
    pse_messaging_advance_schedules(messaging);
    return copied;
}
