/* One call site's execution: are the inputs there, make the outputs, run, hand over, release. */
#include <stdlib.h>

#include "state.h"

/* Readiness */

enum readiness { READY, NOT_YET, NOT_ALONE, NOTHING_THERE };

/* Somebody else keeps the array for good: leave it to him and go on with a copy. */
static enum readiness leave_array(pse_sequencer *s, pse_context *context, const pse_call *call, value *v)
{
    int code;
    pse_block *copy =
        buffer_pack(s, context, call, v->as.buffer, NULL, buffer_is_private(v->as.buffer), &code);
    if (copy == NULL) {
        s->wants |= PSE_WANT_SPACE;
        return NOT_YET;
    }
    buffer_release(s, v->as.buffer);
    v->as.buffer = copy;
    return READY;
}

static enum readiness slot_ready(pse_sequencer *s, pse_context *context, const pse_call *call, int32_t slot,
                                 bool exclusive)
{
    value *v = slot_read(context, slot);
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
    if (buffer_exclusive(s, v->as.buffer))
        return READY;
    return v->as.buffer->flags & PSE_BLOCK_LENT ? leave_array(s, context, call, v) : NOT_ALONE;
}

static enum readiness argument_ready(pse_sequencer *s, pse_context *context, const pse_call *call,
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
        return expression_ready(context, s, argument->expression) ? READY : NOT_YET;
    case PSE_ARGUMENT_MAKE:
        for (int axis = 0; axis < argument->ndim; axis++)
            if (!expression_ready(context, s, argument->shape[axis]))
                return NOT_YET;
        return READY;
    default:
        return READY;
    }
}

static enum readiness call_ready(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    if (call->source >= 0) {
        enum readiness source = slot_ready(s, context, call, call->source, false);
        if (source != READY)
            return source;
    }
    for (int32_t i = 0; i < call->arguments; i++) {
        enum readiness ready =
            argument_ready(s, context, call, &s->plan->arguments[call->first_argument + i]);
        if (ready != READY)
            return ready;
    }
    return READY;
}

static void take_inputs(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    if (call->source >= 0)
        value_take(s, slot_read(context, call->source));
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (argument->kind <= PSE_ARGUMENT_CHANGE || argument->kind == PSE_ARGUMENT_UPDATE)
            value_take(s, slot_read(context, argument->slot));
    }
}

/* Outputs */

static kept_output *kept_outputs(pse_context *context)
{
    if (context->kept == NULL)
        context->kept = calloc(PSE_MAX_ARGUMENTS, sizeof *context->kept);
    if (context->kept == NULL)
        abort();
    return context->kept;
}

/* The block that all partitions of the node share: this call of this context asks for it once. */
static int join_parent(pse_sequencer *s, pse_context *context, const pse_call *call, int32_t which,
                       const pse_argument *argument, pse_handle *parent)
{
    kept_output *kept = &kept_outputs(context)[which];
    uint64_t place = (uint64_t)call->site << 20 | (uint64_t)which << 1;
    uint64_t key =
        ((context->tph * 0x9e3779b97f4a7c15ull + context->executed) * 0xbf58476d1ce4e5b9ull ^ place) | 1;
    int code = 0;
    if (kept->parent == 0)
        code =
            pse_arena_allocate_shared(s->arena, key, argument->parts, argument->share_bytes, &kept->parent);
    *parent = kept->parent;
    return code;
}

/* This partition's part of a block that all partitions of the node share, so that gathering it is a change of
 * view. */
static pse_block *make_shared_part(pse_sequencer *s, pse_context *context, const pse_call *call,
                                   int32_t which, const pse_argument *argument, uint64_t bytes, int *code)
{
    pse_handle parent, part;
    *code = join_parent(s, context, call, which, argument, &parent);
    if (*code != 0)
        return NULL;
    *code = pse_arena_view(s->arena, parent, argument->share_offset, bytes, &part);
    if (*code != 0)
        return NULL;
    pse_arena_release(s->arena, parent);
    context->kept[which].parent = 0;
    return block_at(s, part);
}

static pse_block *make_output(pse_sequencer *s, pse_context *context, const pse_call *call, int32_t which,
                              const pse_argument *argument, int *code)
{
    int64_t shape[PSE_MAX_DIMS];
    pse_layout layout;
    for (int axis = 0; axis < argument->ndim; axis++) {
        if (!evaluate_integer(context, s, argument->shape[axis], &shape[axis]) || shape[axis] < 0) {
            *code = PSE_RUN_ARITHMETIC;
            return NULL;
        }
    }
    layout_fill(&layout, argument->dtype, argument->itemsize, argument->ndim, shape);
    uint64_t bytes = layout_bytes(&layout);
    pse_block *block = argument->parts > 0 ? make_shared_part(s, context, call, which, argument, bytes, code)
                                           : buffer_make(s, bytes, code);
    if (block != NULL)
        buffer_describe(s, block, call, context, &layout);
    return block;
}

/* Give back what was made for a call that must wait; parts of shared blocks are kept. */
static void unmake_outputs(pse_sequencer *s, pse_context *context, const pse_call *call, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (s->made[i] == NULL)
            continue;
        if (s->plan->arguments[call->first_argument + i].parts > 0)
            kept_outputs(context)[i].part = s->made[i];
        else
            buffer_release(s, s->made[i]);
    }
}

static pse_block *take_kept(pse_context *context, int32_t which)
{
    pse_block *part = context->kept != NULL ? context->kept[which].part : NULL;
    if (part != NULL)
        context->kept[which].part = NULL;
    return part;
}

