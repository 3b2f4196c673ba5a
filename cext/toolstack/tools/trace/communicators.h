/* The communicators of a trace: numbers of this rank's own, and who is who on all ranks.
 *
 * A communicator's rank 0 tells the others its number, by a broadcast on the communicator itself when it is
 * made; all members are there then.  MPI_Comm_idup must not wait, so its broadcast is started with it, on the
 * parent, which has the same members.  An intercommunicator's identity is each rank's own.
 *
 * The lock is held and the recorder is there whenever these functions are called.
 */
#ifndef PSE_TRACE_COMMUNICATORS_H
#define PSE_TRACE_COMMUNICATORS_H

#include <mpi.h>
#include <stdint.h>

#include "handle_table.h"
#include "pse_tools.h"

struct trace_communicator {
    struct pse_handle_node node;
    uint32_t number;
    int rank, size;
    int partners;  /* the other group's size if there are two */
    int root_here; /* what `root` is where this rank is the root */
    uint32_t identity[2];
};

#pragma GCC visibility push(hidden)

extern struct pse_handle_table pse_trace_communicators;
extern uint32_t pse_trace_job_rank;   /* in MPI_COMM_WORLD */
extern MPI_Group pse_trace_job_group; /* of all ranks; MPI_GROUP_NULL until it is known */

/* The number of the next communicator that this rank makes. */
uint32_t pse_trace_next_communicator(void);
/* A new entry; what is known without the other ranks. */
struct trace_communicator *pse_trace_number_communicator(MPI_Comm comm, uint32_t number);
/* Write down an entry whose identity is known. */
void pse_trace_put_communicator(MPI_Comm comm, MPI_Comm parent, const struct trace_communicator *made);
/* An entry for a communicator that was never seen being made. */
struct trace_communicator *pse_trace_unseen_communicator(MPI_Comm comm);
/* All members of a new communicator are here. */
void pse_trace_communicator_made(MPI_Comm comm, MPI_Comm parent);
void pse_trace_communicator_named(MPI_Comm comm, const char *name);
void pse_trace_communicator_freed(MPI_Comm comm);
/* MPI_COMM_WORLD and MPI_COMM_SELF. */
void pse_trace_first_communicators(void);

#pragma GCC visibility pop

/* The communicator of a call. */
static inline struct trace_communicator *pse_trace_communicator_of(MPI_Comm comm)
{
    struct trace_communicator *found = pse_handle_find(&pse_trace_communicators, PSE_HANDLE(comm));
    return found ? found : pse_trace_unseen_communicator(comm);
}

#endif
