#include "transport/handover.h"

#include <string.h>

#include "dynamic_rows.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/slots.h"
#include "transport/delivery.h"
#include "transport/posting.h"

/* Whether a part is all of the array that it makes, in one stretch: from where? */
static bool is_stretch(const pse_engine *s, const pse_part *part, uint64_t *offset)
{
    const pse_move *move = &s->plan->moves[part->first_move];
    int64_t stride = part->layout.itemsize;
    *offset = 0;
    if (part->bytes != pse_engine_layout_bytes(&part->layout) || part->moves > 1)
        return false;
    for (int axis = part->moves ? (int)move->ndim - 1 : -1; axis >= 0; axis--) {
        if (move->source_strides[axis] != stride)
            return false;
        stride *= move->shape[axis];
    }
    *offset = part->moves ? move->source : 0;
    return true;
}

/* A view on a stretch of a block of the arena, described by a head of its own. */
static pse_block *viewed(pse_engine *s, const pse_context *context, const pse_call *call, pse_block *block,
                         const pse_layout *layout, uint64_t offset, int *code)
{
    pse_handle handle;
    *code = pse_arena_view(s->arena, pse_engine_buffer_handle(s, block), offset,
                           pse_engine_layout_bytes(layout), &handle);
    if (*code != 0)
        return NULL;
    return pse_engine_buffer_describe_view(s, pse_engine_block_at(s, handle), layout, call->site,
                                           context->tph);
}

/* The part that the plan has for a push; NULL: it gives the whole, or rows that are counted when it runs. */
static const pse_part *planned_part(const pse_engine *s, const pse_push *push)
{
    return push->part >= 0 && push->blocks == 0 ? &s->plan->parts[push->part] : NULL;
}

/* Whether the part, whose pushes follow each other, also goes to another node: it is sent from where it lies,
 * so nobody here may change it there. */
static bool part_travels(const pse_engine *s, const pse_call *call, const pse_push *push)
{
    const pse_push *pushes = &s->plan->pushes[call->first_push];
    int32_t first = (int32_t)(push - pushes), end = first;
    while (first > 0 && pushes[first - 1].part == push->part)
        first--;
    while (end < call->pushes && pushes[end].part == push->part)
        end++;
    for (int32_t i = first; i < end; i++)
        if (pushes[i].remote)
            return true;
    return false;
}

/* A block for the part that a push takes out of `block`: a view where that will do, else a copy. */
static pse_block *part_block(pse_engine *s, pse_context *context, const pse_call *call, const pse_push *push,
                             pse_block *block, int *code)
{
    const pse_part *part = planned_part(s, push);
    bool to_self = pse_engine_buffer_is_private(block) && push->rank == s->plan->rank && push->sharers == 1;
    uint64_t offset;
    bool view = !pse_engine_buffer_is_private(block) && !s->buffers.guarded && context->by_view &&
                !part_travels(s, call, push);
    if (part == NULL) {
        pse_engine_row_block rows = pse_engine_rows_of_push(push, &block->layout);
        return view ? viewed(s, context, call, block, &rows.layout, rows.offset, code)
                    : pse_engine_buffer_pack_rows(s, context, call, block, &rows, to_self, code);
    }
    if (!view || !is_stretch(s, part, &offset))
        return pse_engine_buffer_pack(s, context, call, block, part, to_self, code);
    return viewed(s, context, call, block, &part->layout, offset, code);
}

/* A private buffer that other ranks of the node will read moves into the arena. */
static bool promote(pse_engine *s, const pse_context *context, const pse_call *call, pse_engine_value *v,
                    int *code)
{
    pse_block *shared = pse_engine_buffer_pack(s, context, call, v->as.buffer, NULL, false, code);
    if (shared == NULL)
        return false;
    pse_engine_buffer_release(s, v->as.buffer);
    v->as.buffer = shared;
    return true;
}

/* The block that goes to a rank of this node, with a reference for the receiver. */
static pse_block *local_block(pse_engine *s, pse_context *context, const pse_call *call, const pse_push *push,
                              pse_engine_value *v, int *code)
{
    bool apart = push->part >= 0 && push->contiguous;
    *code = 0;
    if (apart && push->again)
        return context->shared_part;
    if (apart) {
        pse_block *block = part_block(s, context, call, push, v->as.buffer, code);
        if (block != NULL && push->sharers > 1)
            pse_engine_buffer_retain(s, block, push->sharers - 1);
        return context->shared_part = block;
    }
    if (pse_engine_buffer_is_private(v->as.buffer) && push->rank != s->plan->rank &&
        !promote(s, context, call, v, code))
        return NULL;
    pse_engine_buffer_retain(s, v->as.buffer, 1);
    return v->as.buffer;
}

