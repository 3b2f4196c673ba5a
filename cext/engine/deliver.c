/* Messages on their way into slots.
 *
 * A definition made elsewhere is *expected* when the context's control flow passes it; the message may come
 * before (it waits in `arrivals`, or in `strays` if even its context does not exist yet) or after.  Messages
 * of one source on one edge of one context keep their order, so the n-th message meets the n-th expectation.
 */
#include <stdlib.h>

#include "state.h"

pse_block *message_buffer(pse_sequencer *s, const pse_message *message)
{
    if (message->kind == PSE_CARRIES_HANDLE)
        return block_at(s, message->value.handle);
    if (message->kind == PSE_CARRIES_POINTER)
        return message->value.pointer;
    return NULL;
}

early *early_new(pse_sequencer *s, const pse_message *message)
{
    early *item = s->spare_early;
    if (item != NULL)
        s->spare_early = item->next;
    else
        item = malloc(sizeof *item);
    if (item == NULL)
        abort();
    item->message = *message;
    item->next = NULL;
    return item;
}

void early_recycle(pse_sequencer *s, early *item)
{
    item->next = s->spare_early;
    s->spare_early = item;
}

static void fill_piece(pse_sequencer *s, value *v, const pse_message *message)
{
    piece *p = &v->as.pieces[message->index];
    p->here = 1;
    p->source = message->source;
    p->dtype = message->dtype;
    p->buffer = message_buffer(s, message);
    if (p->buffer == NULL)
        memcpy(p->scalar, message->value.scalar, sizeof p->scalar);
    if (--v->missing == 0)
        v->state = VALUE_PIECES;
}

static void fill_single(pse_sequencer *s, value *v, const pse_message *message)
{
    v->missing = 0;
    v->source = message->source;
    v->dtype = message->dtype;
    if (message->kind == PSE_CARRIES_SCALAR) {
        v->state = VALUE_SCALAR;
        memcpy(v->as.real, message->value.scalar, sizeof v->as.real);
    } else {
        v->state = VALUE_BUFFER;
        v->as.buffer = message_buffer(s, message);
    }
}

static bool wants(const value *v, const pse_message *message)
{
    return v->state == VALUE_AWAITED && v->edge == message->edge &&
           (v->count == 0 || !v->as.pieces[message->index].here);
}

static void accept(pse_sequencer *s, value *v, const pse_message *message)
{
    if (v->count == 0)
        fill_single(s, v, message);
    else
        fill_piece(s, v, message);
    v->untaken = 1;
    if (v->renamed && v->state != VALUE_AWAITED)
        value_take(s, v);
}

/* All of an unwanted value has come and was dropped: its senders may send the next. */
static void unwanted_complete(pse_sequencer *s, const unwanted *item)
{
    uint64_t taken = count_taken(s, item->edge);
    for (uint32_t i = 0; i < item->count; i++)
        tell_taken(s, item->sources[i] - 1, item->edge, taken);
}

static void drop_unwanted(pse_sequencer *s, unwanted **link, const pse_message *message)
{
    unwanted *item = *link;
    pse_block *buffer = message_buffer(s, message);
    if (buffer != NULL) {
        queue_changed(s, message->tph, message->edge, message->source, -1);
        buffer_release(s, buffer);
    }
    item->sources[message->index] = message->source + 1;
    if (--item->missing > 0)
        return;
    unwanted_complete(s, item);
    *link = item->next;
    free(item);
}

void forget_unwanted(pse_context *context, const value *v)
{
    uint32_t count = v->count ? v->count : 1;
    unwanted *item = calloc(1, sizeof *item + count * sizeof *item->sources), **link = &context->unwanted;
    if (item == NULL)
        abort();
    item->edge = v->edge;
    item->missing = v->missing;
    item->ticket = v->ticket;
    item->count = count;
    for (uint32_t i = 0; i < v->count; i++)
        item->sources[i] = v->as.pieces[i].here ? v->as.pieces[i].source + 1 : 0;
    while (*link != NULL)
        link = &(*link)->next;
    *link = item;
}

static value *first_waiting(pse_sequencer *s, pse_context *context, const pse_message *message)
{
    value *first = NULL;
    const int32_t *route = &s->routes[s->route_first[message->edge]];
    for (uint32_t i = 0; i < s->route_count[message->edge]; i++) {
        value *v = &context->slots[route[i]];
        if (wants(v, message) && (first == NULL || v->ticket < first->ticket))
            first = v;
    }
    return first;
}

static unwanted **first_unwanted(pse_context *context, const pse_message *message)
{
    unwanted **first = NULL;
    for (unwanted **link = &context->unwanted; *link != NULL; link = &(*link)->next)
        if ((*link)->edge == message->edge && (*link)->sources[message->index] == 0 &&
            (first == NULL || (*link)->ticket < (*first)->ticket))
            first = link;
    return first;
}

