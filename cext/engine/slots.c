/* What the slots of a context hold, for a caller that saves a pause or puts back what was saved.
 *
 * All of it concerns the context that run() returned PAUSE for, or that start_at() set up.
 */
#include <stdlib.h>

#include "state.h"

enum pse_slot_kind pse_sequencer_slot_kind(const pse_sequencer *s, int32_t slot, uint32_t *pieces)
{
    const value *v = &s->pending_context->slots[slot];
    *pieces = v->count;
    switch (v->state) {
    case VALUE_SCALAR:
        return PSE_SLOT_SCALAR;
    case VALUE_BUFFER:
        return PSE_SLOT_BUFFER;
    case VALUE_PIECES:
        return PSE_SLOT_PIECES;
    default:
        return PSE_SLOT_EMPTY;
    }
}

pse_block *pse_sequencer_slot_piece(const pse_sequencer *s, int32_t slot, uint32_t index, double real[2],
                                    int64_t *integer, uint16_t *dtype)
{
    const piece *p = &s->pending_context->slots[slot].as.pieces[index];
    *dtype = p->dtype;
    memcpy(real, p->scalar, sizeof p->scalar);
    memcpy(integer, p->scalar, sizeof *integer);
    return p->buffer;
}

pse_block *pse_sequencer_make_buffer(pse_sequencer *s, const pse_layout *layout)
{
    int code;
    uint64_t bytes = layout_bytes(layout);
    pse_block *block = buffer_make(s, bytes, &code);
    if (block == NULL)
        return NULL;
    block->layout = *layout;
    block->owner = s->plan->rank;
    block->site = PSE_NONE;
    block->tph = s->pending_context->tph;
    atomic_store_explicit(&block->waiter, -1, memory_order_relaxed);
    return block;
}

void pse_sequencer_set_buffer(pse_sequencer *s, int32_t slot, pse_block *buffer)
{
    value *v = slot_renew(s, s->pending_context, slot);
    v->state = VALUE_BUFFER;
    v->as.buffer = buffer;
}

bool pse_sequencer_set_pieces(pse_sequencer *s, int32_t slot, uint32_t count)
{
    value *v = slot_renew(s, s->pending_context, slot);
    v->as.pieces = calloc(count, sizeof *v->as.pieces);
    if (v->as.pieces == NULL)
        return false;
    v->state = VALUE_PIECES;
    v->count = count;
    return true;
}

void pse_sequencer_set_piece(pse_sequencer *s, int32_t slot, uint32_t index, pse_block *buffer,
                             const double real[2], int64_t integer, uint16_t dtype)
{
    piece *p = &s->pending_context->slots[slot].as.pieces[index];
    p->here = 1;
    p->source = s->plan->rank;
    p->dtype = dtype;
    p->buffer = buffer;
    if (dtype == PSE_I64)
        memcpy(p->scalar, &integer, sizeof integer);
    else
        memcpy(p->scalar, real, sizeof p->scalar);
}

/* The next run of a loop of the program itself leaves out its first iterations. */
void pse_sequencer_skip(pse_sequencer *s, uint32_t loop, uint64_t iterations)
{
    s->loops[loop].skip = iterations;
}