/* A part goes straight from where it lies, unless its moves make an array whose order isn't theirs. */
static int to_outbox(pse_engine *s, pse_context *context, const pse_call *call, const pse_push *push,
                     const pse_message *message, const pse_engine_value *v)
{
    const pse_part *part = planned_part(s, push);
    pse_block *buffer = v->state == VALUE_BUFFER ? v->as.buffer : NULL;
    bool in_order = part && (!push->contiguous ||
                             (part->moves == 1 && part->bytes == pse_engine_layout_bytes(&part->layout)));
    int code = 0;
    if (buffer != NULL && part != NULL && !in_order)
        buffer = pse_engine_buffer_pack(s, context, call, buffer, part, true, &code);
    else if (buffer != NULL)
        pse_engine_buffer_retain(s, buffer, 1);
    if (code != 0)
        return code;
    pse_outgoing *entry = pse_engine_new_outgoing(s, push->rank, message);
    if (entry == NULL)
        return PSE_ARENA_NO_MEMORY;
    entry->buffer = buffer;
    if (buffer == NULL)
        return 0;
    entry->data = pse_engine_buffer_data(s, buffer);
    entry->layout = part ? part->layout : buffer->layout;
    if (push->blocks > 0) {
        pse_engine_row_block rows = pse_engine_rows_of_push(push, &buffer->layout);
        entry->data += rows.offset;
        entry->layout = rows.layout;
    }
    entry->moves = in_order ? &s->plan->moves[part->first_move] : NULL;
    entry->moves_count = in_order ? (uint32_t)part->moves : 0;
    return 0;
}

static void count_handover(pse_engine *s, const pse_call *call, const pse_push *push,
                           const pse_message *message, uint64_t bytes)
{
    pse_site_statistics *statistics = pse_board_statistics(s->board, s->plan->rank, call->site);
    if (push->remote)
        pse_engine_count_up(&statistics->remote, bytes);
    else if (message->kind != PSE_CARRIES_SCALAR)
        pse_engine_count_up(&statistics->described, bytes);
    if (s->recorder != NULL)
        pse_engine_record(s, pse_clock(), PSE_EVENT_SEND, message->flags, s->plan->edge_sites[push->edge],
                          message->tph, bytes, pse_pair(push->rank, push->edge), message->sequence);
}

static int push_one(pse_engine *s, pse_context *context, const pse_call *call, int32_t which)
{
    const pse_push *push = &s->plan->pushes[which];
    pse_engine_value *v = pse_engine_slot_read(context, push->slot);
    pse_message message = {.tph = context->tph,
                           .edge = push->edge,
                           .source = s->plan->rank,
                           .index = push->index,
                           .kind = PSE_CARRIES_SCALAR,
                           .dtype = v->dtype,
                           .sequence = s->posting.sequences[push->rank] + 1,
                           .flags = push->remote ? PSE_MESSAGE_REMOTE | PSE_MESSAGE_COPIED
                                                 : PSE_MESSAGE_DESCRIPTOR};
    uint64_t bytes = sizeof v->as.real;
    int code = 0;
    if (v->state == VALUE_SCALAR) {
        memcpy(message.value.scalar, v->as.real, sizeof message.value.scalar);
        message.flags = PSE_MESSAGE_SCALAR | (push->remote ? PSE_MESSAGE_REMOTE : 0);
    }
    if (push->remote) {
        message.kind = v->state == VALUE_SCALAR ? PSE_CARRIES_SCALAR : PSE_CARRIES_POINTER;
        code = to_outbox(s, context, call, push, &message, v);
        if (code != 0)
            return code;
        if (v->state == VALUE_BUFFER)
            bytes = pse_engine_layout_bytes(&s->posting.outbox[s->posting.outbox_count - 1].layout);
    } else if (v->state == VALUE_BUFFER) {
        pse_block *block = local_block(s, context, call, push, v, &code);
        if (block == NULL)
            return code;
        bool is_private = pse_engine_buffer_is_private(block);
        message.kind = is_private ? PSE_CARRIES_POINTER : PSE_CARRIES_HANDLE;
        if (is_private)
            message.value.pointer = block;
        else
            message.value.handle = pse_engine_buffer_handle(s, block);
        const pse_part *part = planned_part(s, push);
        bytes = part ? part->bytes : pse_engine_layout_bytes(&block->layout);
        if (call->lend)
            __atomic_or_fetch(&block->flags, PSE_BLOCK_LENT, __ATOMIC_RELAXED);
    }
    s->posting.sequences[push->rank]++;
    s->credits.sent[which]++;
    count_handover(s, call, push, &message, bytes);
    if (push->remote)
        return 0;
    if (push->rank == s->plan->rank)
        pse_engine_accept(s, &message);
    else
        pse_engine_post(s, push->rank, &message);
    return 0;
}

static bool alone(pse_engine *s, pse_context *context, const pse_call *call)
{
    if (!call->alias || call->source < 0)
        return false;
    const pse_engine_value *v = pse_engine_slot_read(context, call->source);
    return v->state == VALUE_BUFFER && !pse_engine_buffer_is_private(v->as.buffer) &&
           pse_arena_references(s->arena, pse_engine_buffer_handle(s, v->as.buffer)) == 1;
}

int pse_engine_hand_over(pse_engine *s, pse_context *context, const pse_call *call)
{
    if (context->push == 0)
        context->by_view = alone(s, context, call);
    for (; context->push < call->pushes; context->push++) {
        int code = push_one(s, context, call, call->first_push + context->push);
        if (code != 0)
            return code;
    }
    return 0;
}
