/* What tools need to make a blocking call from non-blocking ones, where these fall short of it.
 *
 * MPI_Sendrecv_replace goes by way of two buffers: a packed copy of what goes out.  (MPICH's
 * MPI_Isendrecv_replace gives no status, and crashes at MPI_BOTTOM.)  A packed message may be larger than an
 * int says, so MPI 4 is asked with large counts.
 */
#ifndef PSE_TOOL_PACKED_COPY_H
#define PSE_TOOL_PACKED_COPY_H

#include <mpi.h>

#if MPI_VERSION >= 4
typedef MPI_Count pse_packed_count;
#define PSE_PACKED_FORM(name) name##_c
#else
typedef int pse_packed_count;
#define PSE_PACKED_FORM(name) name
#endif

/* Set the status of a receive from MPI_PROC_NULL: MPICH 4.0 gives a non-blocking one none. */
void pse_tool_set_null_status(int source, MPI_Comm comm, MPI_Status *status);

/* A packed copy of the data, `*bytes` long, for the caller to free; NULL, with MPI's error or MPI_ERR_NO_MEM
 * in
 * `*error`, if there is none. */
void *pse_tool_packed_copy(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                           pse_packed_count *bytes, int *error);

#endif
