#include "transport/iterations.h"

#include "state/engine_state.h"
#include "transport/posting.h"

/* What every one of some ranks has completed. */
static uint64_t least_complete(pse_engine *s, uint32_t loop, uint32_t first, uint32_t count)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = first; i < first + count; i++) {
        uint64_t done = atomic_load(pse_board_loop(s->board, loop, s->plan->participants[i]));
        if (done < least)
            least = done;
    }
    return least;
}

uint64_t pse_engine_complete_everywhere(pse_engine *s, const pse_loop *loop)
{
    const pse_counting *counting = &s->plan->countings[loop->id];
    return least_complete(s, loop->id, counting->first, counting->watched);
}

bool pse_engine_oldest_iteration(pse_engine *s, const pse_context *context)
{
    context = context->home;
    if (context->loop < 0)
        return false;
    if (!context->nested)
        return pse_engine_complete_everywhere(s, context->plan_loop) >= context->ordinal;
    for (const pse_context *older = context->older; older != NULL; older = older->older)
        if (older->parent == context->parent && older->loop == context->loop && !older->ended)
            return false;
    return pse_engine_oldest_iteration(s, context->parent);
}

static void ring_wanting(pse_engine *s, uint32_t want)
{
    for (uint32_t rank = 0; rank < s->plan->ranks; rank++) {
        pse_slot *slot = pse_board_slot(s->board, rank);
        if (rank != s->plan->rank && (atomic_load(&slot->wants) & want))
            pse_channel_bell_ring(slot);
    }
}

static void tell_nodes(pse_engine *s, const pse_message *message, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        pse_engine_post_remote(s, s->plan->participants[i], message);
}

/* A rank had completed `before` iterations, and has more now: whoever makes the least of this node grow says
 * so. */
static void count_grew(pse_engine *s, uint32_t loop, uint64_t before)
{
    const pse_counting *counting = &s->plan->countings[loop];
    uint32_t first = counting->first + counting->watched, told = first + counting->counted;
    uint64_t least = counting->told > 0 ? least_complete(s, loop, first, counting->counted) : 0;
    if (least <= before)
        return;
    pse_message message = {
        .kind = PSE_CARRIES_ITERATIONS, .edge = PSE_NONE, .index = loop, .source = counting->speaker};
    message.value.integer = (int64_t)least;
    tell_nodes(s, &message, told, counting->told);
}

static bool is_counted(const pse_engine *s, const pse_counting *counting, uint32_t rank)
{
    uint32_t first = counting->first + counting->watched;
    for (uint32_t i = first; i < first + counting->counted; i++)
        if (s->plan->participants[i] == rank)
            return true;
    return false;
}

/* Another node has completed more than the `before` iterations that this one knew of. */
void pse_engine_iterations_heard(pse_engine *s, const pse_message *message, uint64_t before)
{
    const pse_counting *counting = &s->plan->countings[message->index];
    uint32_t relayed = counting->first + counting->watched + counting->counted + counting->told;
    if (message->source == counting->top)
        tell_nodes(s, message, relayed, counting->relayed);
    if (is_counted(s, counting, message->source))
        count_grew(s, message->index, before);
    ring_wanting(s, PSE_WANT_ITERATION | PSE_WANT_CREDIT);
}

void pse_engine_iteration_complete(pse_engine *s, pse_context *context)
{
    pse_engine_loop *state = &s->iterations.loops[context->loop];
    context->parent->children--;
    if (s->recorder != NULL)
        pse_engine_record(s, pse_clock(), PSE_EVENT_CONTEXT_END, 0, PSE_NONE, context->tph, 0, 0, 0);
    if (context->nested)
        return;
    uint64_t before = state->done;
    state->ahead[context->ordinal % state->window] = 1;
    while (state->ahead[state->done % state->window])
        state->ahead[state->done++ % state->window] = 0;
    atomic_store(pse_board_loop(s->board, (uint32_t)context->loop, s->plan->rank), state->done);
    ring_wanting(s,
                 PSE_WANT_ITERATION | PSE_WANT_CREDIT); /* The oldest iteration needs no place in a queue. */
    count_grew(s, (uint32_t)context->loop, before);
}
