/* What MPI changes when requests complete: wrappers of waits and tests keep a copy of the requests that they
 * were given, and have statuses of their own where the program wants none.
 *
 * May touch: nothing.
 */
#ifndef PSE_KEPT_H
#define PSE_KEPT_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_FEW = 16 };

struct kept {
    MPI_Request few[KEPT_FEW], *requests;
    MPI_Status few_statuses[KEPT_FEW], *statuses;
    MPI_Status *allocated;
};

/* In a wrapper's code before the call, with MPI's names of parameters. */
#define OWN_STATUS                                                                                           \
    MPI_Status own_status;                                                                                   \
    if (status == MPI_STATUS_IGNORE)                                                                         \
    status = &own_status
#define KEEP_ONE                                                                                             \
    OWN_STATUS;                                                                                              \
    MPI_Request kept = *request
#define KEEP_ALL(count)                                                                                      \
    struct kept kept;                                                                                        \
    keep(&kept, count, array_of_requests, NULL)
#define KEEP_EACH(count)                                                                                     \
    struct kept kept;                                                                                        \
    array_of_statuses = keep(&kept, count, array_of_requests, array_of_statuses)

/* Returns the statuses to be used: those given, or own ones.  A keep_end belongs to it. */
static inline MPI_Status *keep(struct kept *kept, int count, const MPI_Request handles[],
                               MPI_Status *statuses)
{
    size_t n = count > 0 ? (size_t)count : 0;
    kept->allocated = NULL;
    kept->requests = n <= KEPT_FEW ? kept->few : malloc(n * sizeof *kept->requests);
    if (n)
        memcpy(kept->requests, handles, n * sizeof *kept->requests);
    kept->statuses = statuses;
    if (statuses == MPI_STATUSES_IGNORE)
        kept->statuses =
            n <= KEPT_FEW ? kept->few_statuses : (kept->allocated = malloc(n * sizeof *kept->statuses));
    return kept->statuses;
}

static inline void keep_end(struct kept *kept)
{
    if (kept->requests != kept->few)
        free(kept->requests);
    free(kept->allocated);
}

#endif
