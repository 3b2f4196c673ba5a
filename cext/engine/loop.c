/* Iterations in flight.
 *
 * Every rank that takes part makes the same contexts with the same numbers.  Iteration i of a loop may start
 * when iteration i - inflight is complete on all of them: each rank shows on the board how many are complete
 * without a gap.  Other nodes are told the least of a node's ranks: by each other, or along a tree over the
 * nodes where there are many (pse_counting).
 */
#include <stdlib.h>

#include "state.h"

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* The iteration's number, the same on every rank.  In the program's own loops it is exact; deeper ones are
 * hashed. */
static uint64_t child_tph(const pse_context *parent, const pse_loop *loop, uint64_t ordinal)
{
    if (!loop->nested)
        return (ordinal + 1) << 16 | loop->id;
    return mixed(mixed(parent->tph + loop->id) + ordinal) | UINT64_C(1) << 63;
}

/* What every one of some ranks has completed. */
static uint64_t least_complete(pse_sequencer *s, uint32_t loop, uint32_t first, uint32_t count)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = first; i < first + count; i++) {
        uint64_t done = atomic_load(pse_board_loop(s->board, loop, s->plan->participants[i]));
        if (done < least)
            least = done;
    }
    return least;
}

uint64_t complete_everywhere(pse_sequencer *s, const pse_loop *loop)
{
    const pse_counting *counting = &s->plan->countings[loop->id];
    return least_complete(s, loop->id, counting->first, counting->watched);
}

static bool may_start(pse_sequencer *s, const pse_context *context, const pse_loop *loop)
{
    if (context->children >= context->inflight)
        return false;
    if (loop->nested)
        return true;
    if (context->base + context->started < complete_everywhere(s, loop) + context->inflight)
        return true;
    s->wants |= PSE_WANT_ITERATION;
    return false;
}

static bool start_iteration(pse_sequencer *s, pse_context *context, const pse_loop *loop)
{
    uint64_t ordinal = context->base + context->started;
    pse_context *child = context_create(s, context, child_tph(context, loop, ordinal));
    if (child == NULL)
        return false;
    child->loop = (int32_t)loop->id;
    child->plan_loop = loop;
    child->nested = loop->nested;
    child->index = context->next;
    child->ordinal = ordinal;
    child->pc = loop->body;
    set_integer(slot_renew(s, child, loop->counter), context->next);
    context->children++;
    context->started++;
    context->next++;
    if (s->recorder != NULL)
        record(s, pse_clock(), PSE_EVENT_CONTEXT_BEGIN, 0, PSE_NONE, child->tph, context->tph,
               (uint64_t)child->index, pse_pair(loop->id, s->plan->partition));
    return true;
}

/* Iterations of a loop that its runs have begun so far: of the program's own loops in the whole program, of
 * nested ones in the context that runs them. */
static uint64_t *ordinals_of(pse_sequencer *s, pse_context *context, const pse_loop *loop)
{
    if (!loop->nested)
        return &s->loops[loop->id].ordinals;
    if (context->ordinals == NULL)
        context->ordinals = calloc(s->plan->loops_count, sizeof *context->ordinals);
    if (context->ordinals == NULL)
        abort();
    return &context->ordinals[loop->id];
}

static bool begin(pse_sequencer *s, pse_context *context, const pse_loop *loop)
{
    int64_t lower, inflight;
    if (!evaluate_integer(context, s, loop->lower, &lower) ||
        !evaluate_integer(context, s, loop->upper, &context->upper) ||
        !evaluate_integer(context, s, loop->inflight, &inflight))
        return false;
    context->next = lower;
    context->started = 0;
    context->inflight = inflight > 0 ? (uint64_t)inflight : 1;
    uint64_t *ordinals = ordinals_of(s, context, loop);
    context->base = *ordinals;
    context->forking = 1;
    loop_state *state = &s->loops[loop->id];
    if (!loop->nested) {
        context->next += (int64_t)state->skip;
        state->skip = 0;
    }
    if (context->upper > context->next)
        *ordinals += (uint64_t)(context->upper - context->next);
    if (loop->nested)
        return true;
    if (context->inflight > state->window) {
        free(state->ahead);
        state->ahead = calloc(context->inflight, 1);
        if (state->ahead == NULL)
            abort();
        state->window = context->inflight;
    }
    return true;
}

