/* The caller's side of a call: what is pending, the arguments and results of a Python module, what it keeps.
 */
#include <string.h>

#include "calls/call_accounting.h"
#include "calls/output_prefix.h"
#include "calls/outputs.h"
#include "calls/partition_wait.h"
#include "messaging.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/expressions.h"
#include "state/slots.h"

void pse_engine_set_culprit(pse_engine *s, const char *volatile *culprit)
{
    s->accounting.culprit = culprit;
}

const pse_call *pse_engine_pending(const pse_engine *s)
{
    return s->pending.call;
}

uint64_t pse_engine_pending_tph(const pse_engine *s)
{
    return s->pending.context != NULL ? s->pending.context->tph : 0;
}

int64_t pse_engine_pending_index(const pse_engine *s)
{
    return s->pending.context != NULL ? s->pending.context->index : -1;
}

int64_t pse_engine_pending_partition(const pse_engine *s)
{
    const pse_context *context = s->pending.context;
    return context != NULL && context->home != context ? (int64_t)context->partition : -1;
}

int32_t pse_engine_pending_instruction(const pse_engine *s)
{
    return s->pending.context->pc;
}

int pse_engine_module_code(const pse_engine *s)
{
    return s->pending.module_code;
}

bool pse_engine_enter(pse_engine *s)
{
    s->pending.module_code = 0;
    return pse_engine_module_enter(s, s->pending.context, s->pending.call);
}

bool pse_engine_rest(pse_engine *s)
{
    if (!pse_engine_call_parks(s, s->pending.context, s->pending.call))
        return false;
    pse_messaging_leave();
    pse_engine_account_rest(s, s->pending.context, s->pending.call);
    pse_engine_output_leave(s);
    return true;
}

bool pse_engine_pending_is_parked(const pse_engine *s)
{
    return s->pending.context->parked != NULL;
}

uint64_t pse_engine_pending_key(const pse_engine *s)
{
    return (uint64_t)(uintptr_t)s->pending.context;
}

void pse_engine_abandon_module(pse_engine *s)
{
    (void)s;
    pse_messaging_leave();
}

void pse_engine_complete(pse_engine *s, uint64_t copied)
{
    pse_context *context = s->pending.context;
    pse_engine_module_leave(s, context, s->pending.call, copied);
    pse_engine_store_outputs(s, context, s->pending.call);
    pse_engine_call_unpark(s, context);
    context->pushing = 1;
}

pse_block *pse_engine_made(const pse_engine *s, int32_t argument)
{
    return s->outputs.made[argument];
}

pse_block *pse_engine_buffer(pse_engine *s, int32_t slot)
{
    pse_engine_value *v = pse_engine_slot_read(s->pending.context, slot);
    return v->state == VALUE_BUFFER ? v->as.buffer : NULL;
}

void *pse_engine_data(pse_engine *s, pse_block *buffer)
{
    return pse_engine_buffer_expose(s, buffer);
}

static void read_number(const pse_engine_value *v, double real[2], int64_t *integer, uint16_t *dtype)
{
    *dtype = v->dtype;
    if (v->dtype == PSE_I64)
        *integer = v->as.integer;
    else
        memcpy(real, v->as.real, sizeof v->as.real);
}

int pse_engine_without_value(const pse_engine *s, bool right, double real[2], int64_t *integer,
                             uint16_t *dtype)
{
    read_number(right ? &s->no_value.right : &s->no_value.left, real, integer, dtype);
    return s->no_value.kind;
}

bool pse_engine_scalar(pse_engine *s, int32_t expression, double real[2], int64_t *integer, uint16_t *dtype)
{
    pse_engine_value v;
    if (!pse_engine_evaluate(s->pending.context, s, expression, &v))
        return false;
    read_number(&v, real, integer, dtype);
    return true;
}

bool pse_engine_slot_scalar(pse_engine *s, int32_t slot, double real[2], int64_t *integer, uint16_t *dtype)
{
    pse_engine_value *v = pse_engine_slot_read(s->pending.context, slot);
    read_number(v, real, integer, dtype);
    return v->state == VALUE_SCALAR;
}

void pse_engine_set_integer(pse_engine *s, int32_t slot, int64_t integer)
{
    pse_engine_value_set_integer(pse_engine_slot_renew(s, s->pending.context, slot), integer);
}

void pse_engine_set_real(pse_engine *s, int32_t slot, double real, double imaginary, bool complex_value)
{
    pse_engine_value *v = pse_engine_slot_renew(s, s->pending.context, slot);
    pse_engine_value_set_real(v, real);
    v->as.real[1] = imaginary;
    if (complex_value)
        v->dtype = PSE_C128;
}

void pse_engine_pin(pse_engine *s, pse_block *buffer)
{
    pse_engine_buffer_retain(s, buffer, 1);
    atomic_fetch_add(&buffer->pinned, 1u);
}

void pse_engine_unpin(pse_engine *s, pse_block *buffer)
{
    atomic_fetch_sub(&buffer->pinned, 1u);
    pse_engine_buffer_release(s, buffer);
}

/* An object is an array of bytes in this rank's own memory; handing it over moves it into the arena. */
bool pse_engine_set_bytes(pse_engine *s, int32_t slot, const char *data, uint64_t size)
{
    pse_layout layout;
    const int64_t extent = (int64_t)size;
    pse_block *block = pse_engine_buffer_make_private(s, size);
    if (block == NULL)
        return false;
    pse_engine_layout_fill(&layout, PSE_OBJECT, 1, 1, &extent);
    pse_engine_buffer_describe(s, block, &layout, s->pending.call->site, s->pending.context->tph);
    memcpy(pse_engine_buffer_data(s, block), data, size);
    pse_engine_value *v = pse_engine_slot_renew(s, s->pending.context, slot);
    v->state = VALUE_BUFFER;
    v->as.buffer = block;
    return true;
}
