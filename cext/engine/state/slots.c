#include "state/slots.h"

#include <stdlib.h>
#include <string.h>

#include "state/buffers.h"
#include "state/engine_state.h"
#include "transport/credits.h"
#include "transport/unwanted.h"

pse_engine_value *pse_engine_slot_read(pse_context *context, int32_t slot)
{
    context = context->home;
    while (context->slots[slot].state == VALUE_OUTER)
        context = context->parent->home;
    return &context->slots[slot];
}

/* Only arrays queue; a value whose pieces have not all come yet has only some of them in the queue. */
static void leave_queue(pse_engine *s, const pse_engine_value *v)
{
    if (v->state == VALUE_BUFFER)
        pse_engine_queue_changed(s, v->as.buffer->tph, v->edge, v->source, -1);
    for (uint32_t i = 0; i < v->count && v->as.pieces != NULL; i++)
        if (v->as.pieces[i].here && v->as.pieces[i].buffer != NULL)
            pse_engine_queue_changed(s, v->as.pieces[i].buffer->tph, v->edge, v->as.pieces[i].source, -1);
}

void pse_engine_value_take(pse_engine *s, pse_engine_value *v)
{
    if (!v->untaken)
        return;
    v->untaken = 0;
    leave_queue(s, v);
    if (v->state == VALUE_AWAITED)
        return; /* Incomplete: whoever drops the rest tells the senders. */
    uint64_t taken = pse_engine_count_taken(s, v->edge);
    if (v->state != VALUE_PIECES) {
        pse_engine_tell_taken(s, v->source, v->edge, taken);
        return;
    }
    for (uint32_t i = 0; i < v->count; i++)
        pse_engine_tell_taken(s, v->as.pieces[i].source, v->edge, taken);
}

/* A swap gives a value another name, under which it may outlive later messages of its edge: it leaves the
 * queue. */
void pse_engine_value_rename(pse_engine *s, pse_engine_value *v)
{
    if (v->state == VALUE_AWAITED)
        v->renamed = 1;
    else
        pse_engine_value_take(s, v);
}

static void release_pieces(pse_engine *s, pse_engine_value *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        if (v->as.pieces[i].here && v->as.pieces[i].buffer != NULL)
            pse_engine_buffer_release(s, v->as.pieces[i].buffer);
    free(v->as.pieces);
}

static void clear_value(pse_engine *s, pse_context *context, pse_engine_value *v)
{
    pse_engine_value_take(s, v);
    if (v->state == VALUE_AWAITED)
        pse_engine_forget(s, context->home, v);
    if (v->state == VALUE_BUFFER)
        pse_engine_buffer_release(s, v->as.buffer);
    if (v->count > 0 && (v->state == VALUE_PIECES || v->state == VALUE_AWAITED))
        release_pieces(s, v);
    v->state = VALUE_EMPTY;
    v->count = 0;
}

void pse_engine_slot_drop(pse_engine *s, pse_context *context, int32_t slot)
{
    pse_engine_value *v = &context->home->slots[slot];
    if (v->state > VALUE_OUTER)
        clear_value(s, context, v);
}

pse_engine_value *pse_engine_slot_renew(pse_engine *s, pse_context *context, int32_t slot)
{
    pse_engine_value *v = &context->home->slots[slot];
    pse_engine_slot_drop(s, context, slot);
    memset(v, 0, sizeof *v);
    return v;
}

void pse_engine_value_set_integer(pse_engine_value *v, int64_t integer)
{
    v->state = VALUE_SCALAR;
    v->dtype = PSE_I64;
    v->as.integer = integer;
}

void pse_engine_value_set_real(pse_engine_value *v, double real)
{
    v->state = VALUE_SCALAR;
    v->dtype = PSE_F64;
    v->as.real[0] = real;
    v->as.real[1] = 0;
}