int fork_step(pse_sequencer *s, pse_context *context, const pse_loop *loop, int *result)
{
    uint64_t before = context->started;
    if (!context->forking) {
        if (!expression_ready(context, s, loop->lower) || !expression_ready(context, s, loop->upper) ||
            !expression_ready(context, s, loop->inflight))
            return PROGRESS_BLOCKED;
        before = 0;
        if (!begin(s, context, loop)) {
            *result = PSE_RUN_ARITHMETIC;
            return PROGRESS_CALLER;
        }
    }
    while (context->next < context->upper && may_start(s, context, loop)) {
        if (start_iteration(s, context, loop))
            continue;
        *result = PSE_RUN_MEMORY;
        return PROGRESS_CALLER;
    }
    if (context->next >= context->upper && context->children == 0) {
        context->forking = 0;
        context->pc++;
        return PROGRESS_RAN;
    }
    return context->started > before ? PROGRESS_RAN : PROGRESS_BLOCKED;
}

/* A processor may have any number of partitions.  Outputs that partitions share are told apart by the calls
 * before them, so a region counts alike wherever its partitions live. */
int spread_step(pse_sequencer *s, pse_context *context, const pse_instruction *at, int *result)
{
    bool began = !context->forking;
    if (began)
        context->executed = (context->executed | 0xffffu) + 1;
    for (int32_t i = 0; began && i < at->b; i++) {
        if (fiber_create(s, context, &s->plan->fibers[at->a + i]) == NULL) {
            *result = PSE_RUN_MEMORY;
            return PROGRESS_CALLER;
        }
        context->children++;
    }
    context->forking = context->children > 0;
    if (!context->forking)
        context->pc++;
    return began || !context->forking ? PROGRESS_RAN : PROGRESS_BLOCKED;
}

void ring_wanting(pse_sequencer *s, uint32_t want)
{
    for (uint32_t rank = 0; rank < s->plan->ranks; rank++) {
        pse_slot *slot = pse_board_slot(s->board, rank);
        if (rank != s->plan->rank && (atomic_load(&slot->wants) & want))
            pse_channel_bell_ring(slot);
    }
}

static void tell_nodes(pse_sequencer *s, const pse_message *message, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        post_remote(s, s->plan->participants[i], message);
}

/* A rank had completed `before` iterations, and has more now: whoever makes the least of this node grow says
 * so. */
static void count_grew(pse_sequencer *s, uint32_t loop, uint64_t before)
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

static bool is_counted(const pse_sequencer *s, const pse_counting *counting, uint32_t rank)
{
    uint32_t first = counting->first + counting->watched;
    for (uint32_t i = first; i < first + counting->counted; i++)
        if (s->plan->participants[i] == rank)
            return true;
    return false;
}

/* Another node has completed more than the `before` iterations that this one knew of. */
void count_heard(pse_sequencer *s, const pse_message *message, uint64_t before)
{
    const pse_counting *counting = &s->plan->countings[message->index];
    uint32_t relayed = counting->first + counting->watched + counting->counted + counting->told;
    if (message->source == counting->top)
        tell_nodes(s, message, relayed, counting->relayed);
    if (is_counted(s, counting, message->source))
        count_grew(s, message->index, before);
    ring_wanting(s, PSE_WANT_ITERATION | PSE_WANT_CREDIT);
}

void iteration_complete(pse_sequencer *s, pse_context *context)
{
    loop_state *state = &s->loops[context->loop];
    context->parent->children--;
    if (s->recorder != NULL)
        record(s, pse_clock(), PSE_EVENT_CONTEXT_END, 0, PSE_NONE, context->tph, 0, 0, 0);
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
