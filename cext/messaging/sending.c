#include "sending.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/operators.h"
#include "completion.h"
#include "matching.h"
#include "trace_hooks.h"

/* Arrays up to this size are copied when they are sent, so that the sender need not wait for the receiver. */
#define EAGER_BYTES 16384u

void pse_messaging_send_acknowledged(pse_messaging_request *item, uint8_t kind)
{
    pse_messaging_trace_complete(item, kind);
    pse_messaging_send_complete(item);
}

/* To a partition of this rank: straight into its receive, or among its unexpected messages. */
static bool send_here(pse_messaging *messaging, pse_messaging_request *item, pse_message *message)
{
    pse_mailbox *mailbox = pse_messaging_find_mailbox(
        messaging, message->tph, pse_messaging_scope_of(message->sequence), item->peer, true);
    if (mailbox == NULL)
        return false;
    pse_messaging_request *wanted = pse_messaging_take_receive(mailbox, message->edge, message->sequence);
    bool copied = item->array.bytes <= EAGER_BYTES;
    message->kind = copied ? PSE_CARRIES_PARTITION_COPY : PSE_CARRIES_PARTITION_REFERENCE;
    pse_messaging_trace_passing(messaging, message, item->array.bytes);
    if (wanted != NULL) {
        pse_messaging_array came = item->array;
        pse_messaging_meet(messaging, wanted, message, &came, item);
        return true;
    }
    if (!pse_messaging_add_unexpected(mailbox, message, &item->array, copied, copied ? NULL : item))
        return false;
    if (copied)
        pse_messaging_request_complete(item);
    else
        pse_messaging_await_receiver(item);
    return true;
}

static pse_layout layout_of(const pse_messaging_array *a)
{
    uint32_t item = pse_messaging_type_bytes(a->type);
    return (pse_layout){.dtype = a->type,
                        .ndim = 1,
                        .itemsize = item,
                        .shape = {(int64_t)(a->bytes / item)},
                        .strides = {item}};
}

/* False: no memory. */
static bool send_far(pse_messaging *messaging, pse_messaging_request *item, pse_message *message,
                     uint32_t rank)
{
    pse_layout layout = layout_of(&item->array);
    message->kind = PSE_CARRIES_PARTITION_POINTER;
    pse_messaging_trace_leaving(messaging, message, rank, item->array.bytes);
    if (!messaging->hooks.post_array(messaging->hooks.engine, rank, message, item->array.data, &layout, item))
        return false;
    pse_messaging_await_receiver(item);
    return true;
}

/* Whether an array lies in the arena, so that other ranks of the node can read it where it is. */
static bool in_arena(const pse_messaging *messaging, const pse_messaging_array *a)
{
    const char *first = a->data, *base = messaging->hooks.arena_base;
    return base != NULL && first >= base && first + a->bytes <= base + messaging->hooks.arena_bytes;
}

static void send_reference(pse_messaging *messaging, pse_messaging_request *item, pse_message *message,
                           uint32_t rank)
{
    message->kind = PSE_CARRIES_PARTITION_REFERENCE;
    message->value.reference.at = (uint64_t)((char *)item->array.data - messaging->hooks.arena_base);
    message->value.reference.bytes = item->array.bytes;
    pse_messaging_trace_leaving(messaging, message, rank, item->array.bytes);
    messaging->hooks.post(messaging->hooks.engine, rank, message);
    pse_messaging_await_receiver(item);
}

/* False while the arena is full. */
static bool send_near(pse_messaging *messaging, pse_messaging_request *item, pse_message *message,
                      uint32_t rank)
{
    if (item->array.bytes > EAGER_BYTES && in_arena(messaging, &item->array)) {
        send_reference(messaging, item, message, rank);
        return true;
    }
    pse_layout layout = layout_of(&item->array);
    pse_block *block = messaging->hooks.pack(messaging->hooks.engine, message, item->array.data, &layout);
    if (block == NULL)
        return false;
    message->kind = PSE_CARRIES_PARTITION_HANDLE;
    message->value.handle = (uint64_t)((char *)block - messaging->hooks.arena_base);
    pse_messaging_trace_leaving(messaging, message, rank, item->array.bytes);
    messaging->hooks.post(messaging->hooks.engine, rank, message);
    pse_messaging_request_complete(item);
    return true;
}

/* False: no memory. */
static bool postpone(pse_messaging *messaging, pse_messaging_request *item, const pse_message *message,
                     uint32_t rank)
{
    pse_messaging_postponed *later = malloc(sizeof *later);
    if (later == NULL)
        return false;
    *later = (pse_messaging_postponed){.request = item, .message = *message, .rank = rank};
    *messaging->postponed_end = later;
    messaging->postponed_end = &later->next;
    return true;
}

static void send_inline(pse_messaging *messaging, pse_messaging_request *item, pse_message *message,
                        uint32_t rank)
{
    message->kind = PSE_CARRIES_PARTITION_SCALAR;
    message->dtype = (uint16_t)(item->array.type | item->array.bytes << 8);
    if (item->array.bytes > 0)
        memcpy(&message->value, item->array.data, item->array.bytes);
    pse_messaging_trace_leaving(messaging, message, rank, item->array.bytes);
    messaging->hooks.post(messaging->hooks.engine, rank, message);
    pse_messaging_request_complete(item);
}

bool pse_messaging_post_send(pse_mailbox *mailbox, pse_messaging_request *item)
{
    pse_messaging *messaging = mailbox->messaging;
    uint32_t rank = mailbox->region.owners[item->peer];
    pse_message message = pse_messaging_message_of(item);
    if (rank == messaging->hooks.rank)
        return send_here(messaging, item, &message);
    bool small = item->array.bytes <= COVEN_SMALL;
    bool far = messaging->hooks.is_remote(messaging->hooks.engine, rank);
    if (far && !small)
        return send_far(messaging, item, &message, rank);
    if (!far && messaging->postponed != NULL) /* Messages must not overtake. */
        return postpone(messaging, item, &message, rank);
    if (!small)
        return send_near(messaging, item, &message, rank) || postpone(messaging, item, &message, rank);
    send_inline(messaging, item, &message, rank);
    return true;
}

bool pse_messaging_send_postponed(pse_messaging *messaging)
{
    while (messaging->postponed != NULL) {
        pse_messaging_postponed *item = messaging->postponed;
        if (item->request->array.bytes <= COVEN_SMALL)
            send_inline(messaging, item->request, &item->message, item->rank);
        else if (!send_near(messaging, item->request, &item->message, item->rank))
            break;
        messaging->postponed = item->next;
        if (messaging->postponed == NULL)
            messaging->postponed_end = &messaging->postponed;
        free(item);
    }
    return messaging->postponed != NULL;
}
