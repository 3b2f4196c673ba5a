/* What the slots of a context hold, for a caller that saves a pause or puts back what was saved.
 *
 * All of it concerns the context that run() returned PAUSE for, or that start_at() set up.
 */
#include <stdlib.h>
#include <string.h>

#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/slots.h"

enum pse_slot_kind pse_engine_slot_kind(const pse_engine *s, int32_t slot, uint32_t *pieces)
{
    const pse_engine_value *v = &s->pending.context->slots[slot];
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

pse_block *pse_engine_slot_piece(const pse_engine *s, int32_t slot, uint32_t index, double real[2],
                                 int64_t *integer, uint16_t *dtype)
{
    const pse_engine_piece *p = &s->pending.context->slots[slot].as.pieces[index];
    *dtype = p->dtype;
    memcpy(real, p->scalar, sizeof p->scalar);
    memcpy(integer, p->scalar, sizeof *integer);
    return p->buffer;
}

pse_block *pse_engine_make_buffer(pse_engine *s, const pse_layout *layout)
{
    int code;
    uint64_t bytes = pse_engine_layout_bytes(layout);
    pse_block *block = pse_engine_buffer_make(s, bytes, &code);
    if (block == NULL)
        return NULL;
    return pse_engine_buffer_describe(s, block, layout, PSE_NONE, s->pending.context->tph);
}

void pse_engine_set_buffer(pse_engine *s, int32_t slot, pse_block *buffer)
{
    pse_engine_value *v = pse_engine_slot_renew(s, s->pending.context, slot);
    v->state = VALUE_BUFFER;
    v->as.buffer = buffer;
}

bool pse_engine_set_pieces(pse_engine *s, int32_t slot, uint32_t count)
{
    pse_engine_value *v = pse_engine_slot_renew(s, s->pending.context, slot);
    v->as.pieces = calloc(count, sizeof *v->as.pieces);
    if (v->as.pieces == NULL)
        return false;
    v->state = VALUE_PIECES;
    v->count = count;
    return true;
}

void pse_engine_set_piece(pse_engine *s, int32_t slot, uint32_t index, pse_block *buffer,
                          const double real[2], int64_t integer, uint16_t dtype)
{
    pse_engine_piece *p = &s->pending.context->slots[slot].as.pieces[index];
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
void pse_engine_skip(pse_engine *s, uint32_t loop, uint64_t iterations)
{
    s->iterations.loops[loop].skip = iterations;
}
