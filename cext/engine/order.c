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
#include <stdlib.h>

#include "state.h"

/* Ranks that one rank tells; up to one more than this, everybody hears from processor 0 itself. */
#define BRANCHES 8u

struct standing {
    standing *next;
    uint64_t tph, turn;   /* which call: its TPH, and the number of the collective call there */
    uint32_t ranks;       /* of this rank and those below: where it stands */
    pse_context *context; /* NULL while it does not stand here */
    const pse_call *call;
};

static uint32_t first_below(const pse_sequencer *s)
{
    return s->plan->place * BRANCHES + 1;
}

static uint32_t end_below(const pse_sequencer *s)
{
    uint32_t end = first_below(s) + BRANCHES;
    return end < s->plan->ensemble_count ? end : s->plan->ensemble_count;
}

static uint32_t count_below(const pse_sequencer *s)
{
    return end_below(s) > first_below(s) ? end_below(s) - first_below(s) : 0;
}

bool order_matters(const pse_sequencer *s, const pse_call *call)
{
    return call->ordered && s->plan->ensemble_count > 1;
}

static void tell(pse_sequencer *s, uint32_t place, uint8_t kind, const standing *item)
{
    uint32_t rank = s->plan->ensemble[place];
    pse_message message = {.kind = kind, .edge = PSE_NONE, .source = s->plan->rank, .tph = item->tph};
    message.value.integer = (int64_t)item->turn;
    if (s->plan->remote[rank])
        post_remote(s, rank, &message);
    else
        post(s, rank, &message);
}

/* The entry of a call; a new one if this rank has not heard of it yet. */
static standing *entry_of(pse_sequencer *s, uint64_t tph, uint64_t turn)
{
    for (standing *item = s->standing; item != NULL; item = item->next)
        if (item->tph == tph && item->turn == turn)
            return item;
    standing *item = calloc(1, sizeof *item);
    if (item == NULL)
        abort();
    item->tph = tph;
    item->turn = turn;
    item->next = s->standing;
    return s->standing = item;
}

/* The call is to run: tell the ranks below before this one is lost in MPI. */
static void order(pse_sequencer *s, standing *item)
{
    standing **link = &s->standing;
    while (*link != item)
        link = &(*link)->next;
    *link = item->next;
    item->next = NULL;
    for (uint32_t place = first_below(s); place < end_below(s); place++)
        tell(s, place, PSE_CARRIES_ORDER, item);
    for (link = &s->ordered; *link != NULL;)
        link = &(*link)->next;
    *link = item;
}

static void count_rank(pse_sequencer *s, standing *item)
{
    if (++item->ranks <= count_below(s))
        return;
    if (s->plan->place == 0)
        order(s, item);
    else
        tell(s, (s->plan->place - 1) / BRANCHES, PSE_CARRIES_READY, item);
}

void order_message(pse_sequencer *s, const pse_message *message)
{
    standing *item = entry_of(s, message->tph, (uint64_t)message->value.integer);
    if (message->kind == PSE_CARRIES_READY)
        count_rank(s, item);
    else
        order(s, item);
    ring_all(s);
}

/* A call that stands has its places in queues already, so that no other call takes them. */
static void hold_places(pse_sequencer *s, const pse_call *call, uint64_t by)
{
    for (int32_t i = call->first_push; i < call->first_push + call->pushes; i++)
        s->sent[i] += by;
}

void order_stand(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    standing *item = entry_of(s, context->tph, context->turns++);
    item->context = context;
    item->call = call;
    context->standing = 1;
    hold_places(s, call, 1);
    count_rank(s, item);
    ring_all(s);
}

/* Whether an order for the ranks below still lies here because an inbox was full. */
static bool held_up(const pse_sequencer *s)
{
    for (size_t i = 0; i < s->overflow_count; i++)
        if (s->overflow[i].kind == PSE_CARRIES_ORDER)
            return true;
    return false;
}

int order_step(pse_sequencer *s, int *result)
{
    standing *item = s->ordered;
    if (item == NULL || held_up(s))
        return PROGRESS_BLOCKED;
    if (s->outbox_count > 0) { /* There may be orders for other nodes in it. */
        *result = PSE_RUN_POLL;
        return PROGRESS_CALLER;
    }
    pse_context *context = item->context;
    const pse_call *call = item->call;
    s->ordered = item->next;
    free(item);
    context->standing = 0;
    hold_places(s, call, UINT64_MAX);
    return call_in_turn(s, context, call, result);
}

static void free_entries(standing *item)
{
    while (item != NULL) {
        standing *next = item->next;
        free(item);
        item = next;
    }
}

void order_destroy(pse_sequencer *s)
{
    free_entries(s->standing);
    free_entries(s->ordered);
}
