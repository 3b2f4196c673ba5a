/* One step of communication: as a blocking call, or begun and then waited for in sleep. */
#ifndef PSE_EMULATE_OPERATIONS_H
#define PSE_EMULATE_OPERATIONS_H

#include "abi_emulate.h"
#include "routines.h"

typedef struct pse_emulate_rank {
    const pse_emulate_library *mpi;
    const pse_emulate_handle *comms; /* by the steps' numbers */
    char *out;                       /* what is sent */
    char *in;                        /* where it is received */
    char *requests;                  /* of what has begun */
    char *statuses;
    int pending; /* how many have begun */
    int sleeps;  /* whether waits sleep */
} pse_emulate_rank;

/* Execute a step that is not COMPUTE.  Gives MPI's error code, 0 for none. */
int pse_emulate_perform(pse_emulate_rank *rank, const pse_emulate_step *step);

#endif
