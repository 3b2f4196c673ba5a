/* Pauses: points of the program where the caller can see, save and move what a rank holds.
 *
 * At a pause the context expects nothing that has not come, so that what its slots hold is the whole state
 * of this rank: a checkpoint writes it down, rebalancing hands it to another rank's sequencer.  Every rank
 * passes the same pauses in the same order.
 */
#include "pause.h"

#include <string.h>

#include "state/engine_state.h"
#include "state/slots.h"

/* Whether something is under way to this context. */
static bool expecting(const pse_engine *s, const pse_context *context)
{
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        if (context->slots[slot].state == VALUE_AWAITED)
            return true;
    return context->unwanted_count > 0 || context->children > 0;
}

int pse_engine_pause_step(pse_engine *s, pse_context *context, int *result)
{
    bool always = s->plan->instructions[context->pc].b != 0;
    uint64_t next = s->pause.due;
    bool due = next != 0 && (always || s->pause.rounds + 1 >= next);
    if (due && !context->paused) {
        if (expecting(s, context) || s->posting.overflow_count > 0 || s->forwarding.held_up.first != NULL)
            return PROGRESS_BLOCKED;
        context->paused = 1;
        s->pending.context = context;
        s->pending.call = NULL;
        *result = PSE_RUN_PAUSE;
        return PROGRESS_CALLER;
    }
    context->paused = 0;
    s->pause.rounds++;
    context->pc++;
    return PROGRESS_RAN;
}

void pse_engine_set_due(pse_engine *s, uint64_t rounds)
{
    s->pause.due = rounds;
}

uint64_t pse_engine_rounds(const pse_engine *s)
{
    return s->pause.rounds;
}

int32_t pse_engine_point(const pse_engine *s)
{
    return s->plan->instructions[s->pending.context->pc].a;
}

/* Messages that came and were not used yet leave their queues: whoever goes on from here starts with none. */
void pse_engine_take_all(pse_engine *s)
{
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        pse_engine_value_take(s, &s->pending.context->slots[slot]);
}

/* Begin at a pause of an earlier run of the same program, with what the caller puts into the slots. */
bool pse_engine_start_at(pse_engine *s, int32_t point, uint64_t rounds)
{
    for (uint32_t i = 0; i < s->plan->instructions_count; i++) {
        const pse_instruction *at = &s->plan->instructions[i];
        if (at->operation != PSE_OP_PAUSE || at->a != point)
            continue;
        s->contexts.oldest->pc = (int32_t)i + 1;
        s->pending.context = s->contexts.oldest;
        s->pause.rounds = rounds + 1;
        return true;
    }
    return false;
}

/* Take over from a sequencer of the same rank that stands at a pause and owes nobody anything: its counts go
 * on, but for those of queues, which are empty (pse_board_forget_taken). */
void pse_engine_succeed(pse_engine *s, const pse_engine *before)
{
    for (uint32_t loop = 0; loop < s->plan->loops_count; loop++) {
        s->iterations.loops[loop].ordinals = before->iterations.loops[loop].ordinals;
        s->iterations.loops[loop].done = before->iterations.loops[loop].done;
    }
    memcpy(s->posting.sequences, before->posting.sequences, s->plan->ranks * sizeof *s->posting.sequences);
    s->contexts.oldest->executed = before->contexts.oldest->executed;
    s->contexts.oldest->turns = before->contexts.oldest->turns;
    s->deadlock.activity = before->deadlock.activity;
    s->posting.posted = before->posting.posted;
    s->posting.delivered = before->posting.delivered;
    s->deadlock.round = before->deadlock.round;
    s->pause.rounds = before->pause.rounds + 1;
}
