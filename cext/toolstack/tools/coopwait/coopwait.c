/* coopwait: nobody waits in MPI by burning a core.
 *
 * Where MPI yields at each look, its own blocking routines do: their yields pause as backoff.h says
 * (own_waits.h).  Elsewhere, or if one of the ranks can't do that, every blocking call becomes its
 * nonblocking form and looks at it until it is complete, pausing in between.  So a rank that waits leaves the
 * core to one that computes, whatever MPI library this is.  Then:
 *
 * - A call with a nonblocking form: started, then tested (counted_calls.c, once for counts of int and once
 * for MPI_Count).  Errors are raised by the nonblocking form, once, with the communicator's own error
 * handler.
 * - Small allreduces that come often: by messages (small_allreduce.h), as MPI's nonblocking form is slow for
 * them.
 * - A collective call that has none (making communicators and windows, fences, MPI_Finalize): the ranks
 * meet at a nonblocking barrier first (after_barrier.c), so nobody is inside MPI's own wait while a peer is
 * late.  So they do for collective calls on communicators of two groups, as MPICH's nonblocking forms fail
 * there.
 * - What waits for one other rank and has no form that can be tested (unlock and flush of windows,
 * MPI_Comm_accept) is left alone.
 *
 * Blocking and nonblocking collectives don't match each other, so all ranks of a job run this tool, or none
 * does. */
#include "own_waits.h"
#include "tool.h"
#include "wait.h"

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *table)
{
    pse_tool_stack = table;
    return 0;
}

TOOL_PUBLIC int MPI_Init(int *argc, char ***argv)
{
    const int error = PMPI_Init(argc, argv);
    if (error == MPI_SUCCESS)
        pse_coopwait_take_over();
    return error;
}

TOOL_PUBLIC int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int error = PMPI_Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS)
        pse_coopwait_take_over();
    return error;
}

/* Calls without counts that have a nonblocking form */

#define FORM(name) name
STARTED(Barrier, Ibarrier, PARAMETERS(MPI_Comm comm), ARGUMENTS(comm))
COLLECTIVE(Comm_dup, Comm_idup, PARAMETERS(MPI_Comm comm, MPI_Comm *newcomm), ARGUMENTS(comm, newcomm))
#if MPI_VERSION >= 4
COLLECTIVE(Comm_dup_with_info, Comm_idup_with_info,
           PARAMETERS(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm), ARGUMENTS(comm, info, newcomm))
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
STARTED(Comm_flush_buffer, Comm_iflush_buffer, PARAMETERS(MPI_Comm comm), ARGUMENTS(comm))
STARTED(Session_flush_buffer, Session_iflush_buffer, PARAMETERS(MPI_Session session), ARGUMENTS(session))

TOOL_PUBLIC int MPI_Buffer_flush(void)
{
    RETURN_OWN(PMPI_Buffer_flush())
    MPI_Request request = MPI_REQUEST_NULL;
    return pse_coopwait_finish(PMPI_Buffer_iflush(&request), &request, MPI_STATUS_IGNORE);
}

/* Taking a buffer away waits until its messages are on their way. */
TOOL_PUBLIC int MPI_Buffer_detach(void *buffer, int *size)
{
    RETURN_OWN(PMPI_Buffer_detach(buffer, size))
    int error = MPI_Buffer_flush();
    return error == MPI_SUCCESS ? PMPI_Buffer_detach(buffer, size) : error;
}

TOOL_PUBLIC int MPI_Buffer_detach_c(void *buffer, MPI_Count *size)
{
    RETURN_OWN(PMPI_Buffer_detach_c(buffer, size))
    int error = MPI_Buffer_flush();
    return error == MPI_SUCCESS ? PMPI_Buffer_detach_c(buffer, size) : error;
}
#endif
