/* The tool `bcs`: MPI's messages and collective operations go through the coscheduled layer
 * (cext/coschedule).
 *
 * One layer has all ranks of MPI_COMM_WORLD; communicators differ by the context of their messages, so the
 * layer knows when all ranks are blocked, whatever they wait for.  A communicator is taken over when it is
 * made, on all its ranks, or it is MPI's for ever (communicators.c).  Collective operations are messages that
 * are posted at once (collectives.c).  Requests are operations (operations.c); what waits for them knows
 * MPI's too (completion.c).
 *
 * Whatever else may wait in MPI is announced: then the layer takes the rank for blocked, and goes on.
 */
#include <stdbool.h>

#include "collectives.h"
#include "communicators.h"
#include "layer.h"
#include "notes.h"
#include "operations.h"
#include "tool.h"

static bool is_over;

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *table)
{
    pse_tool_stack = table;
    return pse_bcs_layer_configure();
}

/* All ranks of a communicator meet in the layer, or this one is away if it is MPI's. */
static bool meet(MPI_Comm comm, uint32_t label)
{
    struct pse_bcs_comm *known = pse_bcs_comm_of(comm);
    if (known)
        pse_bcs_barrier(known, label, NULL);
    else
        pse_bcs_go_away();
    return known != NULL;
}

#define TOOL_ENTER(name) PSE_BCS_NOTE(routine_names[NUMBER_##name] + sizeof "MPI_" - 1, true);
#define TOOL_LEAVE(name)
#define MEET(comm, number) const bool has_met = meet(comm, PSE_BCS_LABEL_FIRST_MEETING + (number))
#define DEPART                                                                                               \
    if (!has_met)                                                                                            \
    pse_bcs_come_back()
#define GO pse_bcs_go_away()
#define COME pse_bcs_come_back()
#include "bcs_wrappers.c"

_Static_assert(PSE_BCS_LABEL_FIRST_MEETING + ROUTINES < PSE_BCS_LABELS, "labels are part of tags");

/* Begin and end.  Threads may take turns: two that wait at once would be one rank that is blocked twice. */

static void begin(int error)
{
    if (error || pse_bcs_layer || is_over)
        return;
    for (int i = 0; i < ROUTINES; i++)
        pse_bcs_labels[PSE_BCS_LABEL_FIRST_MEETING + i] = routine_names[i];
    pse_bcs_layer_begin();
    pse_bcs_know(MPI_COMM_WORLD);
    pse_bcs_know(MPI_COMM_SELF);
}

TOOL_PUBLIC int MPI_Init(int *argc, char ***argv)
{
    const int error = PMPI_Init(argc, argv);
    begin(error);
    return error;
}

TOOL_PUBLIC int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int error = PMPI_Init_thread(argc, argv, required, provided);
    if (*provided > MPI_THREAD_SERIALIZED)
        *provided = MPI_THREAD_SERIALIZED;
    begin(error);
    return error;
}

TOOL_PUBLIC int MPI_Query_thread(int *provided)
{
    const int error = PMPI_Query_thread(provided);
    if (*provided > MPI_THREAD_SERIALIZED)
        *provided = MPI_THREAD_SERIALIZED;
    return error;
}

static void meet_at_the_end(struct pse_bcs_comm *world)
{
    PSE_BCS_NOTE("Finalize", true);
    pse_bcs_barrier(world, PSE_BCS_LABEL_FINALIZE, NULL);
}

TOOL_PUBLIC int MPI_Finalize(void)
{
    struct pse_bcs_comm *world = pse_bcs_comm_of(MPI_COMM_WORLD);
    if (world) {
        meet_at_the_end(world);
        pse_bcs_end_abandoned(false);
        pse_bcs_free_handles();
        pse_bcs_layer_end();
        is_over = true;
    }
    return PMPI_Finalize();
}
