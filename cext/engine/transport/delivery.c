#include "transport/delivery.h"

#include <stdlib.h>
#include <string.h>

#include "messaging.h"
#include "state/buffers.h"
#include "state/contexts.h"
#include "state/engine_state.h"
#include "state/slots.h"
#include "transport/collective_order.h"
#include "transport/credits.h"
#include "transport/forwarding.h"
#include "transport/iterations.h"
#include "transport/unexpected.h"
#include "transport/unwanted.h"

static void fill_piece(pse_engine *s, pse_engine_value *v, const pse_message *message)
{
    pse_engine_piece *p = &v->as.pieces[message->index];
    p->here = 1;
    p->source = message->source;
    p->dtype = message->dtype;
    p->buffer = pse_engine_message_buffer(s, message);
    if (p->buffer == NULL)
        memcpy(p->scalar, message->value.scalar, sizeof p->scalar);
    if (--v->missing == 0)
        v->state = VALUE_PIECES;
}

static void fill_single(pse_engine *s, pse_engine_value *v, const pse_message *message)
{
    v->missing = 0;
    v->source = message->source;
    v->dtype = message->dtype;
    if (message->kind == PSE_CARRIES_SCALAR) {
        v->state = VALUE_SCALAR;
        memcpy(v->as.real, message->value.scalar, sizeof v->as.real);
    } else {
        v->state = VALUE_BUFFER;
        v->as.buffer = pse_engine_message_buffer(s, message);
    }
}

static bool wants(const pse_engine_value *v, const pse_message *message)
{
    return v->state == VALUE_AWAITED && v->edge == message->edge &&
           (v->count == 0 || !v->as.pieces[message->index].here);
}

static void accept(pse_engine *s, pse_engine_value *v, const pse_message *message)
{
    if (v->count == 0)
        fill_single(s, v, message);
    else
        fill_piece(s, v, message);
    v->untaken = 1;
    if (v->renamed && v->state != VALUE_AWAITED)
        pse_engine_value_take(s, v);
}

static pse_engine_value *first_waiting(pse_engine *s, pse_context *context, const pse_message *message)
{
    pse_engine_value *first = NULL;
    const int32_t *route = &s->edge_slots.slots[s->edge_slots.first[message->edge]];
    for (uint32_t i = 0; i < s->edge_slots.count[message->edge]; i++) {
        pse_engine_value *v = &context->slots[route[i]];
        if (wants(v, message) && (first == NULL || v->ticket < first->ticket))
            first = v;
    }
    return first;
}

/* The message goes to the oldest expectation of its edge, whether that is still wanted or not. */
static void into_context(pse_engine *s, pse_context *context, const pse_message *message)
{
    pse_engine_value *waiting = first_waiting(s, context, message);
    pse_engine_unwanted **dropped = pse_engine_first_unwanted(context, message);
    if (dropped != NULL && (waiting == NULL || (*dropped)->ticket < waiting->ticket)) {
        pse_engine_drop_unwanted(s, context, dropped, message);
    } else if (waiting != NULL) {
        accept(s, waiting, message);
    } else {
        pse_engine_keep_unexpected(s, context, message);
    }
}

static uint64_t message_bytes(pse_engine *s, const pse_message *message)
{
    pse_block *buffer = pse_engine_message_buffer(s, message);
    return buffer ? pse_engine_layout_bytes(&buffer->layout) : 16;
}

/* Gives what it was before. */
static uint64_t raise_to(_Atomic uint64_t *counter, uint64_t least)
{
    uint64_t now = atomic_load(counter);
    while (now < least && !atomic_compare_exchange_weak(counter, &now, least))
        continue;
    return now;
}

/* Counters of ranks on other nodes are mirrored on this node's board. */
static void mirror(pse_engine *s, const pse_message *message)
{
    uint64_t count = (uint64_t)message->value.integer;
    if (message->kind == PSE_CARRIES_CREDIT)
        pse_engine_credit_grew(s, message->edge,
                               raise_to(pse_board_taken(s->board, message->edge, message->source), count));
    else
        pse_engine_iterations_heard(
            s, message, raise_to(pse_board_loop(s->board, message->index, message->source), count));
}

void pse_engine_accept(pse_engine *s, const pse_message *message)
{
    if (pse_messaging_owns(message->kind)) {
        pse_messaging_deliver(s->messaging, message);
        return;
    }
    if (message->kind == PSE_CARRIES_READY || message->kind == PSE_CARRIES_ORDER) {
        pse_engine_order_message(s, message);
        return;
    }
    if (message->kind == PSE_CARRIES_CREDIT || message->kind == PSE_CARRIES_ITERATIONS) {
        mirror(s, message);
        return;
    }
    if (s->recorder != NULL)
        pse_engine_record(s, pse_clock(), PSE_EVENT_RECEIVE, message->flags,
                          s->plan->edge_sites[message->edge], message->tph, message_bytes(s, message),
                          pse_pair(message->source, message->edge), message->sequence);
    pse_engine_forward(s, message);
    if (message->kind != PSE_CARRIES_SCALAR)
        pse_engine_queue_changed(s, message->tph, message->edge, message->source, 1);
    pse_context *context = pse_engine_context_find(s, message->tph);
    if (context != NULL)
        into_context(s, context, message);
    else
        pse_engine_keep_stray(s, message);
}

/* Take what has come already. */
static void meet_unexpected(pse_engine *s, pse_context *context, pse_engine_value *v)
{
    pse_engine_message_list *list = &context->arrivals[v->edge % PSE_ARRIVAL_LISTS];
    pse_engine_unexpected_message *before = NULL, *item = list->first;
    while (item != NULL && v->state == VALUE_AWAITED) {
        pse_engine_unexpected_message *next = item->next;
        if (wants(v, &item->message)) {
            accept(s, v, &item->message);
            pse_engine_list_remove(s, list, before);
        } else {
            before = item;
        }
        item = next;
    }
}

bool pse_engine_expect(pse_engine *s, pse_context *context, int32_t slot, uint32_t edge, uint32_t pieces)
{
    context = context->home;
    pse_engine_value *v = pse_engine_slot_renew(s, context, slot);
    pse_engine_piece *places = pieces ? calloc(pieces, sizeof *places) : NULL;
    if (pieces && places == NULL)
        return false;
    v->state = VALUE_AWAITED;
    v->edge = edge;
    v->ticket = context->tickets++;
    v->count = pieces;
    v->missing = pieces ? pieces : 1;
    if (pieces)
        v->as.pieces = places;
    meet_unexpected(s, context, v);
    return true;
}
