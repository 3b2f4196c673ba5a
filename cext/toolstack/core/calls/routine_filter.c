/* Hiding routines from a layer. */
#include "calls/routine_filter.h"

#include <stdbool.h>
#include <string.h>

#include "mpi/routine_table.h"
#include "shims.h"

/* The same, or the routine's large-count form. */
static bool is_meant(const char *routine, const char *name)
{
    const size_t length = strlen(name);
    return pse_toolstack_is_named(routine, name) ||
           (strncmp(routine, name, length) == 0 && strcmp(routine + length, "_c") == 0);
}

static bool is_among(const char *routine, const struct word_list *words)
{
    for (int i = 0; i < words->count; i++)
        if (is_meant(routine, words->word[i]))
            return true;
    return false;
}

static bool is_hidden(const struct tool_spec *spec, const char *routine)
{
    if (is_among(routine, &spec->except))
        return true;
    return spec->only.count > 0 && !is_among(routine, &spec->only) && !pse_toolstack_is_always_seen(routine);
}

void pse_toolstack_hide_routines(const struct tool_spec *spec, pse_function *entry, const pse_function *below)
{
    if (spec->only.count == 0 && spec->except.count == 0)
        return;
    for (int i = 0; i < pse_toolstack_routine_count; i++)
        if (entry[i] != below[i] && is_hidden(spec, pse_toolstack_routine_name(i)))
            entry[i] = below[i];
}

const char *pse_toolstack_filters_refuse(const struct tool_spec *spec)
{
    if (spec->communicators.count > 0 && !pse_toolstack_signatures)
        return "`communicator` needs the mpi.h of this MPI library, which was not found";
    return NULL;
}
