/* Collective calls without a nonblocking form: all ranks meet at a nonblocking barrier and go in together. */
#include "own_waits.h"
#include "small_allreduce.h"
#include "tool.h"
#include "tool_memory.h"
#include "wait.h"

#define AFTER_BARRIER(name, comm, parameters, arguments)                                                     \
    TOOL_PUBLIC int name parameters                                                                          \
    {                                                                                                        \
        RETURN_OWN(P##name(arguments))                                                                       \
        int error = pse_coopwait_barrier(comm);                                                              \
        return error == MPI_SUCCESS ? P##name(arguments) : error;                                            \
    }

/* Communicators */

AFTER_BARRIER(MPI_Comm_split, comm, PARAMETERS(MPI_Comm comm, int color, int key, MPI_Comm *newcomm),
              ARGUMENTS(comm, color, key, newcomm))
AFTER_BARRIER(MPI_Comm_split_type, comm,
              PARAMETERS(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm),
              ARGUMENTS(comm, split_type, key, info, newcomm))
AFTER_BARRIER(MPI_Comm_create, comm, PARAMETERS(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm),
              ARGUMENTS(comm, group, newcomm))
AFTER_BARRIER(MPI_Intercomm_create, local_comm,
              PARAMETERS(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
                         int tag, MPI_Comm *newintercomm),
              ARGUMENTS(local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm))
AFTER_BARRIER(MPI_Intercomm_merge, intercomm,
              PARAMETERS(MPI_Comm intercomm, int high, MPI_Comm *newintracomm),
              ARGUMENTS(intercomm, high, newintracomm))
AFTER_BARRIER(MPI_Cart_create, comm,
              PARAMETERS(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
                         MPI_Comm *newcomm),
              ARGUMENTS(comm, ndims, dims, periods, reorder, newcomm))
AFTER_BARRIER(MPI_Cart_sub, comm, PARAMETERS(MPI_Comm comm, const int remain[], MPI_Comm *newcomm),
              ARGUMENTS(comm, remain, newcomm))
AFTER_BARRIER(MPI_Graph_create, comm,
              PARAMETERS(MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder,
                         MPI_Comm *newcomm),
              ARGUMENTS(comm, nnodes, index, edges, reorder, newcomm))
AFTER_BARRIER(MPI_Dist_graph_create, comm,
              PARAMETERS(MPI_Comm comm, int n, const int sources[], const int degrees[],
                         const int destinations[], const int weights[], MPI_Info info, int reorder,
                         MPI_Comm *newcomm),
              ARGUMENTS(comm, n, sources, degrees, destinations, weights, info, reorder, newcomm))
AFTER_BARRIER(MPI_Dist_graph_create_adjacent, comm,
              PARAMETERS(MPI_Comm comm, int indegree, const int sources[], const int sourceweights[],
                         int outdegree, const int destinations[], const int destweights[], MPI_Info info,
                         int reorder, MPI_Comm *newcomm),
              ARGUMENTS(comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info,
                        reorder, newcomm))
AFTER_BARRIER(MPI_Comm_disconnect, *comm, PARAMETERS(MPI_Comm *comm), ARGUMENTS(comm))

/* Windows: their ranks meet on a communicator of the tool's own, kept as an attribute of the window. */

static int comm_key = MPI_KEYVAL_INVALID;

static int free_comm(MPI_Win win, int key, void *comm, void *extra)
{
    (void)win, (void)key, (void)extra;
    PMPI_Comm_free(comm);
    free(comm);
    return MPI_SUCCESS;
}

/* Give a new window its communicator.  It is split off, since a duplicate would copy the user's attributes.
 */
static void add_comm(MPI_Comm comm, MPI_Win win)
{
    MPI_Comm *own = pse_tool_memory(sizeof *own);
    if (comm_key == MPI_KEYVAL_INVALID)
        PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, free_comm, &comm_key, NULL);
    if (pse_coopwait_barrier(comm) == MPI_SUCCESS && PMPI_Comm_split(comm, 0, 0, own) == MPI_SUCCESS)
        PMPI_Win_set_attr(win, comm_key, own);
}

static int barrier_at_window(MPI_Win win)
{
    MPI_Comm *own;
    int found = 0;
    if (win == MPI_WIN_NULL || comm_key == MPI_KEYVAL_INVALID)
        return MPI_SUCCESS;
    int error = PMPI_Win_get_attr(win, comm_key, &own, &found);
    return error == MPI_SUCCESS && found ? pse_coopwait_barrier(*own) : error;
}

#define MADE_WINDOW(name, parameters, arguments)                                                             \
    TOOL_PUBLIC int name parameters                                                                          \
    {                                                                                                        \
        RETURN_OWN(P##name(arguments))                                                                       \
        int error = pse_coopwait_barrier(comm);                                                              \
        if (error == MPI_SUCCESS && (error = P##name(arguments)) == MPI_SUCCESS)                             \
            add_comm(comm, *win);                                                                            \
        return error;                                                                                        \
    }

#define MADE_WINDOWS(form, place)                                                                            \
    MADE_WINDOW(                                                                                             \
        MPI_Win_create##form,                                                                                \
        PARAMETERS(void *base, MPI_Aint size, place unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),       \
        ARGUMENTS(base, size, unit, info, comm, win))                                                        \
    MADE_WINDOW(                                                                                             \
        MPI_Win_allocate##form,                                                                              \
        PARAMETERS(MPI_Aint size, place unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),       \
        ARGUMENTS(size, unit, info, comm, base, win))                                                        \
    MADE_WINDOW(                                                                                             \
        MPI_Win_allocate_shared##form,                                                                       \
        PARAMETERS(MPI_Aint size, place unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),       \
        ARGUMENTS(size, unit, info, comm, base, win))

MADE_WINDOWS(, int)
#if MPI_VERSION >= 4
MADE_WINDOWS(_c, MPI_Aint)
#endif
MADE_WINDOW(MPI_Win_create_dynamic, PARAMETERS(MPI_Info info, MPI_Comm comm, MPI_Win *win),
            ARGUMENTS(info, comm, win))

TOOL_PUBLIC int MPI_Win_fence(int assertion, MPI_Win win)
{
    RETURN_OWN(PMPI_Win_fence(assertion, win))
    int error = barrier_at_window(win);
    return error == MPI_SUCCESS ? PMPI_Win_fence(assertion, win) : error;
}

TOOL_PUBLIC int MPI_Win_free(MPI_Win *win)
{
    RETURN_OWN(PMPI_Win_free(win))
    int error = barrier_at_window(*win);
    return error == MPI_SUCCESS ? PMPI_Win_free(win) : error;
}

/* The end */

static int meet_at_end(void)
{
#ifdef OPEN_MPI /* Its MPI_Finalize looks every 0.1 ms for ranks that are late. */
    RETURN_OWN(PMPI_Barrier(MPI_COMM_WORLD))
#else
    RETURN_OWN(MPI_SUCCESS)
#endif
    return pse_coopwait_barrier(MPI_COMM_WORLD);
}

TOOL_PUBLIC int MPI_Finalize(void)
{
    int error = meet_at_end();
    if (error != MPI_SUCCESS)
        return error;
    pse_coopwait_free_world_twin();
    RETURN_OWN(PMPI_Finalize())
    return PMPI_Finalize();
}
