/* Passing on: this rank is a branch of the tree along which a scalar, or a root thread's array, reaches its
 * readers.
 *
 * What comes is passed on as it comes, whatever this rank's program does.  An array goes to each node once,
 * to the rank that speaks for it; that rank hands it to the others of the node, as a descriptor, and to the
 * nodes below. A private (small) buffer is copied into the arena for them; while that is full, it waits, and
 * what comes later along any edge waits behind it.
 */
#include <stdlib.h>

#include "state.h"

static void note_sent(pse_sequencer *s, uint32_t rank, const pse_message *message, uint64_t bytes)
{
    uint32_t site = s->plan->edge_sites[message->edge];
    pse_site_statistics *statistics = pse_board_statistics(s->board, s->plan->rank, site);
    if (message->kind != PSE_CARRIES_SCALAR)
        count_up(s->plan->remote[rank] ? &statistics->remote : &statistics->described, bytes);
    if (s->recorder != NULL)
        record(s, pse_clock(), PSE_EVENT_SEND, message->flags, site, message->tph, bytes,
               pse_pair(rank, message->edge), message->sequence);
}

static pse_message addressed(pse_sequencer *s, const pse_message *message, uint32_t rank)
{
    pse_message copy = *message;
    copy.source = s->plan->rank;
    copy.sequence = ++s->sequences[rank];
    return copy;
}

static void forward_scalar(pse_sequencer *s, const pse_message *message, uint32_t rank)
{
    bool far = s->plan->remote[rank];
    pse_message copy = addressed(s, message, rank);
    copy.flags = PSE_MESSAGE_SCALAR | (far ? PSE_MESSAGE_REMOTE : 0);
    note_sent(s, rank, &copy, sizeof copy.value.scalar);
    far ? post_remote(s, rank, &copy) : post(s, rank, &copy);
}

static void forward_array(pse_sequencer *s, const pse_message *message, uint32_t rank, pse_block *block)
{
    bool far = s->plan->remote[rank];
    pse_message copy = addressed(s, message, rank);
    copy.kind = far ? PSE_CARRIES_POINTER : PSE_CARRIES_HANDLE;
    copy.flags = far ? PSE_MESSAGE_REMOTE | PSE_MESSAGE_COPIED : PSE_MESSAGE_DESCRIPTOR;
    note_sent(s, rank, &copy, layout_bytes(&block->layout));
    buffer_retain(s, block, 1);
    if (far) {
        post_remote_array(s, rank, &copy, block, buffer_data(s, block), &block->layout);
        return;
    }
    copy.value.handle = buffer_handle(s, block);
    post(s, rank, &copy);
}

/* A copy in the arena, which other ranks of the node can read; NULL while that is full. */
static pse_block *copy_for_node(pse_sequencer *s, const pse_block *block)
{
    pse_handle handle;
    uint64_t bytes = layout_bytes(&block->layout);
    if (pse_arena_allocate(s->arena, bytes, &handle) != 0)
        return NULL;
    pse_block *copy = begin_block(s, block_at(s, handle), &block->layout, block->site, block->tph);
    memcpy(buffer_data(s, copy), buffer_data(s, block), bytes);
    count_up(&pse_board_statistics(s->board, s->plan->rank, block->site)->copied, bytes);
    return copy;
}

static bool goes_near(const pse_sequencer *s, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (!s->plan->remote[s->plan->forwards[i]])
            return true;
    return false;
}

/* False while the arena has no room for what other ranks of the node are to read. */
static bool pass_on(pse_sequencer *s, const pse_message *message)
{
    uint32_t first = s->plan->forward_first[message->edge], end = s->plan->forward_first[message->edge + 1];
    pse_block *block = message_buffer(s, message), *shared = block;
    bool copies = block != NULL && buffer_is_private(block) && goes_near(s, first, end);
    if (copies && (shared = copy_for_node(s, block)) == NULL)
        return false;
    for (uint32_t i = first; i < end; i++)
        block != NULL ? forward_array(s, message, s->plan->forwards[i], shared)
                      : forward_scalar(s, message, s->plan->forwards[i]);
    if (copies)
        buffer_release(s, shared);
    ring_all(s);
    return true;
}

void forward(pse_sequencer *s, const pse_message *message)
{
    if (s->plan->forward_first[message->edge] == s->plan->forward_first[message->edge + 1])
        return;
    if (s->held_up == NULL && pass_on(s, message))
        return;
    pse_block *block = message_buffer(s, message);
    if (block != NULL)
        buffer_retain(s, block, 1);
    early **link = &s->held_up;
    while (*link != NULL)
        link = &(*link)->next;
    *link = early_new(s, message);
}

/* Go on with what found the arena full; true if anything is left of it. */
bool forward_retry(pse_sequencer *s)
{
    while (s->held_up != NULL && pass_on(s, &s->held_up->message)) {
        early *item = s->held_up;
        pse_block *block = message_buffer(s, &item->message);
        s->held_up = item->next;
        if (block != NULL)
            buffer_release(s, block);
        early_recycle(s, item);
    }
    return s->held_up != NULL;
}

/* One rank has taken more of an edge than `before`: if that makes the least of this node grow, whoever sent
 * it here gets to know.  False if ranks of this node are counted one by one. */
bool credit_grew(pse_sequencer *s, uint32_t edge, uint64_t before)
{
    const uint32_t *row = &s->plan->credits[s->plan->credit_first[edge]];
    const uint32_t *end = &s->plan->credits[s->plan->credit_first[edge + 1]];
    if (row == end)
        return false;
    uint64_t least = UINT64_MAX;
    for (const uint32_t *rank = row + 2; rank < end; rank++) {
        uint64_t taken = atomic_load(pse_board_taken(s->board, edge, *rank));
        least = taken < least ? taken : least;
    }
    if (least <= before)
        return true;
    pse_message message = {.kind = PSE_CARRIES_CREDIT, .edge = edge, .source = row[1]};
    message.value.integer = (int64_t)least;
    post_remote(s, row[0], &message);
    return true;
}
