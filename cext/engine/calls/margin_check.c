#include "calls/margin_check.h"

#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/slots.h"

static bool is_array(const pse_argument *argument)
{
    return argument->kind == PSE_ARGUMENT_READ || argument->kind == PSE_ARGUMENT_MAKE ||
           argument->kind == PSE_ARGUMENT_LATER || argument->kind == PSE_ARGUMENT_CHANGE ||
           argument->kind == PSE_ARGUMENT_UPDATE || argument->kind == PSE_ARGUMENT_RESULT;
}

/* How far before its data the nearest byte is that was overwritten; 0: none was. */
static uint64_t overwritten(const pse_engine *s, const pse_engine_value *v)
{
    uint64_t bytes;
    if (v->state != VALUE_BUFFER)
        return 0;
    const unsigned char *margin = pse_engine_buffer_margin(s, v->as.buffer, &bytes);
    for (uint64_t distance = 1; distance <= bytes; distance++)
        if (margin[bytes - distance] != PSE_MARGIN)
            return distance;
    return 0;
}

bool pse_engine_margins_are_whole(pse_engine *s, pse_context *context, const pse_call *call)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (!is_array(argument))
            continue;
        s->margin_check.slot = argument->slot;
        s->margin_check.distance = overwritten(s, pse_engine_slot_read(context, argument->slot));
        if (s->margin_check.distance != 0)
            return false;
    }
    return true;
}

int32_t pse_engine_underrun(const pse_engine *s, uint64_t *distance)
{
    *distance = s->margin_check.distance;
    return s->margin_check.slot;
}
