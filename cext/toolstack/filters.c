/* Filters: which calls a layer sees.
 *
 * Routines that `only` and `except` exclude leave the layer when it is bound, and cost nothing. Communicators
 * and times are looked at in each call (gates.c).  This is also where all that stands between a layer and its
 * callers is put in order.
 */
#include "wrap.h"

#include <strings.h>

/* Tools set up and report in these, so a filter hides them only by their own name. */
static const char *const always[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init",
                                     "MPI_Session_finalize"};

static size_t stem(const char *name)
{
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] == '_')
        length--;
    return length;
}

/* Whether a routine is the one that is named, in C's spelling or in one of Fortran's: mpi_send_, MPI_SEND. */
bool pse_is_named(const char *routine, const char *name)
{
    const size_t length = stem(routine);
    return length == stem(name) && strncasecmp(routine, name, length) == 0;
}

/* The same, or the routine's large-count form. */
static bool is_meant(const char *routine, const char *name)
{
    const size_t length = strlen(name);
    return pse_is_named(routine, name) ||
           (strncmp(routine, name, length) == 0 && strcmp(routine + length, "_c") == 0);
}

static bool is_among(const char *routine, const struct pse_words *words)
{
    for (int i = 0; i < words->count; i++)
        if (is_meant(routine, words->word[i]))
            return true;
    return false;
}

bool pse_is_always(const char *routine)
{
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (pse_is_named(routine, always[i]))
            return true;
    return false;
}

static bool is_hidden(const struct pse_spec *spec, const char *routine)
{
    if (is_among(routine, &spec->except))
        return true;
    return spec->only.count > 0 && !is_among(routine, &spec->only) && !pse_is_always(routine);
}

static void hide_routines(const struct pse_spec *spec, pse_function *entry, const pse_function *below)
{
    if (spec->only.count == 0 && spec->except.count == 0)
        return;
    for (int i = 0; i < pse_routines; i++)
        if (entry[i] != below[i] && is_hidden(spec, pse_name(i)))
            entry[i] = below[i];
}

const char *pse_filters_refuse(const struct pse_spec *spec)
{
    if (spec->communicators.count > 0 && !pse_signatures)
        return "telling communicators apart needs the mpi.h of this MPI, which was not found";
    return NULL;
}

/* A gate stands before the shim that it concerns; whoever watches completions has to see all of them. */
void pse_layer_wrap(struct pse_layer *layer, pse_function *entry, const pse_function *below)
{
    bool lasting = false, all = true;
    hide_routines(layer->spec, entry, below);
    all &= pse_add_shims(entry, below, &lasting);
    all &= pse_add_gates(layer->spec, entry, below);
    if (lasting)
        all &= pse_watch_completions(entry);
    if (!all)
        fprintf(stderr, "pse tools: %s: no memory for all of its filters and large counts\n",
                layer->tools.name);
}
