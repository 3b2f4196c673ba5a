#include "calls/outputs.h"

#include <stdlib.h>
#include <string.h>

#include "dynamic_rows.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/expressions.h"
#include "state/slots.h"

/* More than any machine has; what is rounded up, or gets a head, still has a size. */
#define PSE_MOST_BYTES (INT64_C(1) << 56)

/* Where a context keeps outputs; NULL: no memory. */
static pse_engine_kept_output *kept_outputs(pse_context *context)
{
    if (context->kept == NULL)
        context->kept = calloc(PSE_MAX_ARGUMENTS, sizeof *context->kept);
    return context->kept;
}

/* The block that all partitions of the node share: this call of this context asks for it once. */
static int join_parent(pse_engine *s, pse_context *context, const pse_call *call, int32_t which,
                       const pse_argument *argument, pse_handle *parent)
{
    pse_engine_kept_output *all = kept_outputs(context);
    if (all == NULL)
        return PSE_ARENA_NO_MEMORY;
    pse_engine_kept_output *kept = &all[which];
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
static pse_block *make_shared_part(pse_engine *s, pse_context *context, const pse_call *call, int32_t which,
                                   const pse_argument *argument, uint64_t bytes, int *code)
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
    return pse_engine_block_at(s, part);
}

/* Parts that lie side by side have no guard pages between them. */
static bool is_shared_part(const pse_engine *s, const pse_argument *argument)
{
    return argument->parts > 0 && !s->buffers.guarded;
}

/* Whether an array has more bytes than can be counted. */
static bool is_beyond_memory(const pse_layout *layout)
{
    int64_t bytes = layout->itemsize;
    for (int axis = 0; axis < layout->ndim; axis++)
        if (layout->shape[axis] == 0)
            return false;
    for (int axis = 0; axis < layout->ndim; axis++)
        if (__builtin_mul_overflow(bytes, layout->shape[axis], &bytes))
            return true;
    return bytes > PSE_MOST_BYTES;
}

static pse_block *make_output(pse_engine *s, pse_context *context, const pse_call *call, int32_t which,
                              const pse_argument *argument, int *code)
{
    int64_t shape[PSE_MAX_DIMS];
    pse_layout layout;
    for (int axis = 0; axis < argument->ndim; axis++) {
        if (!pse_engine_evaluate_integer(context, s, argument->shape[axis], &shape[axis]) ||
            !pse_engine_extent_has_value(s, shape[axis])) {
            *code = PSE_RUN_ARITHMETIC;
            return NULL;
        }
    }
    pse_engine_layout_fill(&layout, argument->dtype, argument->itemsize, argument->ndim, shape);
    uint64_t bytes = pse_engine_layout_bytes(&layout), margin = pse_engine_rows_margin(s, argument);
    if (is_beyond_memory(&layout)) {
        *code = PSE_ARENA_TOO_LARGE;
        return NULL;
    }
    pse_block *block = is_shared_part(s, argument)
                           ? make_shared_part(s, context, call, which, argument, bytes, code)
                           : pse_engine_buffer_make(s, bytes + margin, code);
    if (block != NULL)
        pse_engine_buffer_describe(s, block, &layout, call->site, context->tph);
    if (block != NULL && margin > 0)
        pse_engine_rows_mark(s, argument, block);
    if (block != NULL && s->finite_check.on) /* What a module leaves out is not what it made. */
        memset(pse_engine_buffer_data(s, block), s->buffers.poisoned ? PSE_POISON_FRESH : 0, bytes);
    return block;
}

/* Give back what was made for a call that must wait; parts of shared blocks are kept. */
static void unmake_outputs(pse_engine *s, pse_context *context, const pse_call *call, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (s->outputs.made[i] == NULL)
            continue;
        if (is_shared_part(s, &s->plan->arguments[call->first_argument + i]))
            context->kept[i].part = /* make_shared_part has made room */
                s->outputs.made[i];
        else
            pse_engine_buffer_release(s, s->outputs.made[i]);
    }
}

static pse_block *take_kept(pse_context *context, int32_t which)
{
    pse_block *part = context->kept != NULL ? context->kept[which].part : NULL;
    if (part != NULL)
        context->kept[which].part = NULL;
    return part;
}

int pse_engine_make_outputs(pse_engine *s, pse_context *context, const pse_call *call)
{
    int code = 0;
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        s->outputs.made[i] = NULL;
        if (argument->kind != PSE_ARGUMENT_MAKE)
            continue;
        s->outputs.made[i] = take_kept(context, i);
        if (s->outputs.made[i] == NULL)
            s->outputs.made[i] = make_output(s, context, call, i, argument, &code);
        if (code != 0) {
            unmake_outputs(s, context, call, i);
            return code;
        }
    }
    return 0;
}

void pse_engine_store_outputs(pse_engine *s, pse_context *context, const pse_call *call)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (argument->kind != PSE_ARGUMENT_MAKE && argument->kind != PSE_ARGUMENT_LATER)
            continue;
        pse_engine_value *v = pse_engine_slot_renew(s, context, argument->slot);
        v->state = VALUE_BUFFER;
        v->as.buffer = s->outputs.made[i];
    }
}

bool pse_engine_keep_outputs(pse_engine *s, pse_context *context, const pse_call *call)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        if (s->outputs.made[i] == NULL)
            continue;
        if (kept_outputs(context) == NULL)
            return false;
        context->kept[i].part = s->outputs.made[i];
    }
    return true;
}

void pse_engine_take_kept_outputs(pse_engine *s, pse_context *context, const pse_call *call)
{
    for (int32_t i = 0; i < call->arguments; i++)
        s->outputs.made[i] = take_kept(context, i);
}
