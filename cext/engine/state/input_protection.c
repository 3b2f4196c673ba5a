#include "state/input_protection.h"

#include <sys/mman.h>

#include "calls/partition_wait.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/slots.h"

typedef struct input {
    unsigned char *begin;
    uint64_t bytes;
    const char *name;
} input;

/* Of the call that runs: for the fault handler as well, and a process runs one call at a time. */
static input inputs[PSE_MAX_ARGUMENTS];
static volatile int32_t protected_inputs;

/* Margin and data take whole pages: guarded buffers are never views. */
static void protect(const pse_engine *s, const pse_block *block, const char *name)
{
    uint64_t margin;
    if (block->bytes == 0)
        return;
    unsigned char *begin = (unsigned char *)(uintptr_t)pse_engine_buffer_margin(s, block, &margin);
    input found = {begin, margin + block->bytes, name};
    if (mprotect(begin, found.bytes, PROT_READ) == 0)
        inputs[protected_inputs++] = found;
}

void pse_engine_protect_inputs(const pse_engine *s, pse_context *context, const pse_call *call)
{
    for (int32_t i = 0; i < call->arguments; i++) {
        const pse_argument *argument = &s->plan->arguments[call->first_argument + i];
        if (argument->kind != PSE_ARGUMENT_READ)
            continue;
        const pse_engine_value *value = pse_engine_slot_read(context, argument->slot);
        if (value->state == VALUE_BUFFER)
            protect(s, value->as.buffer, (const char *)(uintptr_t)argument->text);
    }
}

void pse_engine_release_inputs(void)
{
    while (protected_inputs > 0) {
        const input *last = &inputs[--protected_inputs];
        mprotect(last->begin, last->bytes, PROT_READ | PROT_WRITE);
    }
}

const char *pse_engine_input_at(const void *address)
{
    const unsigned char *at = address;
    for (int32_t i = 0; i < protected_inputs; i++)
        if (at >= inputs[i].begin && at - inputs[i].begin < (ptrdiff_t)inputs[i].bytes)
            return inputs[i].name;
    return NULL;
}
