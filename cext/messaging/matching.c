#include "matching.h"

#include <stdlib.h>
#include <string.h>

#include "completion.h"
#include "trace_hooks.h"

void pse_messaging_release_block(pse_messaging *messaging, const pse_message *message)
{
    const pse_messaging_hooks *hooks = &messaging->hooks;
    if (message->kind == PSE_CARRIES_PARTITION_HANDLE)
        hooks->release(hooks->engine, (pse_block *)(hooks->arena_base + message->value.handle));
    else if (message->kind == PSE_CARRIES_PARTITION_POINTER)
        hooks->release(hooks->engine, message->value.pointer);
}

void pse_messaging_free_unexpected(pse_messaging *messaging, pse_messaging_unexpected *item)
{
    messaging->references -= item->is_reference;
    pse_messaging_release_block(messaging, &item->message);
    free(item->detached);
    free(item);
}

static pse_messaging_side side_of_request(const pse_messaging_request *item)
{
    return (pse_messaging_side){.partition = item->mailbox->partition,
                                .site = item->site,
                                .kind = item->collective,
                                .extra = item->extra,
                                .type = item->array.type,
                                .bytes = item->array.bytes};
}

/* Whether what came is what was expected. */
static bool agree(const pse_messaging_request *wanted, const pse_message *message,
                  const pse_messaging_array *came)
{
    bool same_call = wanted->collective == message->flags && wanted->extra == message->extra;
    if (same_call && wanted->array.bytes == came->bytes &&
        (wanted->array.type == came->type || came->bytes == 0))
        return true;
    pse_messaging_fault *fault =
        pse_messaging_begin_fault(wanted->mailbox->messaging, wanted->mailbox,
                                  same_call ? PSE_MESSAGING_MISMATCH : PSE_MESSAGING_CONFUSED);
    fault->tag = (int32_t)(message->sequence & PSE_KEY_NUMBER);
    fault->here = side_of_request(wanted);
    fault->there = (pse_messaging_side){.partition = message->edge,
                                        .site = message->site,
                                        .kind = message->flags,
                                        .extra = message->extra,
                                        .type = came->type,
                                        .bytes = came->bytes};
    return false;
}

/* Tell the sender on another rank of the node that its array was copied. */
static void acknowledge(pse_messaging *messaging, const pse_message *message, uint64_t bytes)
{
    pse_messaging_trace_taken(messaging, message, bytes);
    pse_message answer = *message;
    answer.kind = PSE_CARRIES_PARTITION_TAKEN;
    answer.source = messaging->hooks.rank;
    answer.edge = message->index;
    answer.index = message->edge;
    messaging->hooks.post(messaging->hooks.engine, message->source, &answer);
}

/* The array was copied: its sender, a request of this rank or on another one, needs it no more. */
static void let_go(pse_messaging *messaging, const pse_message *message, uint64_t bytes,
                   pse_messaging_request *sender)
{
    if (sender != NULL)
        pse_messaging_send_complete(sender);
    else if (message->kind == PSE_CARRIES_PARTITION_REFERENCE)
        acknowledge(messaging, message, bytes);
}

void pse_messaging_meet(pse_messaging *messaging, pse_messaging_request *wanted, const pse_message *message,
                        const pse_messaging_array *came, pse_messaging_request *sender)
{
    if (!agree(wanted, message, came))
        return;
    if (came->bytes > 0)
        memcpy(wanted->array.data, came->data, came->bytes);
    let_go(messaging, message, came->bytes, sender);
    pse_messaging_request_complete(wanted);
}

bool pse_messaging_detach(pse_messaging *messaging, pse_messaging_unexpected *item)
{
    void *copy = malloc(item->array.bytes);
    if (copy == NULL)
        return false;
    memcpy(copy, item->array.data, item->array.bytes);
    let_go(messaging, &item->message, item->array.bytes, item->sender);
    item->detached = item->array.data = copy;
    item->is_reference = false;
    item->sender = NULL;
    item->message.kind = PSE_CARRIES_PARTITION_COPY;
    messaging->references--;
    return true;
}

pse_messaging_request *pse_messaging_take_receive(pse_mailbox *mailbox, uint32_t from, uint64_t key)
{
    pse_messaging_receive_lane *lane = &mailbox->receives[from % PSE_LANES];
    pse_messaging_request **link = &lane->first;
    while (*link != NULL && !((*link)->peer == from && (*link)->key == key))
        link = &(*link)->next;
    pse_messaging_request *found = *link;
    if (found == NULL)
        return NULL;
    *link = found->next;
    if (found->next == NULL)
        lane->end = link;
    return found;
}

static pse_messaging_unexpected *take_unexpected(pse_mailbox *mailbox, uint32_t from, uint64_t key)
{
    pse_messaging_unexpected_lane *lane = &mailbox->unexpected[from % PSE_LANES];
    pse_messaging_unexpected **link = &lane->first;
    while (*link != NULL && !((*link)->message.edge == from && (*link)->message.sequence == key))
        link = &(*link)->next;
    pse_messaging_unexpected *found = *link;
    if (found == NULL)
        return NULL;
    *link = found->next;
    if (found->next == NULL)
        lane->end = link;
    return found;
}

void pse_messaging_post_receive(pse_mailbox *mailbox, pse_messaging_request *item)
{
    pse_messaging_unexpected *came = take_unexpected(mailbox, item->peer, item->key);
    if (came == NULL) {
        item->next = NULL;
        pse_messaging_receive_lane *lane = &mailbox->receives[item->peer % PSE_LANES];
        *lane->end = item;
        lane->end = &item->next;
        return;
    }
    pse_messaging_meet(mailbox->messaging, item, &came->message, &came->array, came->sender);
    pse_messaging_free_unexpected(mailbox->messaging, came);
}

bool pse_messaging_add_unexpected(pse_mailbox *mailbox, const pse_message *message,
                                  const pse_messaging_array *came, bool copied, pse_messaging_request *sender)
{
    pse_messaging_unexpected *item = malloc(sizeof *item + (copied ? came->bytes : 0));
    if (item == NULL)
        return false;
    *item = (pse_messaging_unexpected){
        .message = *message,
        .sender = sender,
        .array = *came,
        .is_reference = !copied && (sender != NULL || message->kind == PSE_CARRIES_PARTITION_REFERENCE),
    };
    if (copied) {
        if (came->bytes > 0)
            memcpy(item->copy, came->data, came->bytes);
        item->array.data = item->copy;
    } else if (message->kind == PSE_CARRIES_PARTITION_SCALAR) {
        item->array.data = &item->message.value;
    }
    mailbox->messaging->references += item->is_reference;
    pse_messaging_unexpected_lane *lane = &mailbox->unexpected[message->edge % PSE_LANES];
    *lane->end = item;
    lane->end = &item->next;
    return true;
}
