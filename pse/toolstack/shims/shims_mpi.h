/* The part of the shims that needs mpi.h and is the same for every MPI: lengths of arrays, for the generated
 * code. */
#ifndef PSE_TOOLSTACK_SHIMS_MPI_H
#define PSE_TOOLSTACK_SHIMS_MPI_H

#include <mpi.h>
#include <stdbool.h>

#include "shims.h"

#ifdef OPEN_MPI /* whose constants are addresses of the library's symbols */
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)pse_toolstack_library_symbol(#global))
#endif

#pragma GCC visibility push(hidden)

/* How many processes a collective call has counts for: the other group's, in an intercommunicator. */
int pse_toolstack_peers(MPI_Comm comm);
int pse_toolstack_members(MPI_Comm comm);
/* The same for arrays that only the root has to give. */
int pse_toolstack_peers_of_root(MPI_Comm comm, int root);
int pse_toolstack_sources(MPI_Comm comm);
int pse_toolstack_destinations(MPI_Comm comm);
/* Whether a type was made by a large-count routine, so that X can't describe it. */
bool pse_toolstack_type_is_large(pse_function envelope_c, MPI_Datatype datatype);

#pragma GCC visibility pop

#endif
