#include "calls/output_prefix.h"

#include <inttypes.h>
#include <stdio.h>

#include "state/engine_state.h"
#include "state/slots.h"

#define ROOM 500

void pse_engine_prefix_output(pse_engine *s, pse_engine_output_pipe *pipes,
                              const pse_engine_site_prefix *sites, const char *idle)
{
    s->output_prefix = (pse_engine_output_prefix){.pipes = pipes, .sites = sites, .idle = idle};
    pse_engine_output_pipe_set_prefix(pipes, idle);
}

static size_t add_number(char *text, size_t length, const char *name, int64_t value)
{
    if (length < ROOM)
        length += (size_t)snprintf(text + length, ROOM - length, " %s=%" PRId64, name, value);
    return length;
}

void pse_engine_output_enter(pse_engine *s, pse_context *context, const pse_call *call)
{
    if (s->output_prefix.pipes == NULL)
        return;
    char text[ROOM + sizeof "] "];
    const pse_engine_site_prefix *site = &s->output_prefix.sites[call->site];
    size_t length = (size_t)snprintf(text, ROOM, "[%s", site->thread != NULL ? site->thread : "");
    if (context->home != context)
        length = add_number(text, length, "partition", context->partition);
    for (int32_t i = 0; i < site->count; i++) {
        const pse_engine_value *v = pse_engine_slot_read(context, site->loops[i].slot);
        if (v->state == VALUE_SCALAR && v->dtype == PSE_I64)
            length = add_number(text, length, site->loops[i].name, v->as.integer);
    }
    snprintf(text + (length < ROOM ? length : ROOM - 1), sizeof "] ", "] ");
    pse_engine_output_pipe_set_prefix(s->output_prefix.pipes, text);
}

void pse_engine_output_leave(pse_engine *s)
{
    if (s->output_prefix.pipes != NULL)
        pse_engine_output_pipe_set_prefix(s->output_prefix.pipes, s->output_prefix.idle);
}
