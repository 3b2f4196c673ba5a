#include "state/input_protection.h"

#include <sys/mman.h>

#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/slots.h"

/* For the fault handler: where ranks are threads of one process, of the last that began or ended a call. */
static const pse_engine_inputs *volatile current;

/* Margin and data take whole pages: guarded buffers are never views. */
static void protect(pse_engine *s, const pse_block *block, const char *name)
{
    uint64_t margin;
    if (block->bytes == 0)
        return;
    unsigned char *begin = (unsigned char *)(uintptr_t)pse_engine_buffer_margin(s, block, &margin);
    pse_engine_input found = {begin, margin + block->bytes, name};
    if (mprotect(begin, found.bytes, PROT_READ) == 0)
        s->inputs.found[s->inputs.count++] = found;
}

void pse_engine_protect_inputs(pse_engine *s, pse_context *context, const pse_call *call)
{
    current = &s->inputs;
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (argument->kind != PSE_ARGUMENT_READ)
            continue;
        const pse_engine_value *value = pse_engine_slot_read(context, argument->slot);
        if (value->state == VALUE_BUFFER)
            protect(s, value->as.buffer, (const char *)(uintptr_t)argument->text);
    }
}

void pse_engine_release_inputs(pse_engine *s)
{
    current = NULL;
    while (s->inputs.count > 0) {
        const pse_engine_input *last = &s->inputs.found[--s->inputs.count];
        mprotect(last->begin, last->bytes, PROT_READ | PROT_WRITE);
    }
}

const char *pse_engine_input_at(const void *address)
{
    const unsigned char *at = address;
    const pse_engine_inputs *inputs = current;
    for (int32_t i = 0; inputs != NULL && i < inputs->count; i++) {
        const pse_engine_input *input = &inputs->found[i];
        if (at >= input->begin && at - input->begin < (ptrdiff_t)input->bytes)
            return input->name;
    }
    return NULL;
}
