/* MPI's routines by name and number.
 *
 * A routine is known by its number: its place in the sorted list of names that _stubs.py generates for one
 * MPI library, as it generates the stubs and the table that they jump through.
 */
#ifndef PSE_TOOLSTACK_ROUTINE_TABLE_H
#define PSE_TOOLSTACK_ROUTINE_TABLE_H

#include <stdbool.h>

#include "pse_tools.h"
#include "shims.h"
#include "visibility.h"

#pragma GCC visibility push(hidden)

/* Generated (pse/toolstack/_stubs.py) */

extern const int pse_toolstack_routine_count;  /* how many */
extern const char pse_toolstack_names[];       /* "MPI_Abort\0MPI_Accumulate\0…", sorted by strcmp */
extern const unsigned pse_toolstack_name_at[]; /* where routine i's name begins */
extern pse_function pse_toolstack_table[];     /* what stub i jumps to */
extern const int pse_toolstack_stub_at[];      /* stub i, relative to this table */

const char *pse_toolstack_routine_name(int routine);
/* The number of "MPI_Send" or "mpi_send_"; -1 if MPI doesn't export it. */
int pse_toolstack_find(const char *name);
/* The same for "PMPI_Send", "pmpi_send_", and for what `pse tools adopt --rewrite` makes of them. */
int pse_toolstack_find_lower(const char *name);
pse_function pse_toolstack_stub(int routine);

/* Whether a routine is the one that is named, in C's spelling or in one of Fortran's: mpi_send_, MPI_SEND. */
bool pse_toolstack_is_named(const char *routine, const char *name);
/* Whether a routine is one in which tools set up and report: filters hide it only by its name. */
bool pse_toolstack_is_always_seen(const char *routine);

#pragma GCC visibility pop

/* What the header of this MPI says of a routine; NULL if it isn't known. */
PSE_EXPORT const struct routine_signature *pse_toolstack_signature_of(const char *name);

#endif
