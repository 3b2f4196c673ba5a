/* Requests of persistent collective operations: MPICH's MPI_Testall refuses them. */
#ifndef PSE_COOPWAIT_PERSISTENT_COLLECTIVES_H
#define PSE_COOPWAIT_PERSISTENT_COLLECTIVES_H

#include <mpi.h>
#include <stdbool.h>

bool pse_coopwait_has_persistent_collective(int count, const MPI_Request requests[]);

#endif