static int make_outputs(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    int code = 0;
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        s->made[i] = NULL;
        if (argument->kind != PSE_ARGUMENT_MAKE)
            continue;
        s->made[i] = take_kept(context, i);
        if (s->made[i] == NULL)
            s->made[i] = make_output(s, context, call, i, argument, &code);
        if (code != 0) {
            unmake_outputs(s, context, call, i);
            return code;
        }
    }
    return 0;
}

/* Put the arrays that were made into their slots. */
void call_store(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (argument->kind != PSE_ARGUMENT_MAKE)
            continue;
        value *v = slot_renew(s, context, argument->slot);
        v->state = VALUE_BUFFER;
        v->as.buffer = s->made[i];
    }
}

/* Execution */

int call_fail(pse_sequencer *s, pse_context *context, const pse_call *call, int reason, int *result)
{
    s->pending_context = context;
    s->pending_call = call;
    *result = reason;
    return PROGRESS_CALLER;
}

static int run_engine(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    s->module_code = 0;
    if (!call->silent)
        call_enter(s, context, call);
    uint64_t copied = engine_run(s, context, call);
    if (!call->silent)
        call_leave(s, context, call, copied);
    call_store(s, context, call);
    return PROGRESS_RAN;
}

static int wait_for_space(pse_sequencer *s, pse_context *context, const pse_call *call, int code, int *result)
{
    if (code == PSE_RUN_ARITHMETIC)
        return call_fail(s, context, call, PSE_RUN_ARITHMETIC, result);
    if (code == PSE_ARENA_NO_MEMORY)
        return call_fail(s, context, call, PSE_RUN_MEMORY, result);
    if (code != PSE_ARENA_FULL)
        return call_fail(s, context, call, PSE_RUN_TOO_LARGE, result);
    s->wants |= PSE_WANT_SPACE;
    s->pending_context = context;
    s->pending_call = call;
    return PROGRESS_BLOCKED;
}

/* After the module: hand over, release, go on. */
static int hand_over(pse_sequencer *s, pse_context *context, const pse_call *call, int *result)
{
    context->pushing = 1;
    int code = push_all(s, context, call);
    if (code != 0) {
        ring_all(s);
        return wait_for_space(s, context, call, code, result);
    }
    for (int32_t i = 0; i < call->releases; i++)
        slot_drop(s, context, s->plan->releases[call->first_release + i]);
    ring_all(s);
    context->pushing = 0;
    context->push = 0;
    if (call->kind != PSE_CALL_COMBINE) /* Only the first processor does that. */
        context->executed++;
    context->pc++;
    return PROGRESS_RAN;
}

/* Nothing keeps the call from running any more. */
static int execute(pse_sequencer *s, pse_context *context, const pse_call *call, int *result)
{
    take_inputs(s, context, call);
    if (call->kind == PSE_CALL_PYTHON)
        return call_fail(s, context, call, PSE_RUN_PYTHON, result);
    int progress =
        call->kind == PSE_CALL_NATIVE ? native_run(s, context, call, result) : run_engine(s, context, call);
    if (progress == PROGRESS_PARKED)
        return PROGRESS_RAN;
    return progress == PROGRESS_RAN ? hand_over(s, context, call, result) : progress;
}

/* A parked call goes on when all is complete that it posted. */
static int resume(pse_sequencer *s, pse_context *context, const pse_call *call, int *result)
{
    if (!call_wakes(s, context, call))
        return PROGRESS_BLOCKED;
    if (call->kind == PSE_CALL_PYTHON)
        return call_fail(s, context, call, PSE_RUN_PYTHON, result);
    native_complete(s, context, call);
    return hand_over(s, context, call, result);
}

/* A collective call waits for its turn, with all it needs in its hands. */
static int stand(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    for (int32_t i = 0; i < call->arguments; i++)
        if (s->made[i] != NULL)
            kept_outputs(context)[i].part = s->made[i];
    order_stand(s, context, call);
    return PROGRESS_RAN;
}

int call_in_turn(pse_sequencer *s, pse_context *context, const pse_call *call, int *result)
{
    for (int32_t i = 0; i < call->arguments; i++)
        s->made[i] = take_kept(context, i);
    return execute(s, context, call, result);
}

int call_step(pse_sequencer *s, pse_context *context, const pse_call *call, int *result)
{
    if (context->pushing)
        return hand_over(s, context, call, result);
    if (context->parked != NULL)
        return resume(s, context, call, result);
    if (context->standing) {
        s->wants |= PSE_WANT_ORDER;
        return PROGRESS_BLOCKED;
    }
    context->stuck = NULL;
    enum readiness ready = call_ready(s, context, call);
    if (ready == NOTHING_THERE)
        return call_fail(s, context, call, PSE_RUN_BROKEN, result);
    if (ready == NOT_ALONE)
        s->wants |= PSE_WANT_EXCLUSIVE;
    if (ready != READY)
        return PROGRESS_BLOCKED;
    if (!credit_left(s, context, call)) {
        s->wants |= PSE_WANT_CREDIT;
        return PROGRESS_BLOCKED;
    }
    if (!engine_fits(s, context, call))
        return call_fail(s, context, call, PSE_RUN_SHAPE, result);
    s->aliased = engine_alias(s, context, call);
    int code = s->aliased ? 0 : make_outputs(s, context, call);
    if (code != 0)
        return wait_for_space(s, context, call, code, result);
    return order_matters(s, call) ? stand(s, context, call) : execute(s, context, call, result);
}