/* Keep a message until it is expected. */
static void keep_early(pse_context *context, early *item)
{
    early **link = &context->arrivals[item->message.edge % PSE_ARRIVAL_LISTS];
    while (*link != NULL)
        link = &(*link)->next;
    *link = item;
}

/* The message goes to the oldest expectation of its edge, whether that is still wanted or not. */
static void into_context(pse_sequencer *s, pse_context *context, const pse_message *message)
{
    value *waiting = first_waiting(s, context, message);
    unwanted **dropped = first_unwanted(context, message);
    if (dropped != NULL && (waiting == NULL || (*dropped)->ticket < waiting->ticket)) {
        drop_unwanted(s, dropped, message);
    } else if (waiting != NULL) {
        accept(s, waiting, message);
    } else {
        keep_early(context, early_new(s, message));
    }
}

static uint64_t message_bytes(pse_sequencer *s, const pse_message *message)
{
    pse_block *buffer = message_buffer(s, message);
    return buffer ? layout_bytes(&buffer->layout) : 16;
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
static void mirror(pse_sequencer *s, const pse_message *message)
{
    uint64_t count = (uint64_t)message->value.integer;
    if (message->kind == PSE_CARRIES_CREDIT)
        credit_grew(s, message->edge,
                    raise_to(pse_board_taken(s->board, message->edge, message->source), count));
    else
        count_heard(s, message, raise_to(pse_board_loop(s->board, message->index, message->source), count));
}

/* A queue is an edge as its consumer sees it: what has come along it and was not used yet. */
void queue_changed(pse_sequencer *s, uint64_t tph, uint32_t edge, uint32_t source, int by)
{
    s->queued[edge] += (uint32_t)by;
    if (s->shown != NULL)
        atomic_store_explicit(&s->shown[edge], s->queued[edge], memory_order_relaxed);
    if (s->recorder != NULL)
        record(s, pse_clock(), PSE_EVENT_QUEUE_DEPTH, 0, s->plan->edge_sites[edge], tph,
               pse_pair(edge, source), s->queued[edge], s->plan->edge_depths[edge]);
}

void deliver(pse_sequencer *s, const pse_message *message)
{
    if (pse_messaging_owns(message->kind)) {
        pse_messaging_deliver(s->mail, message);
        return;
    }
    if (message->kind == PSE_CARRIES_READY || message->kind == PSE_CARRIES_ORDER) {
        order_message(s, message);
        return;
    }
    if (message->kind == PSE_CARRIES_CREDIT || message->kind == PSE_CARRIES_ITERATIONS) {
        mirror(s, message);
        return;
    }
    if (s->recorder != NULL)
        record(s, pse_clock(), PSE_EVENT_RECEIVE, message->flags, s->plan->edge_sites[message->edge],
               message->tph, message_bytes(s, message), pse_pair(message->source, message->edge),
               message->sequence);
    forward(s, message);
    if (message->kind != PSE_CARRIES_SCALAR)
        queue_changed(s, message->tph, message->edge, message->source, 1);
    pse_context *context = context_find(s, message->tph);
    if (context != NULL) {
        into_context(s, context, message);
        return;
    }
    early **link = &s->strays;
    while (*link != NULL)
        link = &(*link)->next;
    *link = early_new(s, message);
}

void adopt_strays(pse_sequencer *s, pse_context *context)
{
    early **link = &s->strays;
    while (*link != NULL) {
        early *item = *link;
        if (item->message.tph != context->tph) {
            link = &item->next;
            continue;
        }
        *link = item->next;
        item->next = NULL;
        keep_early(context, item);
    }
}

void expect(pse_sequencer *s, pse_context *context, int32_t slot, uint32_t edge, uint32_t pieces)
{
    context = context->home;
    value *v = slot_renew(s, context, slot);
    v->state = VALUE_AWAITED;
    v->edge = edge;
    v->ticket = context->tickets++;
    v->count = pieces;
    v->missing = pieces ? pieces : 1;
    if (pieces)
        v->as.pieces = calloc(pieces, sizeof *v->as.pieces);
    if (pieces && v->as.pieces == NULL)
        abort();
    for (early **link = &context->arrivals[edge % PSE_ARRIVAL_LISTS];
         *link != NULL && v->state == VALUE_AWAITED;) {
        early *item = *link;
        if (!wants(v, &item->message)) {
            link = &item->next;
            continue;
        }
        accept(s, v, &item->message);
        *link = item->next;
        early_recycle(s, item);
    }
}

/* A message from another rank. */
static void arrive(pse_sequencer *s, const pse_message *message)
{
    if (quiet_message(s, message))
        return;
    quiet_delivered(s);
    deliver(s, message);
}

bool drain(pse_sequencer *s)
{
    pse_inbox *inbox = pse_board_inbox(s->board, s->plan->rank);
    pse_message message;
    bool any = false;
    while (pse_channel_inbox_take(inbox, &message)) {
        arrive(s, &message);
        any = true;
    }
    return any;
}

void pse_sequencer_deliver(pse_sequencer *s, const pse_message *message)
{
    arrive(s, message);
}
