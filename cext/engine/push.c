/* Hand-overs: after a call, its outputs go to every rank that may read them next.
 *
 * On the node a hand-over is a descriptor; a private (small) buffer is first copied into the arena.  To
 * another node it goes through the outbox.  A queue is an edge to one consumer; it has `depth` places, and a
 * call starts only when every queue that it feeds has one left.  The oldest iteration in flight may always go
 * on: so queues can't deadlock.
 */
#include <stdlib.h>

#include "state.h"

static void *grow(void *array, size_t count, size_t *size, size_t item)
{
    if (count < *size)
        return array;
    *size = *size ? 2 * *size : 64;
    array = realloc(array, *size * item);
    if (array == NULL)
        abort();
    return array;
}

static bool queued_for(const pse_sequencer *s, uint32_t rank)
{
    for (size_t i = 0; i < s->overflow_count; i++)
        if (s->overflow_ranks[i] == rank)
            return true;
    return false;
}

/* Ring those who got messages.  Not before this rank has released what it handed over: whoever wants to write
 * in place would find it held, and sleep again. */
void ring_all(pse_sequencer *s)
{
    for (uint32_t i = 0; i < s->rings; i++)
        pse_channel_bell_ring(pse_board_slot(s->board, s->to_ring[i]));
    s->rings = 0;
}

void post(pse_sequencer *s, uint32_t rank, const pse_message *message)
{
    quiet_posted(s, message);
    if (!queued_for(s, rank) && pse_channel_inbox_put(pse_board_inbox(s->board, rank), message)) {
        if (s->rings == PSE_RINGS)
            ring_all(s);
        s->to_ring[s->rings++] = rank;
        return;
    }
    size_t size = s->overflow_size;
    s->overflow = grow(s->overflow, s->overflow_count, &size, sizeof *s->overflow);
    s->overflow_ranks =
        grow(s->overflow_ranks, s->overflow_count, &s->overflow_size, sizeof *s->overflow_ranks);
    s->overflow[s->overflow_count] = *message;
    s->overflow_ranks[s->overflow_count++] = rank;
}

/* Try again what found its inbox full, keeping the order for each rank. Returns whether anything is left. */
bool flush_overflow(pse_sequencer *s)
{
    size_t count = s->overflow_count, left = 0;
    s->overflow_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t rank = s->overflow_ranks[i];
        pse_message message = s->overflow[i];
        s->overflow_count = left;
        if (!queued_for(s, rank) && pse_channel_inbox_put(pse_board_inbox(s->board, rank), &message)) {
            pse_channel_bell_ring(pse_board_slot(s->board, rank));
        } else {
            s->overflow[left] = message;
            s->overflow_ranks[left++] = rank;
        }
    }
    s->overflow_count = left;
    return left > 0;
}

/* Whether all iterations before this one are complete: on all ranks; those of a loop inside another inflight
 * loop on this one, where the iteration around them is such a one too. */
static bool oldest_iteration(pse_sequencer *s, const pse_context *context)
{
    context = context->home;
    if (context->loop < 0)
        return false;
    if (!context->nested)
        return complete_everywhere(s, context->plan_loop) >= context->ordinal;
    for (const pse_context *older = context->older; older != NULL; older = older->older)
        if (older->parent == context->parent && older->loop == context->loop && !older->ended)
            return false;
    return oldest_iteration(s, context->parent);
}

bool credit_left(pse_sequencer *s, const pse_context *context, const pse_call *call)
{
    for (int32_t i = call->first_push; i < call->first_push + call->pushes; i++) {
        const pse_push *push = &s->plan->pushes[i];
        if (!push->throttled)
            continue;
        uint64_t taken = atomic_load(pse_board_taken(s->board, push->edge, push->rank));
        if (s->sent[i] - taken >= push->depth && !oldest_iteration(s, context))
            return false;
    }
    return true;
}

/* Whether a part is all of the array that it makes, in one stretch: from where? */
static bool is_stretch(const pse_sequencer *s, const pse_part *part, uint64_t *offset)
{
    const pse_move *move = &s->plan->moves[part->first_move];
    int64_t stride = part->layout.itemsize;
    *offset = 0;
    if (part->bytes != layout_bytes(&part->layout) || part->moves > 1)
        return false;
    for (int axis = part->moves ? (int)move->ndim - 1 : -1; axis >= 0; axis--) {
        if (move->from_strides[axis] != stride)
            return false;
        stride *= move->shape[axis];
    }
    *offset = part->moves ? move->from : 0;
    return true;
}

