/* Requests as they were before a wait or test: MPI sets them to null when they complete.
 *
 * Wrappers of waits and tests copy the requests that they are given, and have statuses of their own where the
 * program wants none.  MPI ends requests also where it returns an error, of a message that is too long say,
 * and may give their handles to others: wrappers set flags, indices and counts before the call, and look at
 * what MPI has made of them whatever it returns.
 */
#ifndef PSE_TOOL_REQUEST_SNAPSHOT_H
#define PSE_TOOL_REQUEST_SNAPSHOT_H

#include <mpi.h>
#include <stdbool.h>

enum { PSE_SNAPSHOT_FEW = 16 };

struct pse_request_snapshot {
    MPI_Request few[PSE_SNAPSHOT_FEW], *requests;
    MPI_Status few_statuses[PSE_SNAPSHOT_FEW], *statuses;
    MPI_Status *allocated;
};

/* In a wrapper's code before the call, with MPI's names of parameters. */
#define OWN_STATUS                                                                                           \
    MPI_Status own_status;                                                                                   \
    if (status == MPI_STATUS_IGNORE)                                                                         \
    status = &own_status
#define SNAPSHOT_ONE                                                                                         \
    OWN_STATUS;                                                                                              \
    const MPI_Request given = *request
#define SNAPSHOT_REQUESTS(count)                                                                             \
    struct pse_request_snapshot snapshot;                                                                    \
    pse_snapshot_take(&snapshot, count, array_of_requests, NULL)
#define SNAPSHOT_ALL(count)                                                                                  \
    struct pse_request_snapshot snapshot;                                                                    \
    array_of_statuses = pse_snapshot_take(&snapshot, count, array_of_requests, array_of_statuses)

/* Returns the statuses to be used: those given, or own ones.  pse_snapshot_end frees what this allocates. */
MPI_Status *pse_snapshot_take(struct pse_request_snapshot *snapshot, int count, const MPI_Request handles[],
                              MPI_Status *statuses);
void pse_snapshot_end(struct pse_request_snapshot *snapshot);

/* Whether a call for all or some requests has ended the one with this status, and with which error. */
bool pse_snapshot_ended(int returned, const MPI_Status *status, int *error);

/* Whether a receive returned this error because its message was too long, and was cut. */
__attribute__((cold)) bool pse_message_was_cut(int error);

/* Whether a receive with this error has taken a message from its sender. */
static inline bool pse_message_came(int error)
{
    return error == MPI_SUCCESS || pse_message_was_cut(error);
}

#endif
