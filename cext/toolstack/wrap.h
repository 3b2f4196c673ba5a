/* What stands between a layer and those who call it: shims for large counts (shims.c) and filters
 * (filters.c).
 *
 * Both work on the two tables that pse_layer_wrap is given: where entry[i] == below[i], the layer doesn't
 * take part in routine i.
 */
#ifndef PSE_TOOLSTACK_WRAP_H
#define PSE_TOOLSTACK_WRAP_H

#include "internal.h"
#include "pse_shims.h"

/* What the header of this MPI says of a routine; NULL if it isn't known. */
const struct pse_signature *pse_signature_of(const char *name) PSE_EXPORT;

/* Put a shim wherever a layer knows X but not X_c; false if memory was short.  `*lasting` is set if
 * completions have to be watched for it. */
bool pse_add_shims(pse_function *entry, const pse_function *below, bool *lasting) PSE_HIDDEN;
bool pse_watch_completions(pse_function *entry) PSE_HIDDEN;

/* Put a gate before each routine that a layer's communicators and times concern; false if memory was short.
 */
bool pse_add_gates(const struct pse_spec *spec, pse_function *entry, const pse_function *below) PSE_HIDDEN;

/* Whether a routine is the one that is named, in C's spelling or in one of Fortran's: mpi_send_, MPI_SEND. */
bool pse_is_named(const char *routine, const char *name) PSE_HIDDEN;
/* Whether a routine is one in which tools set up and report: filters hide it only by its name. */
bool pse_is_always(const char *routine) PSE_HIDDEN;

/* Why a layer's filters can't work with this MPI; NULL if they can. */
const char *pse_filters_refuse(const struct pse_spec *spec) PSE_HIDDEN;

#endif
