/* Filters by name: routines that `only` and `except` exclude leave the layer when it is bound, and cost
 * nothing. */
#ifndef PSE_TOOLSTACK_ROUTINE_FILTER_H
#define PSE_TOOLSTACK_ROUTINE_FILTER_H

#include "config/config.h"
#include "pse_tools.h"

/* Where entry[i] == below[i], the layer doesn't take part in routine i. */
void pse_toolstack_hide_routines(const struct tool_spec *spec, pse_function *entry,
                                 const pse_function *below);
/* Why a layer's filters can't work with this MPI; NULL if they can. */
const char *pse_toolstack_filters_refuse(const struct tool_spec *spec);

#endif
