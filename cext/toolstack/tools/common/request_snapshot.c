/* Copies of requests and statuses around waits and tests. */
#include "request_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "tool_memory.h"

MPI_Status *pse_snapshot_take(struct pse_request_snapshot *snapshot, int count, const MPI_Request handles[],
                              MPI_Status *statuses)
{
    size_t n = count > 0 ? (size_t)count : 0;
    snapshot->allocated = NULL;
    snapshot->requests =
        n <= PSE_SNAPSHOT_FEW ? snapshot->few : pse_tool_memory(n * sizeof *snapshot->requests);
    if (n)
        memcpy(snapshot->requests, handles, n * sizeof *snapshot->requests);
    snapshot->statuses = statuses;
    if (statuses == MPI_STATUSES_IGNORE)
        snapshot->statuses = n <= PSE_SNAPSHOT_FEW
                                 ? snapshot->few_statuses
                                 : (snapshot->allocated = pse_tool_memory(n * sizeof *snapshot->statuses));
    return snapshot->statuses;
}

static int class_of(int error)
{
    int class = MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        PMPI_Error_class(error, &class);
    return class;
}

bool pse_snapshot_ended(int returned, const MPI_Status *status, int *error)
{
    const int class = class_of(returned);
    *error = class == MPI_ERR_IN_STATUS ? status->MPI_ERROR : returned;
    return class == MPI_SUCCESS || (class == MPI_ERR_IN_STATUS && class_of(*error) != MPI_ERR_PENDING);
}

bool pse_message_was_cut(int error)
{
    return class_of(error) == MPI_ERR_TRUNCATE;
}

void pse_snapshot_end(struct pse_request_snapshot *snapshot)
{
    if (snapshot->requests != snapshot->few)
        free(snapshot->requests);
    free(snapshot->allocated);
}
