#include "calls/call.h"

#include "calls/array_operations.h"
#include "calls/call_accounting.h"
#include "calls/compiled_modules.h"
#include "calls/finite_check.h"
#include "calls/margin_check.h"
#include "calls/outputs.h"
#include "calls/partition_wait.h"
#include "dynamic_rows.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/expressions.h"
#include "state/slots.h"
#include "transport/collective_order.h"
#include "transport/credits.h"
#include "transport/handover.h"
#include "transport/posting.h"

/* Whether the inputs of a call are there */

enum pse_engine_readiness { READY, NOT_YET, NOT_ALONE, NOTHING_THERE };

/* Somebody else keeps the array for good: leave it to him and go on with a copy. */
static enum pse_engine_readiness leave_array(pse_engine *s, pse_context *context, const pse_call *call,
                                             pse_engine_value *v)
{
    int code;
    pse_block *copy = pse_engine_buffer_pack(s, context, call, v->as.buffer, NULL,
                                             pse_engine_buffer_is_private(v->as.buffer), &code);
    if (copy == NULL) {
        s->waiting.wants |= PSE_WANT_SPACE;
        return NOT_YET;
    }
    pse_engine_buffer_release(s, v->as.buffer);
    v->as.buffer = copy;
    return READY;
}

static enum pse_engine_readiness slot_ready(pse_engine *s, pse_context *context, const pse_call *call,
                                            int32_t slot, bool exclusive)
{
    pse_engine_value *v = pse_engine_slot_read(context, slot);
    if (v->state == VALUE_AWAITED) {
        context->stuck = v;
        return NOT_YET;
    }
    if (v->state <= VALUE_OUTER)
        return NOTHING_THERE;
    if (!exclusive || v->state != VALUE_BUFFER)
        return READY;
    if (atomic_load_explicit(&v->as.buffer->pinned, memory_order_relaxed) > 0)
        return leave_array(s, context, call, v);
    if (pse_engine_buffer_exclusive(s, v->as.buffer))
        return READY;
    return v->as.buffer->flags & PSE_BLOCK_LENT ? leave_array(s, context, call, v) : NOT_ALONE;
}

static enum pse_engine_readiness argument_ready(pse_engine *s, pse_context *context, const pse_call *call,
                                                const pse_argument *argument)
{
    switch (argument->kind) {
    case PSE_ARGUMENT_READ:
    case PSE_ARGUMENT_UPDATE:
        return slot_ready(s, context, call, argument->slot, false);
    case PSE_ARGUMENT_CHANGE:
        return slot_ready(s, context, call, argument->slot, true);
    case PSE_ARGUMENT_SCALAR:
    case PSE_ARGUMENT_DIMENSION:
    case PSE_ARGUMENT_COUNT:
        return pse_engine_expression_ready(context, s, argument->expression) ? READY : NOT_YET;
    case PSE_ARGUMENT_MAKE:
    case PSE_ARGUMENT_LATER:
        for (int axis = 0; axis < argument->ndim; axis++)
            if (!pse_engine_expression_ready(context, s, argument->shape[axis]))
                return NOT_YET;
        return READY;
    default:
        return READY;
    }
}

static enum pse_engine_readiness call_ready(pse_engine *s, pse_context *context, const pse_call *call)
{
    if (call->source >= 0) {
        enum pse_engine_readiness source = slot_ready(s, context, call, call->source, false);
        if (source != READY)
            return source;
    }
    for (int32_t i = 0; i < call->arguments; i++) {
        enum pse_engine_readiness ready =
            argument_ready(s, context, call, &s->plan->arguments[call->first_argument + i]);
        if (ready != READY)
            return ready;
    }
    return READY;
}

static void take_inputs(pse_engine *s, pse_context *context, const pse_call *call)
{
    if (call->source >= 0)
        pse_engine_value_take(s, pse_engine_slot_read(context, call->source));
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (argument->kind <= PSE_ARGUMENT_CHANGE || argument->kind == PSE_ARGUMENT_UPDATE)
            pse_engine_value_take(s, pse_engine_slot_read(context, argument->slot));
    }
}

/* Execution */

static int run_engine(pse_engine *s, pse_context *context, const pse_call *call)
{
    s->pending.module_code = 0;
    if (!call->silent)
        pse_engine_account_enter(s, context, call);
    uint64_t copied = pse_engine_run_operation(s, context, call);
    if (!call->silent)
        pse_engine_account_leave(s, context, call, copied);
    pse_engine_store_outputs(s, context, call);
    return PROGRESS_RAN;
}

static int wait_for_space(pse_engine *s, pse_context *context, const pse_call *call, int code, int *result)
{
    if (code == PSE_RUN_ARITHMETIC)
        return pse_engine_fail(s, context, call, PSE_RUN_ARITHMETIC, result);
    if (code == PSE_ARENA_NO_MEMORY)
        return pse_engine_fail(s, context, call, PSE_RUN_MEMORY, result);
    if (code != PSE_ARENA_FULL)
        return pse_engine_fail(s, context, call, PSE_RUN_TOO_LARGE, result);
    s->waiting.wants |= PSE_WANT_SPACE;
    s->pending.context = context;
    s->pending.call = call;
    return PROGRESS_BLOCKED;
}

