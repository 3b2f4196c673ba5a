#include "calls/finite_check.h"

#include <math.h>
#include <string.h>

#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/slots.h"

/* How many real numbers an element consists of; 0: it is always finite. */
static int parts_of(uint16_t dtype)
{
    return dtype == PSE_F32 || dtype == PSE_F64 ? 1 : dtype == PSE_C64 || dtype == PSE_C128 ? 2 : 0;
}

static double part(const char *element, uint16_t dtype, int index)
{
    if (dtype == PSE_F32 || dtype == PSE_C64) {
        float value;
        memcpy(&value, element + index * sizeof value, sizeof value);
        return (double)value;
    }
    double value;
    memcpy(&value, element + index * sizeof value, sizeof value);
    return value;
}

static bool is_finite(pse_engine_finite_check *found, const char *element, uint16_t dtype)
{
    for (int i = 0, parts = parts_of(dtype); i < parts; i++) {
        found->value = part(element, dtype, i);
        if (!isfinite(found->value))
            return false;
    }
    return true;
}

/* Where an element is, counted in the order of the axes. */
static int64_t offset_of(const pse_layout *layout, int64_t index)
{
    int64_t offset = 0;
    for (int axis = layout->ndim - 1; axis >= 0; axis--) {
        offset += index % layout->shape[axis] * layout->strides[axis];
        index /= layout->shape[axis];
    }
    return offset;
}

static bool array_is_finite(pse_engine *s, const pse_block *block)
{
    const pse_layout *layout = &block->layout;
    pse_engine_finite_check *found = &s->finite_check;
    const char *data = pse_engine_buffer_data(s, block);
    int64_t count = parts_of(layout->dtype) > 0;
    for (int axis = 0; axis < layout->ndim; axis++)
        count *= layout->shape[axis];
    int64_t row = layout->ndim > 0 ? layout->shape[layout->ndim - 1] : 1;
    for (int64_t first = 0; first < count; first += row) {
        const char *element = data + offset_of(layout, first);
        for (found->index = first; found->index < first + row; found->index++) {
            if (!is_finite(found, element, layout->dtype))
                return false;
            element += layout->ndim > 0 ? layout->strides[layout->ndim - 1] : 0;
        }
    }
    return true;
}

static bool value_is_finite(pse_engine *s, const pse_engine_value *v)
{
    if (v->state == VALUE_BUFFER)
        return array_is_finite(s, v->as.buffer);
    s->finite_check.index = -1;
    return v->state != VALUE_SCALAR || v->dtype == PSE_I64 ||
           is_finite(&s->finite_check, (const char *)v->as.real, v->dtype == PSE_C128 ? PSE_C128 : PSE_F64);
}

static bool is_output(const pse_argument *argument)
{
    return argument->kind == PSE_ARGUMENT_MAKE || argument->kind == PSE_ARGUMENT_LATER ||
           argument->kind == PSE_ARGUMENT_CHANGE || argument->kind == PSE_ARGUMENT_UPDATE ||
           argument->kind == PSE_ARGUMENT_RESULT;
}

bool pse_engine_outputs_are_finite(pse_engine *s, pse_context *context, const pse_call *call)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (!is_output(argument))
            continue;
        s->finite_check.slot = argument->slot;
        if (!value_is_finite(s, pse_engine_slot_read(context, argument->slot)))
            return false;
    }
    return true;
}

void pse_engine_check_finite(pse_engine *s)
{
    s->finite_check.on = true;
}

int32_t pse_engine_not_finite(const pse_engine *s, int64_t *index, double *value, pse_layout *layout)
{
    const pse_engine_value *v = pse_engine_slot_read(s->pending.context, s->finite_check.slot);
    *index = s->finite_check.index;
    *value = s->finite_check.value;
    if (v->state == VALUE_BUFFER)
        *layout = v->as.buffer->layout;
    return s->finite_check.slot;
}
