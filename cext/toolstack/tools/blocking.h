/* Blocking calls made of non-blocking ones, where these fall short of them.
 *
 * MPI_Sendrecv_replace goes by way of two buffers: a packed copy of what goes out.  (MPICH's
 * MPI_Isendrecv_replace gives no status, and crashes at MPI_BOTTOM.)
 *
 * A packed message may be larger than an int says, so MPI 4 is asked with large counts.  May touch: nothing.
 */
#ifndef PSE_BLOCKING_H
#define PSE_BLOCKING_H

#include <mpi.h>
#include <stdlib.h>

#if MPI_VERSION >= 4
typedef MPI_Count packed_count;
#define PACKED_FORM(name) name##_c
#else
typedef int packed_count;
#define PACKED_FORM(name) name
#endif

/* The status of a receive from MPI_PROC_NULL: MPICH 4.0 gives a non-blocking one none. */
static inline void nobody_status(int source, MPI_Comm comm, MPI_Status *status)
{
    if (source == MPI_PROC_NULL && status != MPI_STATUS_IGNORE)
        PMPI_Recv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, status);
}

/* A packed copy of the data, `*bytes` long; NULL, with MPI's error or MPI_ERR_NO_MEM in `*error`, if there is
 * none. */
static inline void *packed_copy(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                                packed_count *bytes, int *error)
{
    packed_count room = 0;
    void *copy = NULL;
    *bytes = 0;
    if ((*error = PACKED_FORM(PMPI_Pack_size)((packed_count)count, type, comm, &room)) == MPI_SUCCESS) {
        copy = malloc((size_t)room + 1);
        *error = copy ? PACKED_FORM(PMPI_Pack)(buffer, (packed_count)count, type, copy, room, bytes, comm)
                      : MPI_ERR_NO_MEM;
    }
    if (*error == MPI_SUCCESS)
        return copy;
    free(copy);
    return NULL;
}

#endif
