/* Iterations in flight.
 *
 * Every rank that takes part makes the same contexts with the same numbers.  Iteration i of a loop may start
 * when iteration i - inflight is complete on all of them: each rank shows on the board how many are complete
 * without a gap.  Other nodes are told the least of a node's ranks: by each other, or along a tree over the
 * nodes where there are many (pse_counting).
 */
#include "loops.h"

#include <stdlib.h>

#include "state/contexts.h"
#include "state/engine_state.h"
#include "state/expressions.h"
#include "state/slots.h"
#include "transport/iterations.h"

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

static bool may_start(pse_engine *s, const pse_context *context, const pse_loop *loop)
{
    if (context->children >= context->inflight)
        return false;
    if (loop->nested)
        return true;
    if (context->base + context->started < pse_engine_complete_everywhere(s, loop) + context->inflight)
        return true;
    s->waiting.wants |= PSE_WANT_ITERATION;
    return false;
}

static bool start_iteration(pse_engine *s, pse_context *context, const pse_loop *loop)
{
    uint64_t ordinal = context->base + context->started;
    pse_context *child = pse_engine_context_create(s, context, child_tph(context, loop, ordinal));
    if (child == NULL)
        return false;
    child->loop = (int32_t)loop->id;
    child->plan_loop = loop;
    child->nested = loop->nested;
    child->index = context->next;
    child->ordinal = ordinal;
    child->pc = loop->body;
    pse_engine_value_set_integer(pse_engine_slot_renew(s, child, loop->counter), context->next);
    context->children++;
    context->started++;
    context->next = (int64_t)((uint64_t)context->next + (uint64_t)loop->step);
    context->left--;
    if (s->recorder != NULL)
        pse_engine_record(s, pse_clock(), PSE_EVENT_CONTEXT_BEGIN, 0, PSE_NONE, child->tph, context->tph,
                          (uint64_t)child->index, pse_pair(loop->id, s->plan->partition));
    return true;
}

/* Iterations of a loop that its runs have begun so far: of the program's own loops in the whole program, of
 * nested ones in the context that runs them.  NULL: no memory. */
static uint64_t *ordinals_of(pse_engine *s, pse_context *context, const pse_loop *loop)
{
    if (!loop->nested)
        return &s->iterations.loops[loop->id].ordinals;
    if (context->ordinals == NULL)
        context->ordinals = calloc(s->plan->loops_count, sizeof *context->ordinals);
    return context->ordinals != NULL ? &context->ordinals[loop->id] : NULL;
}

/* Room for the flags of so many iterations in flight; false: no memory. */
static bool widen_window(pse_engine_loop *state, uint64_t inflight)
{
    if (inflight <= state->window)
        return true;
    uint8_t *wider = calloc(inflight, 1);
    if (wider == NULL)
        return false;
    free(state->ahead);
    state->ahead = wider;
    state->window = inflight;
    return true;
}

/* How many values there are from lower on, step by step, before upper. */
static uint64_t iterations(int64_t lower, int64_t upper, int64_t step)
{
    if (step > 0 ? lower >= upper : lower <= upper)
        return 0;
    uint64_t distance = (uint64_t)upper - (uint64_t)lower, width = (uint64_t)step;
    return ((step > 0 ? distance : 0 - distance) - 1) / (step > 0 ? width : 0 - width) + 1;
}

/* 0, PSE_RUN_ARITHMETIC or PSE_RUN_MEMORY. */
static int begin(pse_engine *s, pse_context *context, const pse_loop *loop)
{
    int64_t lower, upper, inflight;
    if (!pse_engine_evaluate_integer(context, s, loop->lower, &lower) ||
        !pse_engine_evaluate_integer(context, s, loop->upper, &upper) ||
        !pse_engine_evaluate_integer(context, s, loop->inflight, &inflight))
        return PSE_RUN_ARITHMETIC;
    context->inflight = inflight > 0 ? (uint64_t)inflight : 1;
    uint64_t *ordinals = ordinals_of(s, context, loop);
    pse_engine_loop *state = &s->iterations.loops[loop->id];
    if (ordinals == NULL || (!loop->nested && !widen_window(state, context->inflight)))
        return PSE_RUN_MEMORY;
    context->left = iterations(lower, upper, loop->step);
    context->started = 0;
    context->base = *ordinals;
    context->forking = 1;
    uint64_t done = 0;
    if (!loop->nested) {
        done = state->skip < context->left ? state->skip : context->left;
        state->skip = 0;
    }
    context->next = (int64_t)((uint64_t)lower + done * (uint64_t)loop->step);
    context->left -= done;
    *ordinals += context->left;
    return 0;
}

int pse_engine_fork_step(pse_engine *s, pse_context *context, const pse_loop *loop, int *result)
{
    uint64_t before = context->started;
    if (!context->forking) {
        if (!pse_engine_expression_ready(context, s, loop->lower) ||
            !pse_engine_expression_ready(context, s, loop->upper) ||
            !pse_engine_expression_ready(context, s, loop->inflight))
            return PROGRESS_BLOCKED;
        before = 0;
        int code = begin(s, context, loop);
        if (code != 0)
            return pse_engine_fail(s, context, NULL, code, result);
    }
    while (context->left > 0 && may_start(s, context, loop)) {
        if (start_iteration(s, context, loop))
            continue;
        return pse_engine_fail(s, context, NULL, PSE_RUN_MEMORY, result);
    }
    if (context->left == 0 && context->children == 0) {
        context->forking = 0;
        context->pc++;
        return PROGRESS_RAN;
    }
    return context->started > before ? PROGRESS_RAN : PROGRESS_BLOCKED;
}

/* A processor may have any number of partitions.  Outputs that partitions share are told apart by the calls
 * before them, so a region counts alike wherever its partitions live. */
int pse_engine_spread_step(pse_engine *s, pse_context *context, const pse_instruction *at, int *result)
{
    bool began = !context->forking;
    if (began)
        context->executed = (context->executed | 0xffffu) + 1;
    for (int32_t i = 0; began && i < at->b; i++) {
        if (pse_engine_fiber_create(s, context, &s->plan->fibers[at->a + i]) == NULL)
            return pse_engine_fail(s, context, NULL, PSE_RUN_MEMORY, result);
        context->children++;
    }
    context->forking = context->children > 0;
    if (!context->forking)
        context->pc++;
    return began || !context->forking ? PROGRESS_RAN : PROGRESS_BLOCKED;
}
