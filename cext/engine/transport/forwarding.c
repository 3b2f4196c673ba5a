#include "transport/forwarding.h"

#include <string.h>

#include "state/buffers.h"
#include "state/engine_state.h"
#include "transport/posting.h"
#include "transport/unexpected.h"

static void note_sent(pse_engine *s, uint32_t rank, const pse_message *message, uint64_t bytes)
{
    uint32_t site = s->plan->edge_sites[message->edge];
    pse_site_statistics *statistics = pse_board_statistics(s->board, s->plan->rank, site);
    if (message->kind != PSE_CARRIES_SCALAR)
        pse_engine_count_up(s->plan->remote[rank] ? &statistics->remote : &statistics->described, bytes);
    if (s->recorder != NULL)
        pse_engine_record(s, pse_clock(), PSE_EVENT_SEND, message->flags, site, message->tph, bytes,
                          pse_pair(rank, message->edge), message->sequence);
}

static pse_message addressed(pse_engine *s, const pse_message *message, uint32_t rank)
{
    pse_message copy = *message;
    copy.source = s->plan->rank;
    copy.sequence = ++s->posting.sequences[rank];
    return copy;
}

static void forward_scalar(pse_engine *s, const pse_message *message, uint32_t rank)
{
    bool far = s->plan->remote[rank];
    pse_message copy = addressed(s, message, rank);
    copy.flags = PSE_MESSAGE_SCALAR | (far ? PSE_MESSAGE_REMOTE : 0);
    note_sent(s, rank, &copy, sizeof copy.value.scalar);
    pse_engine_tell(s, rank, &copy);
}

static void forward_array(pse_engine *s, const pse_message *message, uint32_t rank, pse_block *block)
{
    bool far = s->plan->remote[rank];
    pse_message copy = addressed(s, message, rank);
    copy.kind = far ? PSE_CARRIES_POINTER : PSE_CARRIES_HANDLE;
    copy.flags = far ? PSE_MESSAGE_REMOTE | PSE_MESSAGE_COPIED : PSE_MESSAGE_DESCRIPTOR;
    note_sent(s, rank, &copy, pse_engine_layout_bytes(&block->layout));
    pse_engine_buffer_retain(s, block, 1);
    if (far) {
        pse_engine_post_remote_array(s, rank, &copy, block, pse_engine_buffer_data(s, block), &block->layout);
        return;
    }
    copy.value.handle = pse_engine_buffer_handle(s, block);
    pse_engine_post(s, rank, &copy);
}

/* A copy in the arena, which other ranks of the node can read; NULL while that is full. */
static pse_block *copy_for_node(pse_engine *s, const pse_block *block)
{
    pse_handle handle;
    uint64_t bytes = pse_engine_layout_bytes(&block->layout);
    if (pse_arena_allocate(s->arena, bytes, &handle) != 0)
        return NULL;
    pse_block *copy = pse_engine_buffer_describe(s, pse_engine_block_at(s, handle), &block->layout,
                                                 block->site, block->tph);
    memcpy(pse_engine_buffer_data(s, copy), pse_engine_buffer_data(s, block), bytes);
    pse_engine_count_up(&pse_board_statistics(s->board, s->plan->rank, block->site)->copied, bytes);
    return copy;
}

static bool goes_near(const pse_engine *s, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (!s->plan->remote[s->plan->forwards[i]])
            return true;
    return false;
}

/* False while the arena has no room for what other ranks of the node are to read. */
static bool pass_on(pse_engine *s, const pse_message *message)
{
    uint32_t first = s->plan->forward_first[message->edge], end = s->plan->forward_first[message->edge + 1];
    pse_block *block = pse_engine_message_buffer(s, message), *shared = block;
    bool copies = block != NULL && pse_engine_buffer_is_private(block) && goes_near(s, first, end);
    if (copies && (shared = copy_for_node(s, block)) == NULL)
        return false;
    for (uint32_t i = first; i < end; i++)
        block != NULL ? forward_array(s, message, s->plan->forwards[i], shared)
                      : forward_scalar(s, message, s->plan->forwards[i]);
    if (copies)
        pse_engine_buffer_release(s, shared);
    pse_engine_ring_all(s);
    return true;
}

void pse_engine_forward(pse_engine *s, const pse_message *message)
{
    if (s->plan->forward_first[message->edge] == s->plan->forward_first[message->edge + 1])
        return;
    if (s->forwarding.held_up.first == NULL && pass_on(s, message))
        return;
    pse_block *block = pse_engine_message_buffer(s, message);
    if (block != NULL)
        pse_engine_buffer_retain(s, block, 1);
    if (!pse_engine_list_append(s, &s->forwarding.held_up, message))
        s->out_of_memory = true;
}

bool pse_engine_forward_retry(pse_engine *s)
{
    pse_engine_message_list *held_up = &s->forwarding.held_up;
    while (held_up->first != NULL && pass_on(s, &held_up->first->message)) {
        pse_block *block = pse_engine_message_buffer(s, &held_up->first->message);
        if (block != NULL)
            pse_engine_buffer_release(s, block);
        pse_engine_list_remove(s, held_up, NULL);
    }
    return held_up->first != NULL;
}
