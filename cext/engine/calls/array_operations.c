#include "calls/array_operations.h"

#include <string.h>

#include "collectives/operators.h"
#include "dynamic_rows.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/expressions.h"
#include "state/slots.h"
#include "strided_copy.h"

/* Whether a part's bytes, in a buffer that begins `ahead` bytes after the target does, lie where they belong
 * already. */
static bool lies_there(const pse_engine *s, const pse_part *part, uint64_t ahead)
{
    if (part->moves != 1)
        return part->moves == 0;
    const pse_move *move = &s->plan->moves[part->first_move];
    for (uint32_t axis = 0; axis < move->ndim; axis++)
        if (move->shape[axis] > 1 && move->source_strides[axis] != move->target_strides[axis])
            return false;
    return move->source + ahead == move->target;
}

/* Whether another tag stands for the same buffer: whoever has it may change it once we let go of ours. */
static bool is_shared(pse_engine *s, const pse_block *block)
{
    return block->flags & PSE_BLOCK_LENT && !pse_engine_buffer_is_own(s, block);
}

/* The block of which all pieces are views, each where it belongs; NULL if there is none. */
static pse_block *common_parent(pse_engine *s, const pse_call *call, const pse_engine_value *v)
{
    pse_block *first = v->as.pieces[0].buffer;
    if (v->count == 1) {
        const pse_part *part = &s->plan->parts[call->first_part];
        return part->moves == 1 && lies_there(s, part, 0) && !is_shared(s, first) ? first : NULL;
    }
    if (pse_engine_buffer_is_private(first) || first->parent == 0)
        return NULL;
    pse_block *parent = pse_engine_block_at(s, first->parent);
    for (uint32_t i = 0; i < v->count; i++) {
        const pse_block *block = v->as.pieces[i].buffer;
        const pse_part *part = &s->plan->parts[call->first_part + (int32_t)i];
        if (pse_engine_buffer_is_private(block) || block->parent != first->parent || is_shared(s, block) ||
            !lies_there(s, part, block->data - parent->data))
            return NULL;
    }
    return parent;
}

/* The block that can be a call's output as it is; NULL if there is none. */
static pse_block *ready_made(pse_engine *s, const pse_call *call, const pse_engine_value *v, int ndim,
                             const int64_t *shape)
{
    bool copies = call->kind == PSE_CALL_DUPLICATE;
    pse_block *block = copies ? v->as.buffer : common_parent(s, call, v);
    if (block == NULL || v->count > 1)
        return block;
    /* Whoever still reads it neither waits until a copy of it is changed, nor sees it in another shape. */
    bool changes = copies || !pse_engine_layout_is(&block->layout, ndim, shape);
    return changes && !pse_engine_buffer_is_own(s, block) ? NULL : block;
}

bool pse_engine_alias_output(pse_engine *s, pse_context *context, const pse_call *call)
{
    const pse_argument *target = &s->plan->arguments[call->first_argument];
    int64_t shape[PSE_MAX_DIMS];
    if (!call->alias || call->kind == PSE_CALL_PUBLISH || target->parts > 1)
        return false; /* Of a block for all partitions' pieces, all are made, or none. */
    for (int axis = 0; axis < target->ndim; axis++)
        if (!pse_engine_evaluate_integer(context, s, target->shape[axis], &shape[axis]))
            return false;
    pse_block *block = ready_made(s, call, pse_engine_slot_read(context, call->source), target->ndim, shape);
    if (block == NULL)
        return false;
    pse_engine_layout_fill(&block->layout, target->dtype, target->itemsize, target->ndim, shape);
    pse_engine_buffer_retain(s, block, 1);
    s->outputs.made[0] = block;
    return true;
}

/* Put every piece where it belongs. */
static uint64_t place_pieces(pse_engine *s, const pse_call *call, const pse_engine_value *v,
                             pse_block *target)
{
    uint64_t copied = 0;
    if (call->clear)
        memset(pse_engine_buffer_data(s, target), 0, pse_engine_layout_bytes(&target->layout));
    for (uint32_t i = 0; v != NULL && i < v->count; i++)
        copied += pse_engine_buffer_move(s, &s->plan->parts[call->first_part + (int32_t)i],
                                         pse_engine_buffer_data(s, target),
                                         pse_engine_buffer_data(s, v->as.pieces[i].buffer));
    return copied;
}

static bool misfit(pse_engine *s, int32_t slot, int64_t which, const pse_layout *found,
                   const int64_t *expected)
{
    s->misfit.slot = slot;
    s->misfit.piece = which;
    s->misfit.found = *found;
    memcpy(s->misfit.expected, expected, (size_t)found->ndim * sizeof *expected);
    return false;
}

