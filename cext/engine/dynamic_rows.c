#include "dynamic_rows.h"

#include <string.h>

#include "calls/outputs.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/expressions.h"
#include "state/slots.h"

#define MARGIN_BYTES 64

uint64_t pse_engine_rows_margin(const pse_engine *s, const pse_argument *argument)
{
    return argument->filled >= 0 && !s->buffers.guarded ? MARGIN_BYTES : 0; /* Guard pages tell it, too. */
}

void pse_engine_rows_mark(pse_engine *s, const pse_argument *argument, pse_block *block)
{
    char *end = (char *)pse_engine_buffer_data(s, block) + pse_engine_layout_bytes(&block->layout);
    memset(end, PSE_MARGIN, pse_engine_rows_margin(s, argument));
}

static bool is_overrun(const pse_engine *s, const pse_argument *argument, const pse_block *block)
{
    const unsigned char *end =
        (const unsigned char *)pse_engine_buffer_data(s, block) + pse_engine_layout_bytes(&block->layout);
    for (uint64_t i = 0; i < pse_engine_rows_margin(s, argument); i++)
        if (end[i] != PSE_MARGIN)
            return true;
    return false;
}

bool pse_engine_take_rows(pse_engine *s, const pse_call *call, const pse_engine_argument_value *scalars)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (argument->kind != PSE_ARGUMENT_MAKE || argument->filled < 0)
            continue;
        pse_layout *layout = &s->outputs.made[i]->layout;
        s->misfilled = (pse_engine_misfilled_rows){.slot = argument->slot,
                                                   .filled = scalars[argument->filled].i64,
                                                   .capacity = layout->shape[0],
                                                   .overrun = is_overrun(s, argument, s->outputs.made[i])};
        if (s->misfilled.overrun || s->misfilled.filled < 0 || s->misfilled.filled > s->misfilled.capacity)
            return false;
        layout->shape[0] = s->misfilled.filled;
    }
    return true;
}

int32_t pse_engine_misfilled(const pse_engine *s, int64_t *filled, int64_t *capacity, uint8_t *overrun)
{
    *filled = s->misfilled.filled;
    *capacity = s->misfilled.capacity;
    *overrun = s->misfilled.overrun;
    return s->misfilled.slot;
}

static bool is_released(const pse_engine *s, const pse_call *call, int32_t slot)
{
    for (int32_t i = 0; i < call->releases; i++)
        if (s->plan->releases[call->first_release + i] == slot)
            return true;
    return false;
}

/* The buffer of an input that nobody needs after the call, if it has room for the output; else NULL. */
static pse_block *take_over(pse_engine *s, int32_t slot, uint64_t bytes)
{
    const pse_engine_value *v = slot >= 0 ? pse_engine_slot_read(s->pending.context, slot) : NULL;
    if (v == NULL || v->state != VALUE_BUFFER || s->buffers.guarded || v->as.buffer->bytes < bytes ||
        !is_released(s, s->pending.call, slot) || v->as.buffer->parent != 0 ||
        !pse_engine_buffer_is_own(s, v->as.buffer))
        return NULL;
    pse_engine_buffer_retain(s, v->as.buffer, 1);
    return v->as.buffer;
}

/* What a Python module has returned, or is about to: its output is made now.  It needs no place in the arena
 * until it is handed over, which waits for one. */
pse_block *pse_engine_make_later(pse_engine *s, int32_t which, int32_t instead, const int64_t *shape,
                                 int *code)
{
    const pse_call *call = s->pending.call;
    const pse_argument *argument = &s->plan->arguments[call->first_argument + which];
    pse_layout layout;
    pse_engine_layout_fill(&layout, argument->dtype, argument->itemsize, argument->ndim, shape);
    uint64_t bytes = pse_engine_layout_bytes(&layout);
    pse_block *block = take_over(s, instead, bytes);
    if (block != NULL)
        return s->outputs.made[which] =
                   pse_engine_buffer_describe_view(s, block, &layout, call->site, s->pending.context->tph);
    block = pse_engine_buffer_make(s, bytes, code);
    if (block == NULL && *code == PSE_ARENA_FULL)
        block = pse_engine_buffer_make_private(s, bytes);
    if (block != NULL)
        pse_engine_buffer_describe(s, block, &layout, call->site, s->pending.context->tph);
    s->outputs.made[which] = block;
    return block;
}

bool pse_engine_shape_due(pse_engine *s, int32_t which, int64_t shape[PSE_MAX_DIMS])
{
    const pse_argument *argument = &s->plan->arguments[s->pending.call->first_argument + which];
    for (int axis = 0; axis < argument->ndim; axis++)
        if (!pse_engine_evaluate_integer(s->pending.context, s, argument->shape[axis], &shape[axis]))
            return false;
    return true;
}

/* Where blocks can't be equal, the first ones have one row more, as block_range of Python says. */
pse_engine_row_block pse_engine_rows_of_push(const pse_push *push, const pse_layout *whole)
{
    pse_engine_row_block rows = {.layout = *whole};
    int64_t size = whole->shape[0] / push->blocks, larger = whole->shape[0] % push->blocks;
    int64_t first = push->part * size + (push->part < larger ? push->part : larger);
    rows.layout.shape[0] = size + (push->part < larger);
    rows.offset = (uint64_t)(first * whole->strides[0]);
    return rows;
}

int pse_engine_make_joined(pse_engine *s, pse_context *context, const pse_call *call)
{
    const pse_engine_value *v = pse_engine_slot_read(context, call->source);
    pse_layout layout = v->as.pieces[0].buffer->layout;
    int code;
    for (uint32_t i = 1; i < v->count; i++)
        layout.shape[0] += v->as.pieces[i].buffer->layout.shape[0];
    pse_engine_layout_fill(&layout, layout.dtype, layout.itemsize, layout.ndim, layout.shape);
    s->outputs.made[0] = pse_engine_buffer_make(s, pse_engine_layout_bytes(&layout), &code);
    if (s->outputs.made[0] != NULL)
        pse_engine_buffer_describe(s, s->outputs.made[0], &layout, call->site, context->tph);
    return code;
}

uint64_t pse_engine_join(pse_engine *s, const pse_block *target, const pse_engine_value *pieces)
{
    char *to = pse_engine_buffer_data(s, target);
    for (uint32_t i = 0; i < pieces->count; i++) {
        const pse_block *piece = pieces->as.pieces[i].buffer;
        uint64_t bytes = pse_engine_layout_bytes(&piece->layout);
        memcpy(to, pse_engine_buffer_data(s, piece), bytes);
        to += bytes;
    }
    return pse_engine_layout_bytes(&target->layout);
}
