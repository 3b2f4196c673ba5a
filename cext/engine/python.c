/* The caller's side of a Python module: its arguments, its results, what it keeps. */
#include "state.h"

void pse_sequencer_enter(pse_sequencer *s)
{
    s->module_code = 0;
    module_enter(s, s->pending_context, s->pending_call);
}

bool pse_sequencer_rest(pse_sequencer *s)
{
    if (!call_parks(s, s->pending_context, s->pending_call))
        return false;
    pse_messaging_leave();
    call_rest(s, s->pending_context, s->pending_call);
    return true;
}

bool pse_sequencer_pending_is_parked(const pse_sequencer *s)
{
    return s->pending_context->parked != NULL;
}

uint64_t pse_sequencer_pending_key(const pse_sequencer *s)
{
    return (uint64_t)(uintptr_t)s->pending_context;
}

void pse_sequencer_abandon_module(pse_sequencer *s)
{
    (void)s;
    pse_messaging_leave();
}

void pse_sequencer_complete(pse_sequencer *s, uint64_t copied)
{
    pse_context *context = s->pending_context;
    module_leave(s, context, s->pending_call, copied);
    call_store(s, context, s->pending_call);
    call_unpark(s, context);
    context->pushing = 1;
}

pse_block *pse_sequencer_made(const pse_sequencer *s, int32_t argument)
{
    return s->made[argument];
}

pse_block *pse_sequencer_buffer(pse_sequencer *s, int32_t slot)
{
    value *v = slot_read(s->pending_context, slot);
    return v->state == VALUE_BUFFER ? v->as.buffer : NULL;
}

void *pse_sequencer_data(pse_sequencer *s, pse_block *buffer)
{
    return buffer_data(s, buffer);
}

static void read_number(const value *v, double real[2], int64_t *integer, uint16_t *dtype)
{
    *dtype = v->dtype;
    if (v->dtype == PSE_I64)
        *integer = v->as.integer;
    else
        memcpy(real, v->as.real, sizeof v->as.real);
}

bool pse_sequencer_scalar(pse_sequencer *s, int32_t expression, double real[2], int64_t *integer,
                          uint16_t *dtype)
{
    value v;
    const pse_expression *range = &s->plan->expressions[expression];
    const pse_term *term = &s->plan->terms[range->first];
    if (range->count == 1 && term->kind == PSE_TERM_SLOT)
        v = *slot_read(s->pending_context, term->slot);
    else if (!evaluate(s->pending_context, s, expression, &v))
        return false;
    read_number(&v, real, integer, dtype);
    return true;
}

bool pse_sequencer_slot_scalar(pse_sequencer *s, int32_t slot, double real[2], int64_t *integer,
                               uint16_t *dtype)
{
    value *v = slot_read(s->pending_context, slot);
    read_number(v, real, integer, dtype);
    return v->state == VALUE_SCALAR;
}

void pse_sequencer_set_integer(pse_sequencer *s, int32_t slot, int64_t integer)
{
    set_integer(slot_renew(s, s->pending_context, slot), integer);
}

void pse_sequencer_set_real(pse_sequencer *s, int32_t slot, double real, double imaginary, bool complex_value)
{
    value *v = slot_renew(s, s->pending_context, slot);
    set_real(v, real);
    v->as.real[1] = imaginary;
    if (complex_value)
        v->dtype = PSE_C128;
}

void pse_sequencer_pin(pse_sequencer *s, pse_block *buffer)
{
    buffer_retain(s, buffer, 1);
    atomic_fetch_add(&buffer->pinned, 1u);
}

void pse_sequencer_unpin(pse_sequencer *s, pse_block *buffer)
{
    atomic_fetch_sub(&buffer->pinned, 1u);
    buffer_release(s, buffer);
}

/* An object is an array of bytes in this rank's own memory; handing it over moves it into the arena. */
bool pse_sequencer_set_bytes(pse_sequencer *s, int32_t slot, const char *data, uint64_t size)
{
    pse_layout layout;
    const int64_t extent = (int64_t)size;
    pse_block *block = buffer_make_private(s, size);
    if (block == NULL)
        return false;
    layout_fill(&layout, PSE_OBJECT, 1, 1, &extent);
    buffer_describe(s, block, s->pending_call, s->pending_context, &layout);
    memcpy(buffer_data(s, block), data, size);
    value *v = slot_renew(s, s->pending_context, slot);
    v->state = VALUE_BUFFER;
    v->as.buffer = block;
    return true;
}
