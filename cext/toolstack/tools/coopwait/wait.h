/* Waiting for what nonblocking calls have started. */
#ifndef PSE_COOPWAIT_WAIT_H
#define PSE_COOPWAIT_WAIT_H

#include <mpi.h>
#include <stdbool.h>

#include "own_waits.h"

/* Wait for what a nonblocking call has started, if it could.  A request that is still null says that it could
 * not: a user's error handler may have made a success of it. */
int pse_coopwait_finish(int error, MPI_Request *request, MPI_Status *status);
/* Wait until all ranks of a communicator have come.  What is not a communicator is for the call itself to
 * refuse. */
int pse_coopwait_barrier(MPI_Comm comm);
/* Whether a communicator is one of two groups.  MPICH's nonblocking collective operations hang or fail on
 * these where a rank is neither root nor receiver. */
bool pse_coopwait_has_two_groups(MPI_Comm comm);
/* Whether ranks can't use the nonblocking form of a collective operation, or of one among neighbours. */
bool pse_coopwait_must_meet(MPI_Comm comm, bool neighbors);
/* Take back a receive that nobody will send to any more. */
void pse_coopwait_withdraw(MPI_Request *received);
/* Wait for a receive and a send; gives the first error. */
int pse_coopwait_finish_both(MPI_Request *received, MPI_Status *status, MPI_Request *sent);

/* Code of wrappers: MPI_<name>, where its own wait won't do by way of MPI_<form>, as in STARTED(Bcast,
 * Ibcast, PARAMETERS(…), ARGUMENTS(…)). FORM makes the name of a routine: with or without _c. */
#define PARAMETERS(...) (__VA_ARGS__)
#define ARGUMENTS(...) __VA_ARGS__
#define STARTED(name, form, parameters, arguments)                                                           \
    TOOL_PUBLIC int FORM(MPI_##name) parameters                                                              \
    {                                                                                                        \
        RETURN_OWN(FORM(PMPI_##name)(arguments))                                                             \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        return pse_coopwait_finish(FORM(PMPI_##form)(arguments, &request), &request, MPI_STATUS_IGNORE);     \
    }
/* The same for a collective operation; where the nonblocking form is of no use, all ranks meet before they go
 * in. */
#define COLLECTIVE(name, form, parameters, arguments)                                                        \
    TOOL_PUBLIC int FORM(MPI_##name) parameters                                                              \
    {                                                                                                        \
        COLLECTIVE_CALL(name, form, arguments)                                                               \
    }
#define COLLECTIVE_CALL(name, form, ...)                                                                     \
    RETURN_OWN(FORM(PMPI_##name)(__VA_ARGS__))                                                               \
    MPI_Request request = MPI_REQUEST_NULL;                                                                  \
    if (!pse_coopwait_must_meet(comm, #name[0] == 'N'))                                                      \
        return pse_coopwait_finish(FORM(PMPI_##form)(__VA_ARGS__, &request), &request, MPI_STATUS_IGNORE);   \
    const int error = pse_coopwait_barrier(comm);                                                            \
    return error == MPI_SUCCESS ? FORM(PMPI_##name)(__VA_ARGS__) : error;

#endif