/* A view on a stretch of a block of the arena, described by a head of its own. */
static pse_block *viewed(pse_sequencer *s, const pse_context *context, const pse_call *call, pse_block *block,
                         const pse_part *part, uint64_t offset, int *code)
{
    pse_handle handle;
    *code = pse_arena_view(s->arena, buffer_handle(s, block), offset, part->bytes, &handle);
    if (*code != 0)
        return NULL;
    return begin_block(s, block_at(s, handle), &part->layout, call->site, context->tph);
}

/* Whether the part, whose pushes follow each other, also goes to another node: it is sent from where it lies,
 * so nobody here may change it there. */
static bool part_travels(const pse_sequencer *s, const pse_call *call, const pse_push *push)
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
static pse_block *part_block(pse_sequencer *s, pse_context *context, const pse_call *call,
                             const pse_push *push, pse_block *block, int *code)
{
    const pse_part *part = &s->plan->parts[push->part];
    bool to_self = buffer_is_private(block) && push->rank == s->plan->rank && push->sharers == 1;
    uint64_t offset;
    bool view = !buffer_is_private(block) && context->by_view && !part_travels(s, call, push);
    if (!view || !is_stretch(s, part, &offset))
        return buffer_pack(s, context, call, block, part, to_self, code);
    return viewed(s, context, call, block, part, offset, code);
}

/* A private buffer that other ranks of the node will read moves into the arena. */
static bool promote(pse_sequencer *s, const pse_context *context, const pse_call *call, value *v, int *code)
{
    pse_block *shared = buffer_pack(s, context, call, v->as.buffer, NULL, false, code);
    if (shared == NULL)
        return false;
    buffer_release(s, v->as.buffer);
    v->as.buffer = shared;
    return true;
}

/* The block that goes to a rank of this node, with a reference for the receiver. */
static pse_block *local_block(pse_sequencer *s, pse_context *context, const pse_call *call,
                              const pse_push *push, value *v, int *code)
{
    bool apart = push->part >= 0 && push->contiguous;
    *code = 0;
    if (apart && push->again)
        return context->shared_part;
    if (apart) {
        pse_block *block = part_block(s, context, call, push, v->as.buffer, code);
        if (block != NULL && push->sharers > 1)
            buffer_retain(s, block, push->sharers - 1);
        return context->shared_part = block;
    }
    if (buffer_is_private(v->as.buffer) && push->rank != s->plan->rank && !promote(s, context, call, v, code))
        return NULL;
    buffer_retain(s, v->as.buffer, 1);
    return v->as.buffer;
}

static pse_outgoing *new_outgoing(pse_sequencer *s, uint32_t rank, const pse_message *message)
{
    s->outbox = grow(s->outbox, s->outbox_count, &s->outbox_size, sizeof *s->outbox);
    pse_outgoing *entry = &s->outbox[s->outbox_count++];
    memset(entry, 0, sizeof *entry);
    entry->rank = rank;
    entry->message = *message;
    quiet_posted(s, message);
    return entry;
}

/* A message without a buffer for a rank of another node. */
void post_remote(pse_sequencer *s, uint32_t rank, const pse_message *message)
{
    new_outgoing(s, rank, message);
}

void post_remote_array(pse_sequencer *s, uint32_t rank, const pse_message *message, pse_block *block,
                       void *data, const pse_layout *layout)
{
    pse_outgoing *entry = new_outgoing(s, rank, message);
    entry->buffer = block;
    entry->layout = *layout;
    entry->data = data;
}

/* A part goes straight from where it lies, unless its moves make an array whose order isn't theirs. */
static int to_outbox(pse_sequencer *s, pse_context *context, const pse_call *call, const pse_push *push,
                     const pse_message *message, const value *v)
{
    const pse_part *part = push->part >= 0 ? &s->plan->parts[push->part] : NULL;
    pse_block *buffer = v->state == VALUE_BUFFER ? v->as.buffer : NULL;
    bool in_order =
        part && (!push->contiguous || (part->moves == 1 && part->bytes == layout_bytes(&part->layout)));
    int code = 0;
    if (buffer != NULL && part != NULL && !in_order)
        buffer = buffer_pack(s, context, call, buffer, part, true, &code);
    else if (buffer != NULL)
        buffer_retain(s, buffer, 1);
    if (code != 0)
        return code;
    pse_outgoing *entry = new_outgoing(s, push->rank, message);
    entry->buffer = buffer;
    if (buffer == NULL)
        return 0;
    entry->data = buffer_data(s, buffer);
    entry->layout = part ? part->layout : buffer->layout;
    entry->moves = in_order ? &s->plan->moves[part->first_move] : NULL;
    entry->moves_count = in_order ? (uint32_t)part->moves : 0;
    return 0;
}

