/* Routines by name and number: a binary search in the sorted names that were generated with the stubs. */

#include "internal.h"

const char *pse_name(int routine)
{
    return pse_names + pse_name_at[routine];
}

int pse_find(const char *name)
{
    int low = 0, high = pse_routines;
    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(name, pse_name(middle));
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

int pse_find_lower(const char *name)
{
    /* X is what `pse tools adopt --rewrite` makes of P. */
    return *name == 'P' || *name == 'p' || *name == 'X' || *name == 'x' ? pse_find(name + 1) : -1;
}

pse_function pse_stub(int routine)
{
    return (pse_function)((const char *)pse_stub_at + pse_stub_at[routine]);
}
