/* MPI_Sendrecv_replace by way of two buffers: a packed copy of what goes out.  (MPICH's MPI_Isendrecv_replace
 * gives no status, and none of MPI_BOTTOM.)
 *
 * Needs MPI 4: a packed message may be larger than an int says.  May touch: nothing.
 */
#ifndef PSE_REPLACED_H
#define PSE_REPLACED_H

#include <mpi.h>
#include <stdlib.h>

#if MPI_VERSION >= 4
/* A packed copy of the data, `*bytes` long; NULL, with MPI's error or MPI_ERR_NO_MEM in `*error`, if there is
 * none. */
static inline void *packed_copy(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                                MPI_Count *bytes, int *error)
{
    MPI_Count room = 0;
    void *copy = NULL;
    *bytes = 0;
    if ((*error = PMPI_Pack_size_c(count, type, comm, &room)) == MPI_SUCCESS) {
        copy = malloc((size_t)room + 1);
        *error = copy ? PMPI_Pack_c(buffer, count, type, copy, room, bytes, comm) : MPI_ERR_NO_MEM;
    }
    if (*error == MPI_SUCCESS)
        return copy;
    free(copy);
    return NULL;
}
#endif

#endif
