/* The caller's side of transport between nodes: what goes there, and memory for what comes. */
#include "calls/partition_wait.h"
#include "state/buffers.h"
#include "state/engine_state.h"

size_t pse_engine_outbox(pse_engine *s, pse_outgoing **out)
{
    size_t count = s->posting.outbox_count, size = s->posting.outbox_size;
    pse_outgoing *spare = s->posting.outbox_given;
    *out = s->posting.outbox_given = s->posting.outbox;
    s->posting.outbox = spare;
    s->posting.outbox_size = s->posting.outbox_given_size;
    s->posting.outbox_given_size = size;
    s->posting.outbox_count = 0;
    return count;
}

void pse_engine_sent(pse_engine *s, pse_block *buffer)
{
    if (buffer->flags & PSE_BLOCK_BORROWED && pse_engine_buffer_is_private(buffer))
        pse_engine_borrowed_sent(s, buffer);
    else
        pse_engine_buffer_release(s, buffer);
}

pse_block *pse_engine_receive_buffer(pse_engine *s, const pse_layout *layout, const pse_message *message)
{
    int code;
    uint64_t bytes = pse_engine_layout_bytes(layout);
    pse_block *block = pse_engine_buffer_make(s, bytes, &code);
    if (block == NULL)
        block = pse_engine_buffer_make_private(s, bytes);
    if (block == NULL)
        return NULL;
    uint32_t site = message->kind == PSE_CARRIES_POINTER ? s->plan->edge_sites[message->edge] : message->site;
    return pse_engine_buffer_describe(s, block, layout, site, message->tph);
}
