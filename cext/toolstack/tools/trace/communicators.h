/* The communicators of a trace: numbers of this rank's own, and who is who on all ranks.
 *
 * A communicator's rank 0 tells the others its number, by a broadcast on the communicator itself when it is
 * made; all members are there then.  MPI_Comm_idup must not wait, so its broadcast is started with it, on the
 * parent, which has the same members.
 *
 * An intercommunicator is recorded as one communicator of both groups, first the group of which rank 0 has
 * the lesser rank in the job; partners and roots are recorded as ranks in it.  The two groups agree by
 * reductions on it.  One that MPI_Comm_idup makes has a number that both groups compute from its parent's.
 *
 * With processes of another job (spawned or connected, perhaps not traced) nothing is agreed: the
 * communicator is marked, and is each rank's own.
 *
 * The lock is held and the recorder is there whenever these functions are called, but for
 * `pse_trace_communicator_made`, which waits for others, and lets the lock go.
 */
#ifndef PSE_TRACE_COMMUNICATORS_H
#define PSE_TRACE_COMMUNICATORS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "handle_table.h"
#include "pse_tools.h"
#include "recorder.h"

struct trace_communicator {
    struct pse_handle_node node;
    uint32_t number;
    int rank, size;
    int partners;      /* the other group's size if there are two */
    int root_here;     /* what `root` is where this rank is the root */
    int place;         /* this rank in the communicator as it is recorded */
    int members;       /* its size as it is recorded: of both groups */
    int first_partner; /* place of the first of the other group; 0 if there is one group */
    uint16_t flags;    /* PSE_COMMUNICATOR_... */
    bool knows_neighbors;
    int sources, targets; /* neighbours in its topology, once that is known */
    uint32_t copies;      /* how often MPI_Comm_idup copied an intercommunicator */
    uint32_t shared;      /* how many windows and files were made with it */
    uint32_t identity[2];
};

#pragma GCC visibility push(hidden)

extern struct pse_handle_table pse_trace_communicators;
/* That of the latest call; NULL: it is gone. */
extern struct trace_communicator *pse_trace_latest_communicator;
extern MPI_Comm pse_trace_latest_handle;
extern uint32_t pse_trace_job_rank;   /* in MPI_COMM_WORLD */
extern MPI_Group pse_trace_job_group; /* of all ranks; MPI_GROUP_NULL until it is known */

/* The number of the next communicator that this rank makes. */
uint32_t pse_trace_next_communicator(void);
/* What is known of a communicator without the other ranks. */
struct trace_communicator *pse_trace_number_communicator(MPI_Comm comm, uint32_t number);
/* Enter it in the table. */
void pse_trace_know_communicator(MPI_Comm comm, struct trace_communicator *made);
/* Of two groups this rank's is the first or the second. */
void pse_trace_order_groups(struct trace_communicator *made, bool is_second);
/* Write down an entry whose identity is known. */
void pse_trace_put_communicator(MPI_Comm comm, MPI_Comm parent, const struct trace_communicator *made);
/* An entry for a communicator that was never seen being made. */
__attribute__((cold)) struct trace_communicator *pse_trace_unseen_communicator(MPI_Comm comm);
/* All members of a new communicator are here. */
void pse_trace_communicator_made(MPI_Comm comm, MPI_Comm parent);
/* The same after a call of just these ranks, which began at a time. */
void pse_trace_communicator_met(MPI_Comm comm, MPI_Comm parent, uint64_t time);
/* With the numbers of its neighbours, for which MPI is asked once. */
const struct trace_communicator *pse_trace_with_neighbors(MPI_Comm comm, struct trace_communicator *known);
void pse_trace_communicator_named(MPI_Comm comm, const char *name);
void pse_trace_communicator_freed(MPI_Comm comm);
/* MPI_COMM_WORLD and MPI_COMM_SELF. */
void pse_trace_first_communicators(void);

#pragma GCC visibility pop

/* The communicator of a call. */
static inline struct trace_communicator *pse_trace_communicator_of(MPI_Comm comm)
{
    if (pse_trace_latest_communicator && comm == pse_trace_latest_handle)
        return pse_trace_latest_communicator;
    struct trace_communicator *found = pse_handle_find(&pse_trace_communicators, PSE_HANDLE(comm));
    if (!found)
        found = pse_trace_unseen_communicator(comm);
    pse_trace_latest_handle = comm;
    return pse_trace_latest_communicator = found;
}

static inline uint32_t pse_trace_or_none(int number)
{
    return number < 0 ? PSE_NONE : (uint32_t)number;
}

/* A partner or root as recorded; MPI_ANY_SOURCE, and no root, are none. */
static inline uint32_t pse_trace_place(const struct trace_communicator *comm, int rank)
{
    if (rank == MPI_ROOT && comm->root_here == MPI_ROOT)
        return (uint32_t)comm->place;
    return rank < 0 ? PSE_NONE : (uint32_t)(comm->first_partner + rank);
}

#endif
