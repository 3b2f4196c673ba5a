/* Compiled modules: scalars in and out, binding of arguments, the call itself. */
#include "state.h"

static void write_scalar(scalar *out, uint16_t dtype, const value *v)
{
    bool whole = v->dtype == PSE_I64;
    double real = whole ? (double)v->as.integer : v->as.real[0],
           imaginary = v->dtype == PSE_C128 ? v->as.real[1] : 0;
    int64_t integer = whole ? v->as.integer : (int64_t)v->as.real[0];
    switch (dtype) {
    case PSE_I32:
        out->i32 = (int32_t)integer;
        break;
    case PSE_F32:
        out->f32 = (float)real;
        break;
    case PSE_F64:
        out->f64 = real;
        break;
    case PSE_C64:
        out->c64[0] = (float)real, out->c64[1] = (float)imaginary;
        break;
    case PSE_C128:
        out->c128[0] = real, out->c128[1] = imaginary;
        break;
    case PSE_U8:
        out->u8 = (uint8_t)integer;
        break;
    case PSE_BOOL:
        out->u8 = integer != 0;
        break;
    case PSE_U16:
        out->u16 = (uint16_t)integer;
        break;
    default:
        out->i64 = integer;
        break;
    }
}

static void read_scalar(const scalar *in, uint16_t dtype, value *v)
{
    switch (dtype) {
    case PSE_I32:
        set_integer(v, in->i32);
        return;
    case PSE_F32:
        set_real(v, in->f32);
        return;
    case PSE_F64:
        set_real(v, in->f64);
        return;
    case PSE_U8:
    case PSE_BOOL:
        set_integer(v, in->u8);
        return;
    case PSE_U16:
        set_integer(v, in->u16);
        return;
    case PSE_C64:
        set_real(v, in->c64[0]);
        break;
    case PSE_C128:
        set_real(v, in->c128[0]);
        break;
    default:
        set_integer(v, in->i64);
        return;
    }
    v->dtype = PSE_C128;
    v->as.real[1] = dtype == PSE_C64 ? in->c64[1] : in->c128[1];
}

static bool scalar_in(pse_sequencer *s, pse_context *context, const pse_argument *argument, scalar *out)
{
    const pse_expression *range = &s->plan->expressions[argument->expression];
    const pse_term *term = &s->plan->terms[range->first];
    value result;
    if (range->count == 1 && term->kind == PSE_TERM_SLOT)
        result = *slot_read(context, term->slot);
    else if (!evaluate(context, s, argument->expression, &result))
        return false;
    write_scalar(out, argument->dtype, &result);
    return true;
}

static bool bind(pse_sequencer *s, pse_context *context, const pse_call *call, void **pointers,
                 scalar *scalars)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        pointers[i] = &scalars[i];
        switch (argument->kind) {
        case PSE_ARGUMENT_READ:
        case PSE_ARGUMENT_CHANGE:
            pointers[i] = buffer_data(s, slot_read(context, argument->slot)->as.buffer);
            break;
        case PSE_ARGUMENT_MAKE:
            pointers[i] = buffer_data(s, s->made[i]);
            break;
        case PSE_ARGUMENT_TEXT:
        case PSE_ARGUMENT_COMM:
            pointers[i] = (void *)(uintptr_t)argument->text;
            break;
        case PSE_ARGUMENT_UPDATE:
            write_scalar(&scalars[i], argument->dtype, slot_read(context, argument->slot));
            break;
        case PSE_ARGUMENT_RESULT:
            memset(&scalars[i], 0, sizeof scalars[i]);
            break;
        case PSE_ARGUMENT_DIMENSION:
            if (!evaluate_integer(context, s, argument->expression, &scalars[i].i64))
                return false;
            break;
        default:
            if (!scalar_in(s, context, argument, &scalars[i]))
                return false;
        }
    }
    return true;
}

static void store_scalars(pse_sequencer *s, pse_context *context, const pse_call *call, const scalar *scalars)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (argument->kind == PSE_ARGUMENT_RESULT || argument->kind == PSE_ARGUMENT_UPDATE)
            read_scalar(&scalars[i], argument->dtype, slot_renew(s, context, argument->slot));
    }
}

/* The module has returned and nothing that it posted is under way. */
int native_complete(pse_sequencer *s, pse_context *context, const pse_call *call)
{
    store_scalars(s, context, call, context->parked ? context->parked->scalars : s->frame->scalars);
    call_store(s, context, call);
    call_unpark(s, context);
    return PROGRESS_RAN;
}

int native_run(pse_sequencer *s, pse_context *context, const pse_call *call, int *result)
{
    void *pointers[PSE_MAX_ARGUMENTS];
    if (!bind(s, context, call, pointers, frame_take(s)->scalars))
        return call_fail(s, context, call, PSE_RUN_ARITHMETIC, result);
    module_enter(s, context, call);
    s->module_code = call->function(pointers);
    module_leave(s, context, call, 0);
    if (pse_messaging_get_fault(s->mail)->kind != PSE_MESSAGING_FINE)
        return call_fail(s, context, call, PSE_RUN_MAIL, result);
    if (s->module_code != 0)
        return call_fail(s, context, call, PSE_RUN_MODULE_FAILED, result);
    return call_parks(s, context, call) ? PROGRESS_PARKED : native_complete(s, context, call);
}
