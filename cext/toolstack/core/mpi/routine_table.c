/* Looking up routines: a binary search in the sorted names that were generated with the stubs. */
#include "mpi/routine_table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *pse_toolstack_routine_name(int routine)
{
    return pse_toolstack_names + pse_toolstack_name_at[routine];
}

int pse_toolstack_find(const char *name)
{
    int low = 0, high = pse_toolstack_routine_count;
    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(name, pse_toolstack_routine_name(middle));
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

int pse_toolstack_find_lower(const char *name)
{
    /* X is what `pse tools adopt --rewrite` makes of P. */
    return *name == 'P' || *name == 'p' || *name == 'X' || *name == 'x' ? pse_toolstack_find(name + 1) : -1;
}

pse_function pse_toolstack_stub(int routine)
{
    return (pse_function)((const char *)pse_toolstack_stub_at + pse_toolstack_stub_at[routine]);
}

static size_t stem(const char *name)
{
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] == '_')
        length--;
    return length;
}

bool pse_toolstack_is_named(const char *routine, const char *name)
{
    const size_t length = stem(routine);
    return length == stem(name) && strncasecmp(routine, name, length) == 0;
}

/* Tools set up and report in these, so a filter hides them only by their own name. */
static const char *const always[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init",
                                     "MPI_Session_finalize"};

bool pse_toolstack_is_always_seen(const char *routine)
{
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (pse_toolstack_is_named(routine, always[i]))
            return true;
    return false;
}

static int compare_names(const void *name, const void *signature)
{
    return strcmp(name, ((const struct routine_signature *)signature)->name);
}

const struct routine_signature *pse_toolstack_signature_of(const char *name)
{
    if (!pse_toolstack_signatures)
        return NULL;
    return bsearch(name, pse_toolstack_signatures, (size_t)pse_toolstack_signature_count,
                   sizeof *pse_toolstack_signatures, compare_names);
}
