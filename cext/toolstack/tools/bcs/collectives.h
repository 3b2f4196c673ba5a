/* Collective operations: each rank sends at once what it has for others, and combines what comes. */
#ifndef PSE_BCS_COLLECTIVES_H
#define PSE_BCS_COLLECTIVES_H

#include "layer.h"
#include "operations.h"

/* A call: `request` is NULL if it waits.  `own` is where the operation lies if it does. */
struct pse_bcs_call {
    struct pse_bcs_comm *comm;
    struct pse_bcs_operation own, *operation;
    MPI_Request *request;
};

void pse_bcs_call_begin(struct pse_bcs_call *call, struct pse_bcs_comm *comm, uint32_t label, int root,
                        MPI_Request *request);
/* Send to a rank; `copy`: out of memory that is received into meanwhile. */
void pse_bcs_give(struct pse_bcs_call *call, int rank, struct pse_bcs_place from, bool copy);
void pse_bcs_take(struct pse_bcs_call *call, int rank, struct pse_bcs_place into);
int pse_bcs_call_end(struct pse_bcs_call *call);

/* Combine what ranks 0 to `last` give; each gives as many elements as `result` has. */
void pse_bcs_take_reduced(struct pse_bcs_call *call, int last, struct pse_bcs_place result, MPI_Op op);

/* All ranks wait for each other, and do nothing else together. */
int pse_bcs_barrier(struct pse_bcs_comm *comm, uint32_t label, MPI_Request *request);
int pse_bcs_bcast(struct pse_bcs_comm *comm, struct pse_bcs_place place, int root, MPI_Request *request);
int pse_bcs_reduce(struct pse_bcs_comm *comm, const void *sendbuf, struct pse_bcs_place result, MPI_Op op,
                   int root, MPI_Request *request);
int pse_bcs_allreduce(struct pse_bcs_comm *comm, const void *sendbuf, struct pse_bcs_place result, MPI_Op op,
                      MPI_Request *request);
/* Of this rank and those before it; `exclusive`: of those before it. */
int pse_bcs_scan(struct pse_bcs_comm *comm, const void *sendbuf, struct pse_bcs_place result, MPI_Op op,
                 bool exclusive, MPI_Request *request);

#endif
