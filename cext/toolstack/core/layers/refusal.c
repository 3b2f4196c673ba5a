/* Ending, or going on without. */
#include "layers/refusal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/report.h"

bool pse_toolstack_held;

char pse_toolstack_obstacle[1536];

void pse_toolstack_give_up(bool everywhere, const char *format, ...)
{
    char why[sizeof pse_toolstack_obstacle];
    va_list rest;
    va_start(rest, format);
    vsnprintf(why, sizeof why, format, rest);
    va_end(rest);
    if (!pse_toolstack_held && !everywhere)
        pse_toolstack_await_turn();
    if (!pse_toolstack_held)
        pse_toolstack_die(everywhere, "%s", why);
    if (!*pse_toolstack_obstacle)
        memcpy(pse_toolstack_obstacle, why, sizeof why);
}

void pse_toolstack_refuse(struct tool_layer *layer, bool everywhere, const char *why)
{
    const struct tool_spec *spec = layer->spec;
    layer->state = PSE_OUT;
    if (!spec->optional)
        pse_toolstack_give_up(everywhere, "%s: tool `%s`: %s", spec->place, spec->name, why);
    else
        pse_toolstack_warn(everywhere, "%s: going on without the optional tool `%s`: %s", spec->place,
                           spec->name, why);
}