static void count_handover(pse_sequencer *s, const pse_call *call, const pse_push *push,
                           const pse_message *message, uint64_t bytes)
{
    pse_site_statistics *statistics = pse_board_statistics(s->board, s->plan->rank, call->site);
    if (push->remote)
        count_up(&statistics->remote, bytes);
    else if (message->kind != PSE_CARRIES_SCALAR)
        count_up(&statistics->described, bytes);
    if (s->recorder != NULL)
        record(s, pse_clock(), PSE_EVENT_SEND, message->flags, s->plan->edge_sites[push->edge], message->tph,
               bytes, pse_pair(push->rank, push->edge), message->sequence);
}

static int push_one(pse_sequencer *s, pse_context *context, const pse_call *call, int32_t which)
{
    const pse_push *push = &s->plan->pushes[which];
    value *v = slot_read(context, push->slot);
    pse_message message = {.tph = context->tph,
                           .edge = push->edge,
                           .source = s->plan->rank,
                           .index = push->index,
                           .kind = PSE_CARRIES_SCALAR,
                           .dtype = v->dtype,
                           .sequence = s->sequences[push->rank] + 1,
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
            bytes = layout_bytes(&s->outbox[s->outbox_count - 1].layout);
    } else if (v->state == VALUE_BUFFER) {
        pse_block *block = local_block(s, context, call, push, v, &code);
        if (block == NULL)
            return code;
        bool is_private = buffer_is_private(block);
        message.kind = is_private ? PSE_CARRIES_POINTER : PSE_CARRIES_HANDLE;
        if (is_private)
            message.value.pointer = block;
        else
            message.value.handle = buffer_handle(s, block);
        bytes = push->part >= 0 ? s->plan->parts[push->part].bytes : layout_bytes(&block->layout);
        if (call->lend)
            __atomic_or_fetch(&block->flags, PSE_BLOCK_LENT, __ATOMIC_RELAXED);
    }
    s->sequences[push->rank]++;
    s->sent[which]++;
    count_handover(s, call, push, &message, bytes);
    if (push->remote)
        return 0;
    if (push->rank == s->plan->rank)
        deliver(s, &message);
    else
        post(s, push->rank, &message);
    return 0;
}

static bool alone(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    if (!call->alias || call->source < 0)
        return false;
    const value *v = slot_read(context, call->source);
    return v->state == VALUE_BUFFER && !buffer_is_private(v->as.buffer) &&
           pse_arena_references(s->arena, buffer_handle(s, v->as.buffer)) == 1;
}

int push_all(pse_sequencer *s, pse_context *context, const pse_call *call)
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

/* The caller's side of remote transport */

size_t pse_sequencer_outbox(pse_sequencer *s, pse_outgoing **out)
{
    size_t count = s->outbox_count, size = s->outbox_size;
    pse_outgoing *spare = s->outbox_given;
    *out = s->outbox_given = s->outbox;
    s->outbox = spare;
    s->outbox_size = s->outbox_given_size;
    s->outbox_given_size = size;
    s->outbox_count = 0;
    return count;
}

void pse_sequencer_sent(pse_sequencer *s, pse_block *buffer)
{
    if (buffer->flags & PSE_BLOCK_BORROWED && buffer_is_private(buffer))
        borrowed_sent(s, buffer);
    else
        buffer_release(s, buffer);
}

pse_block *pse_sequencer_receive_buffer(pse_sequencer *s, const pse_layout *layout,
                                        const pse_message *message)
{
    int code;
    uint64_t bytes = layout_bytes(layout);
    pse_block *block = buffer_make(s, bytes, &code);
    if (block == NULL)
        block = buffer_make_private(s, bytes);
    if (block == NULL)
        return NULL;
    uint32_t site = message->kind == PSE_CARRIES_POINTER ? s->plan->edge_sites[message->edge] : message->site;
    return begin_block(s, block, layout, site, message->tph);
}
