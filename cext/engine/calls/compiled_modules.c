#include "calls/compiled_modules.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calls/outputs.h"
#include "calls/partition_wait.h"
#include "dynamic_rows.h"
#include "messaging.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/expressions.h"
#include "state/input_protection.h"
#include "state/slots.h"

static void write_scalar(pse_engine_argument_value *out, uint16_t dtype, const pse_engine_value *v)
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

static void read_scalar(const pse_engine_argument_value *in, uint16_t dtype, pse_engine_value *v)
{
    switch (dtype) {
    case PSE_I32:
        pse_engine_value_set_integer(v, in->i32);
        return;
    case PSE_F32:
        pse_engine_value_set_real(v, in->f32);
        return;
    case PSE_F64:
        pse_engine_value_set_real(v, in->f64);
        return;
    case PSE_U8:
    case PSE_BOOL:
        pse_engine_value_set_integer(v, in->u8);
        return;
    case PSE_U16:
        pse_engine_value_set_integer(v, in->u16);
        return;
    case PSE_C64:
        pse_engine_value_set_real(v, in->c64[0]);
        break;
    case PSE_C128:
        pse_engine_value_set_real(v, in->c128[0]);
        break;
    default:
        pse_engine_value_set_integer(v, in->i64);
        return;
    }
    v->dtype = PSE_C128;
    v->as.real[1] = dtype == PSE_C64 ? in->c64[1] : in->c128[1];
}

static bool scalar_in(pse_engine *s, pse_context *context, const pse_argument *argument,
                      pse_engine_argument_value *out)
{
    pse_engine_value result;
    if (!pse_engine_evaluate(context, s, argument->expression, &result))
        return false;
    write_scalar(out, argument->dtype, &result);
    return true;
}

/* Calls take tens of nanoseconds: without guard pages nothing else is called for an array. */
static void *expose(const pse_engine *s, const pse_block *block)
{
    return s->buffers.guarded ? pse_engine_buffer_expose(s, block) : pse_engine_buffer_data(s, block);
}

static bool bind(pse_engine *s, pse_context *context, const pse_call *call, void **pointers,
                 pse_engine_argument_value *scalars)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        pointers[i] = &scalars[i];
        switch (argument->kind) {
        case PSE_ARGUMENT_READ:
        case PSE_ARGUMENT_CHANGE:
            pointers[i] = expose(s, pse_engine_slot_read(context, argument->slot)->as.buffer);
            break;
        case PSE_ARGUMENT_MAKE:
            pointers[i] = expose(s, s->outputs.made[i]);
            break;
        case PSE_ARGUMENT_TEXT:
        case PSE_ARGUMENT_COMM:
            pointers[i] = (void *)(uintptr_t)argument->text;
            if (argument->slot >= 0)
                pointers[i] =
                    pse_engine_buffer_data(s, pse_engine_slot_read(context, argument->slot)->as.buffer);
            break;
        case PSE_ARGUMENT_UPDATE:
            write_scalar(&scalars[i], argument->dtype, pse_engine_slot_read(context, argument->slot));
            break;
        case PSE_ARGUMENT_RESULT:
            memset(&scalars[i], s->buffers.poisoned ? PSE_POISON_FRESH : 0, sizeof scalars[i]);
            break;
        case PSE_ARGUMENT_DIMENSION:
        case PSE_ARGUMENT_COUNT:
            if (!pse_engine_evaluate_integer(context, s, argument->expression, &scalars[i].i64) ||
                !pse_engine_extent_has_value(s, scalars[i].i64))
                return false;
            break;
        default:
            if (!scalar_in(s, context, argument, &scalars[i]))
                return false;
        }
    }
    return true;
}

static void store_scalars(pse_engine *s, pse_context *context, const pse_call *call,
                          const pse_engine_argument_value *scalars)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (argument->kind == PSE_ARGUMENT_RESULT || argument->kind == PSE_ARGUMENT_UPDATE)
            read_scalar(&scalars[i], argument->dtype, pse_engine_slot_renew(s, context, argument->slot));
    }
}

/* The module has returned and nothing that it posted is under way. */
int pse_engine_complete_compiled(pse_engine *s, pse_context *context, const pse_call *call, int *result)
{
    const pse_engine_argument_value *scalars =
        context->parked ? context->parked->scalars : s->partition_wait.frame->scalars;
    if (!pse_engine_take_rows(s, call, scalars))
        return pse_engine_fail(s, context, call, PSE_RUN_ROWS, result);
    store_scalars(s, context, call, scalars);
    pse_engine_store_outputs(s, context, call);
    pse_engine_call_unpark(s, context);
    return PROGRESS_RAN;
}

/* Whether this process is one that a module has forked: it is not a rank, and must not go on as one. */
static volatile bool forked;

static void note_fork(void)
{
    forked = true;
}

bool pse_engine_watch_forks(void)
{
    static bool watching;
    if (!watching)
        watching = pthread_atfork(NULL, NULL, note_fork) == 0;
    return watching;
}

static _Noreturn void end_forked(int code)
{
    fflush(stdout);
    _exit(code);
}

int pse_engine_run_compiled(pse_engine *s, pse_context *context, const pse_call *call, int *result)
{
    void *pointers[PSE_MAX_ARGUMENTS];
    pse_engine_frame *frame = pse_engine_frame_take(s);
    if (frame == NULL)
        return pse_engine_fail(s, context, call, PSE_RUN_MEMORY, result);
    if (!bind(s, context, call, pointers, frame->scalars))
        return pse_engine_fail(s, context, call, PSE_RUN_ARITHMETIC, result);
    pse_engine_module_enter(s, context, call);
    if (s->buffers.guarded)
        pse_engine_protect_inputs(s, context, call);
    s->pending.module_code = call->function(pointers);
    if (forked)
        end_forked(s->pending.module_code);
    pse_engine_release_inputs(s);
    pse_engine_module_leave(s, context, call, 0);
    if (pse_messaging_get_fault(s->messaging)->kind != PSE_MESSAGING_FINE)
        return pse_engine_fail(s, context, call, PSE_RUN_MESSAGING, result);
    if (s->pending.module_code != 0)
        return pse_engine_fail(s, context, call, PSE_RUN_MODULE_FAILED, result);
    return pse_engine_call_parks(s, context, call) ? PROGRESS_PARKED
                                                   : pse_engine_complete_compiled(s, context, call, result);
}
