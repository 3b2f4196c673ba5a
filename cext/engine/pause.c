/* Pauses: points of the program where the caller can see, save and move what a rank holds.
 *
 * At a pause the context expects nothing that has not come, so that what its slots hold is the whole state
 * of this rank: a checkpoint writes it down, rebalancing hands it to another rank's sequencer.  Every rank
 * passes the same pauses in the same order.
 */
#include "state.h"

/* Whether something is under way to this context. */
static bool expecting(const pse_sequencer *s, const pse_context *context)
{
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        if (context->slots[slot].state == VALUE_AWAITED)
            return true;
    return context->unwanted != NULL || context->children > 0;
}

int pause_step(pse_sequencer *s, pse_context *context, int *result)
{
    bool always = s->plan->instructions[context->pc].b != 0;
    bool due = s->due != 0 && (always || s->rounds + 1 >= s->due);
    if (due && !context->paused) {
        if (expecting(s, context) || s->overflow_count > 0 || s->held_up != NULL)
            return PROGRESS_BLOCKED;
        context->paused = 1;
        s->pending_context = context;
        s->pending_call = NULL;
        *result = PSE_RUN_PAUSE;
        return PROGRESS_CALLER;
    }
    context->paused = 0;
    s->rounds++;
    context->pc++;
    return PROGRESS_RAN;
}

void pse_sequencer_set_due(pse_sequencer *s, uint64_t rounds)
{
    s->due = rounds;
}

uint64_t pse_sequencer_rounds(const pse_sequencer *s)
{
    return s->rounds;
}

int32_t pse_sequencer_point(const pse_sequencer *s)
{
    return s->plan->instructions[s->pending_context->pc].a;
}

/* Messages that came and were not used yet leave their queues: whoever goes on from here starts with none. */
void pse_sequencer_take_all(pse_sequencer *s)
{
    for (uint32_t slot = 0; slot < s->plan->slots; slot++)
        value_take(s, &s->pending_context->slots[slot]);
}

/* Begin at a pause of an earlier run of the same program, with what the caller puts into the slots. */
bool pse_sequencer_start_at(pse_sequencer *s, int32_t point, uint64_t rounds)
{
    for (uint32_t i = 0; i < s->plan->instructions_count; i++) {
        const pse_instruction *at = &s->plan->instructions[i];
        if (at->operation != PSE_OP_PAUSE || at->a != point)
            continue;
        s->oldest->pc = (int32_t)i + 1;
        s->pending_context = s->oldest;
        s->rounds = rounds + 1;
        return true;
    }
    return false;
}

/* Take over from a sequencer of the same rank that stands at a pause and owes nobody anything: its counts go
 * on, but for those of queues, which are empty (pse_board_forget_taken). */
void pse_sequencer_succeed(pse_sequencer *s, const pse_sequencer *before)
{
    for (uint32_t loop = 0; loop < s->plan->loops_count; loop++) {
        s->loops[loop].ordinals = before->loops[loop].ordinals;
        s->loops[loop].done = before->loops[loop].done;
    }
    memcpy(s->sequences, before->sequences, s->plan->ranks * sizeof *s->sequences);
    s->oldest->executed = before->oldest->executed;
    s->oldest->turns = before->oldest->turns;
    s->quiet.mine = before->quiet.mine;
    s->quiet.round = before->quiet.round;
    s->rounds = before->rounds + 1;
}
