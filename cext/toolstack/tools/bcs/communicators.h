/* The communicators whose communication the tool takes over: MPI_COMM_WORLD and those made of such ones. */
#ifndef PSE_BCS_COMMUNICATORS_H
#define PSE_BCS_COMMUNICATORS_H

#include <mpi.h>

#include "handle_table.h"

struct pse_bcs_comm {
    struct pse_handle_node node;
    MPI_Comm handle;
    uint64_t context; /* of its messages; of its collective operations: the next number */
    int rank, size;
    int *world;        /* its ranks as the layer has them */
    int *ranks;        /* the layer's ranks as it has them */
    size_t references; /* the table, and operations under way */
};

/* NULL: its communication is MPI's. */
struct pse_bcs_comm *pse_bcs_comm_of(MPI_Comm comm);

/* Take over a new communicator; collective over it. */
void pse_bcs_know(MPI_Comm comm);
void pse_bcs_forget(MPI_Comm comm);
void pse_bcs_comm_release(struct pse_bcs_comm *comm);

#endif
