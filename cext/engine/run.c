/* The engine's loop: take messages, let the oldest context that can go on go on, else sleep. */
#include "arrival.h"
#include "calls/call.h"
#include "calls/partition_wait.h"
#include "deadlock_detection.h"
#include "loops.h"
#include "messaging.h"
#include "pause.h"
#include "state/contexts.h"
#include "state/engine_state.h"
#include "state/expressions.h"
#include "state/slots.h"
#include "transport/collective_order.h"
#include "transport/delivery.h"
#include "transport/forwarding.h"
#include "transport/iterations.h"
#include "transport/posting.h"
#include "waiting.h"

static int assign(pse_engine *s, pse_context *context, const pse_instruction *at, int *result)
{
    pse_engine_value v;
    if (!pse_engine_expression_ready(context, s, at->b))
        return PROGRESS_BLOCKED;
    if (!pse_engine_evaluate_any(context, s, at->b, &v))
        return pse_engine_fail(s, context, NULL, PSE_RUN_ARITHMETIC, result);
    pse_engine_value *target = pse_engine_slot_renew(s, context, at->a);
    target->state = v.state;
    target->dtype = v.dtype;
    target->as = v.as;
    context->pc++;
    return PROGRESS_RAN;
}

static int branch(pse_engine *s, pse_context *context, const pse_instruction *at, int *result)
{
    pse_engine_value v;
    if (!pse_engine_expression_ready(context, s, at->b))
        return PROGRESS_BLOCKED;
    if (!pse_engine_evaluate(context, s, at->b, &v))
        return pse_engine_fail(s, context, NULL, PSE_RUN_ARITHMETIC, result);
    bool holds = v.dtype == PSE_I64 ? v.as.integer != 0 : v.as.real[0] != 0;
    context->pc = holds ? context->pc + 1 : at->a;
    return PROGRESS_RAN;
}

static void swap_slots(pse_engine *s, pse_context *context, int32_t a, int32_t b)
{
    pse_engine_value *slots = context->home->slots, kept = slots[a];
    slots[a] = slots[b];
    slots[b] = kept;
    pse_engine_value_rename(s, &slots[a]);
    pse_engine_value_rename(s, &slots[b]);
}

/* Run a context until it executed a call, blocks, ends, or needs the caller. */
static int advance(pse_engine *s, pse_context *context, int *result)
{
    for (;;) {
        const pse_instruction *at = &s->plan->instructions[context->pc];
        int progress = PROGRESS_RAN;
        switch (at->operation) {
        case PSE_OP_CALL:
            return pse_engine_call_step(s, context, &s->plan->calls[at->a], result);
        case PSE_OP_FORK:
            s->pending.context = context;
            s->pending.call = NULL;
            return pse_engine_fork_step(s, context, &s->plan->loops[at->a], result);
        case PSE_OP_SPREAD:
            return pse_engine_spread_step(s, context, at, result);
        case PSE_OP_PAUSE:
            progress = pse_engine_pause_step(s, context, result);
            break;
        case PSE_OP_END:
            return PROGRESS_ENDED;
        case PSE_OP_ASSIGN:
            progress = assign(s, context, at, result);
            break;
        case PSE_OP_JUMP_UNLESS:
            progress = branch(s, context, at, result);
            break;
        case PSE_OP_JUMP:
            context->pc = at->a;
            break;
        case PSE_OP_EXPECT:
            if (!pse_engine_expect(s, context, at->a, (uint32_t)at->b, (uint32_t)at->c))
                return pse_engine_fail(s, context, NULL, PSE_RUN_MEMORY, result);
            context->pc++;
            break;
        case PSE_OP_DROP:
            pse_engine_slot_drop(s, context, at->a);
            context->pc++;
            break;
        default:
            swap_slots(s, context, at->a, at->b);
            context->pc++;
            break;
        }
        if (progress != PROGRESS_RAN)
            return progress;
    }
}

