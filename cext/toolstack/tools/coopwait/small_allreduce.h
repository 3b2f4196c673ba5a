/* Small allreduces by messages, where a communicator has many of them: MPI's nonblocking form has a schedule
 * to make, and so takes three times as long as the blocking one with a core for each rank.
 *
 * The ranks, a power of two, combine what they have by recursive doubling, on a communicator of the tool's
 * own (the twin).  Whether it is done so follows from what all ranks must give alike: the operation, the
 * types, the number, and how many such calls there were on the communicator.  The lower rank's data is always
 * the left operand, so all ranks get the same bits. */
#ifndef PSE_COOPWAIT_SMALL_ALLREDUCE_H
#define PSE_COOPWAIT_SMALL_ALLREDUCE_H

#include <mpi.h>
#include <stddef.h>

struct allreduce_twin {
    MPI_Comm comm;
    int calls, rank, size; /* size: 0 if the communicator isn't one for this */
};

/* Bytes of an element; 0 for types and operations that are left to MPI. */
size_t pse_coopwait_element_size(MPI_Datatype type, MPI_Op op);
/* The twin for one call, made when it is the time; NULL if the call is MPI's. */
struct allreduce_twin *pse_coopwait_twin_for(MPI_Comm comm, MPI_Count count, size_t element);
/* Reduce `count` elements of `bytes` in all in place. */
int pse_coopwait_combine(void *data, int count, MPI_Datatype type, size_t bytes, MPI_Op op,
                         const struct allreduce_twin *twin);
/* Before MPI_Finalize. */
void pse_coopwait_free_world_twin(void);

#endif