/* After the module: hand over, release, go on. */
static int hand_over(pse_engine *s, pse_context *context, const pse_call *call, int *result)
{
    if (pse_engine_closed_descriptor(s, context))
        return pse_engine_fail(s, context, call, PSE_RUN_DESCRIPTOR, result);
    if (s->finite_check.on && context->push == 0 && !pse_engine_outputs_are_finite(s, context, call))
        return pse_engine_fail(s, context, call, PSE_RUN_NOT_FINITE, result);
    if (s->buffers.guarded && context->push == 0 && !pse_engine_margins_are_whole(s, context, call))
        return pse_engine_fail(s, context, call, PSE_RUN_UNDERRUN, result);
    context->pushing = 1;
    int code = pse_engine_hand_over(s, context, call);
    if (code != 0) {
        pse_engine_ring_all(s);
        return wait_for_space(s, context, call, code, result);
    }
    for (int32_t i = 0; i < call->releases; i++)
        pse_engine_slot_drop(s, context, s->plan->releases[call->first_release + i]);
    pse_engine_ring_all(s);
    context->pushing = 0;
    context->push = 0;
    /* Only the first processor combines, and not every partition comes to what is apart. */
    if (call->kind != PSE_CALL_COMBINE && !call->apart)
        context->executed++;
    context->pc++;
    return PROGRESS_RAN;
}

/* Nothing keeps the call from running any more. */
static int execute(pse_engine *s, pse_context *context, const pse_call *call, int *result)
{
    take_inputs(s, context, call);
    if (call->kind == PSE_CALL_PYTHON)
        return pse_engine_fail(s, context, call, PSE_RUN_PYTHON, result);
    int progress = call->kind == PSE_CALL_NATIVE ? pse_engine_run_compiled(s, context, call, result)
                                                 : run_engine(s, context, call);
    if (progress == PROGRESS_PARKED)
        return PROGRESS_RAN;
    return progress == PROGRESS_RAN ? hand_over(s, context, call, result) : progress;
}

/* A parked call goes on when all is complete that it posted. */
static int resume(pse_engine *s, pse_context *context, const pse_call *call, int *result)
{
    if (!pse_engine_call_wakes(s, context, call))
        return PROGRESS_BLOCKED;
    if (call->kind == PSE_CALL_PYTHON)
        return pse_engine_fail(s, context, call, PSE_RUN_PYTHON, result);
    int progress = pse_engine_complete_compiled(s, context, call, result);
    return progress == PROGRESS_RAN ? hand_over(s, context, call, result) : progress;
}

/* A collective call waits for its turn, with all it needs in its hands. */
static int stand(pse_engine *s, pse_context *context, const pse_call *call, int *result)
{
    if (!pse_engine_keep_outputs(s, context, call) || !pse_engine_order_announce(s, context, call))
        return pse_engine_fail(s, context, call, PSE_RUN_MEMORY, result);
    return PROGRESS_RAN;
}

int pse_engine_call_in_turn(pse_engine *s, pse_context *context, const pse_call *call, int *result)
{
    pse_engine_take_kept_outputs(s, context, call);
    return execute(s, context, call, result);
}

int pse_engine_call_step(pse_engine *s, pse_context *context, const pse_call *call, int *result)
{
    if (context->pushing)
        return hand_over(s, context, call, result);
    if (context->parked != NULL)
        return resume(s, context, call, result);
    if (context->standing) {
        s->waiting.wants |= PSE_WANT_ORDER;
        return PROGRESS_BLOCKED;
    }
    context->stuck = NULL;
    enum pse_engine_readiness ready = call_ready(s, context, call);
    if (ready == NOTHING_THERE)
        return pse_engine_fail(s, context, call, PSE_RUN_BROKEN, result);
    if (ready == NOT_ALONE)
        s->waiting.wants |= PSE_WANT_EXCLUSIVE;
    if (ready != READY)
        return PROGRESS_BLOCKED;
    if (!pse_engine_has_credit(s, context, call)) {
        s->waiting.wants |= PSE_WANT_CREDIT;
        return PROGRESS_BLOCKED;
    }
    if (!pse_engine_arrays_fit(s, context, call))
        return pse_engine_fail(s, context, call, PSE_RUN_SHAPE, result);
    s->outputs.aliased = pse_engine_alias_output(s, context, call);
    int code = s->outputs.aliased                   ? 0
               : call->kind == PSE_CALL_CONCATENATE ? pse_engine_make_joined(s, context, call)
                                                    : pse_engine_make_outputs(s, context, call);
    if (code != 0)
        return wait_for_space(s, context, call, code, result);
    return pse_engine_order_matters(s, call) ? stand(s, context, call, result)
                                             : execute(s, context, call, result);
}