/* A context is gone when its code has ended and nothing is on its way to it any more. */
static bool finish(pse_engine *s, pse_context *context)
{
    if (context->home != context) {
        context->home->children--;
        pse_engine_fiber_remove(s, context);
        return true;
    }
    if (!context->ended)
        for (uint32_t slot = 0; slot < s->plan->slots; slot++)
            pse_engine_slot_drop(s, context, (int32_t)slot);
    context->ended = 1;
    if (context->unwanted_count > 0)
        return false;
    if (context->parent != NULL)
        pse_engine_iteration_complete(s, context);
    pse_engine_context_remove(s, context);
    return true;
}

static int pass(pse_engine *s, int *result)
{
    s->waiting.wants = 0;
    s->waiting.reason = PSE_NO_REASON;
    const pse_call *call;
    pse_context *standing;
    int ordered = pse_engine_order_next(s, &standing, &call, result);
    if (ordered == PROGRESS_RAN)
        return pse_engine_call_in_turn(s, standing, call, result);
    if (ordered != PROGRESS_BLOCKED)
        return ordered;
    for (pse_context *context = s->contexts.oldest, *next; context != NULL; context = next) {
        next = context->younger;
        uint32_t wanted = s->waiting.wants;
        if (context->stuck != NULL && context->stuck->state == VALUE_AWAITED) {
            s->waiting.reason = s->waiting.reason == PSE_NO_REASON ? 0 : s->waiting.reason;
            continue;
        }
        int progress = context->ended ? PROGRESS_ENDED : advance(s, context, result);
        if (progress == PROGRESS_RAN || progress == PROGRESS_CALLER)
            return progress;
        if (progress == PROGRESS_ENDED && finish(s, context))
            return PROGRESS_RAN;
        if (progress == PROGRESS_BLOCKED && !context->forking && s->waiting.reason == PSE_NO_REASON)
            s->waiting.reason = s->waiting.wants & ~wanted;
    }
    return PROGRESS_BLOCKED;
}

static bool time_to_poll(pse_engine *s)
{
    if (!s->plan->has_remote)
        return false;
    uint64_t now = pse_clock();
    if (s->posting.outbox_count == 0 && now - s->waiting.polled_at < PSE_POLL_NANOSECONDS)
        return false;
    s->waiting.polled_at = now;
    return true;
}

int pse_engine_run(pse_engine *s, uint64_t patience)
{
    int result = PSE_RUN_DONE;
    for (;;) {
        uint32_t seen = pse_channel_bell_read(s->self);
        pse_engine_drain(s);
        pse_engine_ring_all(s);
        bool congested = s->posting.overflow_count > 0 && pse_engine_flush_overflow(s);
        int progress = pass(s, &result);
        if (progress != PROGRESS_BLOCKED)
            pse_engine_deadlock_moved(s);
        if (pse_engine_forward_retry(s))
            s->waiting.wants |= PSE_WANT_SPACE;
        if (pse_engine_messaging_step(s))
            return PSE_RUN_MESSAGING;
        if (s->out_of_memory || s->released_twice) {
            int code = s->out_of_memory ? PSE_RUN_MEMORY : PSE_RUN_RELEASED;
            pse_engine_fail(s, s->contexts.oldest, NULL, code, &result);
            return result;
        }
        if (progress != PROGRESS_BLOCKED && s->waiting.announced)
            pse_engine_announce(s, 0);
        if (progress == PROGRESS_CALLER)
            return result;
        if (s->contexts.oldest == NULL && !congested && s->forwarding.held_up.first == NULL)
            return s->posting.outbox_count ? PSE_RUN_POLL : PSE_RUN_DONE;
        if (time_to_poll(s))
            return PSE_RUN_POLL;
        if (progress == PROGRESS_RAN)
            continue;
        if (s->waiting.wants != s->waiting.announced) {
            pse_engine_announce(s, s->waiting.wants);
            continue;
        }
        int reason = pse_engine_wait_for_work(s, seen, congested ? PSE_POLL_NANOSECONDS : patience);
        if (reason >= 0)
            return reason;
    }
}
