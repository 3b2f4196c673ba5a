#include "transport/credits.h"

#include "state/engine_state.h"
#include "transport/iterations.h"
#include "transport/posting.h"

/* A queue is an edge as its consumer sees it: what has come along it and was not used yet. */
void pse_engine_queue_changed(pse_engine *s, uint64_t tph, uint32_t edge, uint32_t source, int by)
{
    s->credits.queued[edge] += (uint32_t)by;
    if (s->credits.shown != NULL)
        atomic_store_explicit(&s->credits.shown[edge], s->credits.queued[edge], memory_order_relaxed);
    if (s->recorder != NULL)
        pse_engine_record(s, pse_clock(), PSE_EVENT_QUEUE_DEPTH, 0, s->plan->edge_sites[edge], tph,
                          pse_pair(edge, source), s->credits.queued[edge], s->plan->edge_depths[edge]);
}

/* One rank has taken more of an edge than `before`: if that makes the least of this node grow, whoever sent
 * it here gets to know.  False if ranks of this node are counted one by one. */
bool pse_engine_credit_grew(pse_engine *s, uint32_t edge, uint64_t before)
{
    const uint32_t *row = &s->plan->credits[s->plan->credit_first[edge]];
    const uint32_t *end = &s->plan->credits[s->plan->credit_first[edge + 1]];
    if (row == end)
        return false;
    uint64_t least = UINT64_MAX;
    for (const uint32_t *rank = row + 2; rank < end; rank++) {
        uint64_t taken = atomic_load(pse_board_taken(s->board, edge, *rank));
        least = taken < least ? taken : least;
    }
    if (least <= before)
        return true;
    pse_message message = {.kind = PSE_CARRIES_CREDIT, .edge = edge, .source = row[1]};
    message.value.integer = (int64_t)least;
    pse_engine_post_remote(s, row[0], &message);
    return true;
}

void pse_engine_tell_taken(pse_engine *s, uint32_t source, uint32_t edge, uint64_t taken)
{
    pse_slot *slot = pse_board_slot(s->board, source);
    if (pse_engine_credit_grew(s, edge, taken - 1))
        return;
    if (s->plan->remote[source]) {
        pse_message message = {.kind = PSE_CARRIES_CREDIT, .edge = edge, .source = s->plan->rank};
        message.value.integer = (int64_t)taken;
        pse_engine_post_remote(s, source, &message);
    } else if (atomic_load(&slot->wants) & PSE_WANT_CREDIT) {
        pse_channel_bell_ring(slot);
    }
}

/* Note on the board that one more message of an edge was used; returns how many that makes. */
uint64_t pse_engine_count_taken(pse_engine *s, uint32_t edge)
{
    return atomic_fetch_add(pse_board_taken(s->board, edge, s->plan->rank), 1u) + 1;
}

bool pse_engine_has_credit(pse_engine *s, const pse_context *context, const pse_call *call)
{
    for (int32_t i = call->first_push; i < call->first_push + call->pushes; i++) {
        const pse_push *push = &s->plan->pushes[i];
        if (!push->throttled)
            continue;
        uint64_t taken = atomic_load(pse_board_taken(s->board, push->edge, push->rank));
        if (s->credits.sent[i] - taken >= push->depth && !pse_engine_oldest_iteration(s, context))
            return false;
    }
    return true;
}