static bool argument_fits(pse_engine *s, pse_context *context, const pse_argument *argument)
{
    const pse_engine_value *v = pse_engine_slot_read(context, argument->slot);
    int64_t shape[PSE_MAX_DIMS];
    for (int axis = 0; axis < argument->ndim; axis++)
        if (!pse_engine_evaluate_integer(context, s, argument->shape[axis], &shape[axis]))
            return true; /* What it is calculated from is reported elsewhere. */
    return v->state != VALUE_BUFFER || pse_engine_layout_is(&v->as.buffer->layout, argument->ndim, shape) ||
           misfit(s, argument->slot, -1, &v->as.buffer->layout, shape);
}

/* Whether arrays that another partition may have sent, whole, have the shapes that the call is made for. */
bool pse_engine_arrays_fit(pse_engine *s, pse_context *context, const pse_call *call)
{
    for (int32_t i = call->first_argument; i < call->first_argument + call->arguments; i++)
        if (s->plan->arguments[i].checked && !argument_fits(s, context, &s->plan->arguments[i]))
            return false;
    if (call->parts == 0 || call->source < 0)
        return true;
    const pse_engine_value *v = pse_engine_slot_read(context, call->source);
    for (uint32_t i = 0; i < v->count; i++) {
        const pse_layout *due = &s->plan->parts[call->first_part + (int32_t)i].layout;
        const pse_layout *found = &v->as.pieces[i].buffer->layout;
        if (!pse_engine_layout_is(found, due->ndim, due->shape))
            return misfit(s, call->source, i, found, due->shape);
    }
    return true;
}

int32_t pse_engine_misfit(const pse_engine *s, int64_t *which, pse_layout *found,
                          int64_t expected[PSE_MAX_DIMS])
{
    *which = s->misfit.piece;
    *found = s->misfit.found;
    memcpy(expected, s->misfit.expected, sizeof s->misfit.expected);
    return s->misfit.slot;
}

static uint64_t duplicate(pse_engine *s, const pse_engine_value *v)
{
    const pse_block *from = v->as.buffer, *to = s->outputs.made[0];
    pse_kernels_strided_copy(pse_engine_buffer_data(s, to), to->layout.strides,
                             pse_engine_buffer_data(s, from), from->layout.strides, to->layout.shape,
                             to->layout.ndim, to->layout.itemsize);
    return pse_engine_layout_bytes(&to->layout);
}

/* Combine arrays of one shape, element by element; gives the bytes that were read. */
static uint64_t combine_arrays(pse_engine *s, const pse_call *call, const pse_engine_value *v)
{
    pse_block *into = s->outputs.made[0];
    void *total = pse_engine_buffer_data(s, into);
    uint64_t bytes = pse_engine_layout_bytes(&into->layout);
    coven_collective what = {.type = into->layout.dtype, .op = (uint32_t)call->combination};
    memcpy(total, pse_engine_buffer_data(s, v->as.pieces[0].buffer), bytes);
    for (uint32_t i = 1; i < v->count; i++)
        pse_messaging_combine(&what, total, pse_engine_buffer_data(s, v->as.pieces[i].buffer), total,
                              bytes / into->layout.itemsize);
    return bytes * v->count;
}

/* In order of index, whatever the order of arrival: the same bits every time. */
static void combine(pse_engine *s, pse_context *context, const pse_call *call, const pse_engine_value *v)
{
    pse_engine_value total = {.dtype = v->as.pieces[0].dtype, .state = VALUE_SCALAR};
    coven_collective what = {.type = total.dtype, .op = (uint32_t)call->combination};
    memcpy(total.as.real, v->as.pieces[0].scalar, sizeof total.as.real);
    for (uint32_t i = 1; i < v->count; i++)
        pse_messaging_combine(&what, total.as.real, v->as.pieces[i].scalar, total.as.real, 1);
    *pse_engine_slot_renew(s, context, call->target) = total;
}

/* Returns the bytes copied. */
uint64_t pse_engine_run_operation(pse_engine *s, pse_context *context, const pse_call *call)
{
    pse_engine_value *source = call->source >= 0 ? pse_engine_slot_read(context, call->source) : NULL;
    switch (call->kind) {
    case PSE_CALL_ASSEMBLE:
        return s->outputs.aliased ? 0 : place_pieces(s, call, source, s->outputs.made[0]);
    case PSE_CALL_CONCATENATE:
        return pse_engine_join(s, s->outputs.made[0], source);
    case PSE_CALL_FILL:
        return place_pieces(s, call, source, pse_engine_slot_read(context, call->target)->as.buffer);
    case PSE_CALL_DUPLICATE:
        return s->outputs.aliased ? 0 : duplicate(s, source);
    case PSE_CALL_ZERO:
        memset(pse_engine_buffer_data(s, s->outputs.made[0]), 0,
               pse_engine_layout_bytes(&s->outputs.made[0]->layout));
        return 0;
    case PSE_CALL_COMBINE:
        if (call->arguments > 0)
            return combine_arrays(s, call, source);
        combine(s, context, call, source);
        return 0;
    default:
        return 0; /* PUBLISH: the hand-overs that follow are all of it. */
    }
}
