/* One order of collective calls.
 *
 * A module with a communicator may call MPI's collectives, and blocks there until its instances on all other
 * processors have come to the same call.  With several TPHs in flight each rank would come to such calls in
 * an order of its own, and they would wait for each other for ever.  So a call gets there in two steps:
 *
 * 1. It *stands*: its inputs are here, its outputs are allocated, its places in queues are taken, so nothing
 *    can keep it from running any more.  The rank says so, up a tree, and goes on with other calls.
 * 2. As soon as a call stands on all ranks of the thread, the rank of processor 0 *orders* it, down the tree.
 *    Everybody runs what was ordered in that order, before anything else.
 *
 * So nobody is inside MPI while a peer can't come: the peer is in another call, which ends, and then runs
 * what was ordered.  This holds whatever queues, memory and other threads do.  Were processor 0 to decide on
 * its own readiness alone, a peer might need a place in a queue that only gets free once processor 0 goes on
 * with an older TPH; and whoever is early would burn its core in MPI, where now it sleeps.
 */
#include "transport/collective_order.h"

#include <stdlib.h>

#include "state/engine_state.h"
#include "transport/posting.h"

/* Ranks that one rank tells; up to one more than this, everybody hears from processor 0 itself. */
#define BRANCHES 8u

static uint32_t first_below(const pse_engine *s)
{
    return s->plan->place * BRANCHES + 1;
}

static uint32_t end_below(const pse_engine *s)
{
    uint32_t end = first_below(s) + BRANCHES;
    return end < s->plan->ensemble_count ? end : s->plan->ensemble_count;
}

static uint32_t count_below(const pse_engine *s)
{
    return end_below(s) > first_below(s) ? end_below(s) - first_below(s) : 0;
}

bool pse_engine_order_matters(const pse_engine *s, const pse_call *call)
{
    return call->ordered && s->plan->ensemble_count > 1;
}

static void tell(pse_engine *s, uint32_t place, uint8_t kind, const pse_engine_ordered_call *item)
{
    uint32_t rank = s->plan->ensemble[place];
    pse_message message = {.kind = kind, .edge = PSE_NONE, .source = s->plan->rank, .tph = item->tph};
    message.value.integer = (int64_t)item->turn;
    pse_engine_tell(s, rank, &message);
}

static pse_engine_ordered_call **list_of(pse_engine *s, uint64_t tph, uint64_t turn)
{
    return &s->order.standing[(tph ^ (tph >> 16) ^ (tph >> 40) ^ turn) % PSE_STANDING_LISTS];
}

/* The entry of a call; a new one if this rank has not heard of it yet.  NULL: no memory. */
static pse_engine_ordered_call *entry_of(pse_engine *s, uint64_t tph, uint64_t turn)
{
    pse_engine_ordered_call **list = list_of(s, tph, turn);
    for (pse_engine_ordered_call *item = *list; item != NULL; item = item->next)
        if (item->tph == tph && item->turn == turn)
            return item;
    pse_engine_ordered_call *item = calloc(1, sizeof *item);
    if (item == NULL)
        return NULL;
    item->tph = tph;
    item->turn = turn;
    item->next = *list;
    return *list = item;
}

/* The call is to run: tell the ranks below before this one is lost in MPI. */
static void order(pse_engine *s, pse_engine_ordered_call *item)
{
    pse_engine_ordered_call **link = list_of(s, item->tph, item->turn);
    while (*link != item)
        link = &(*link)->next;
    *link = item->next;
    item->next = NULL;
    for (uint32_t place = first_below(s); place < end_below(s); place++)
        tell(s, place, PSE_CARRIES_ORDER, item);
    *(s->order.last_ordered != NULL ? &s->order.last_ordered->next : &s->order.ordered) = item;
    s->order.last_ordered = item;
}

static void count_rank(pse_engine *s, pse_engine_ordered_call *item)
{
    if (++item->ranks <= count_below(s))
        return;
    if (s->plan->place == 0)
        order(s, item);
    else
        tell(s, (s->plan->place - 1) / BRANCHES, PSE_CARRIES_READY, item);
}

void pse_engine_order_message(pse_engine *s, const pse_message *message)
{
    pse_engine_ordered_call *item = entry_of(s, message->tph, (uint64_t)message->value.integer);
    if (item == NULL) {
        s->out_of_memory = true;
        return;
    }
    if (message->kind == PSE_CARRIES_READY)
        count_rank(s, item);
    else
        order(s, item);
    pse_engine_ring_all(s);
}

/* A call that stands has its places in queues already, so that no other call takes them. */
static void hold_places(pse_engine *s, const pse_call *call, uint64_t by)
{
    for (int32_t i = call->first_push; i < call->first_push + call->pushes; i++)
        s->credits.sent[i] += by;
}

bool pse_engine_order_announce(pse_engine *s, pse_context *context, const pse_call *call)
{
    pse_engine_ordered_call *item = entry_of(s, context->tph, context->turns);
    if (item == NULL)
        return false;
    context->turns++;
    item->context = context;
    item->call = call;
    context->standing = 1;
    hold_places(s, call, 1);
    count_rank(s, item);
    pse_engine_ring_all(s);
    return true;
}

int pse_engine_order_next(pse_engine *s, pse_context **context, const pse_call **call, int *result)
{
    pse_engine_ordered_call *item = s->order.ordered;
    /* An order for the ranks below may still lie here because an inbox was full. */
    if (item == NULL || s->posting.held_orders > 0)
        return PROGRESS_BLOCKED;
    if (s->posting.outbox_count > 0) { /* There may be orders for other nodes in it. */
        *result = PSE_RUN_POLL;
        return PROGRESS_CALLER;
    }
    *context = item->context;
    *call = item->call;
    s->order.ordered = item->next;
    if (item->next == NULL)
        s->order.last_ordered = NULL;
    free(item);
    (*context)->standing = 0;
    hold_places(s, *call, UINT64_MAX);
    return PROGRESS_RAN;
}

static void free_entries(pse_engine_ordered_call *item)
{
    while (item != NULL) {
        pse_engine_ordered_call *next = item->next;
        free(item);
        item = next;
    }
}

void pse_engine_order_destroy(pse_engine *s)
{
    for (uint32_t i = 0; i < PSE_STANDING_LISTS; i++)
        free_entries(s->order.standing[i]);
    free_entries(s->order.ordered);
}
