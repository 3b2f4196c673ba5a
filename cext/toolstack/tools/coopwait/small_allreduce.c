/* Communicators of small allreduces, and recursive doubling on them. */
#include "small_allreduce.h"

#include <stdlib.h>
#include <string.h>

#include "tool_memory.h"
#include "wait.h"

enum {
    SMALL = 8,  /* elements at most */
    OFTEN = 16, /* calls before a twin is made: that takes as long as many of them */
};

static int twin_key = MPI_KEYVAL_INVALID;

static int free_twin(MPI_Comm comm, int key, void *attribute, void *extra)
{
    (void)comm, (void)key, (void)extra;
    struct allreduce_twin *twin = attribute;
    if (twin->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&twin->comm);
    free(twin);
    return MPI_SUCCESS;
}

size_t pse_coopwait_element_size(MPI_Datatype type, MPI_Op op)
{
    if (op != MPI_SUM && op != MPI_MAX && op != MPI_MIN && op != MPI_PROD && op != MPI_LAND && op != MPI_LOR)
        return 0;
    if (type == MPI_DOUBLE || type == MPI_INT64_T || type == MPI_LONG_LONG || type == MPI_UINT64_T)
        return 8;
    if (type == MPI_LONG || type == MPI_UNSIGNED_LONG)
        return sizeof(long);
    return type == MPI_INT || type == MPI_FLOAT || type == MPI_INT32_T || type == MPI_UINT32_T ? 4 : 0;
}

/* A communicator's twin, or what will be one; NULL if that can't be. */
static struct allreduce_twin *find_twin(MPI_Comm comm)
{
    struct allreduce_twin *twin;
    int found = 0;
    if (twin_key == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_twin, &twin_key, NULL);
    if (PMPI_Comm_get_attr(comm, twin_key, &twin, &found) != MPI_SUCCESS || found)
        return found ? twin : NULL;
    twin = pse_tool_memory(sizeof *twin);
    twin->comm = MPI_COMM_NULL;
    PMPI_Comm_rank(comm, &twin->rank), PMPI_Comm_size(comm, &twin->size);
    if (pse_coopwait_has_two_groups(comm) || twin->size < 2 || (twin->size & (twin->size - 1)))
        twin->size = 0;
    PMPI_Comm_set_attr(comm, twin_key, twin);
    return twin;
}

struct allreduce_twin *pse_coopwait_twin_for(MPI_Comm comm, MPI_Count count, size_t element)
{
    struct allreduce_twin *twin =
        element && count > 0 && count <= SMALL && comm != MPI_COMM_NULL ? find_twin(comm) : NULL;
    if (!twin || !twin->size)
        return NULL;
    if (twin->comm == MPI_COMM_NULL && ++twin->calls == OFTEN) {
        if (pse_coopwait_barrier(comm) != MPI_SUCCESS ||
            PMPI_Comm_split(comm, 0, twin->rank, &twin->comm) != MPI_SUCCESS)
            twin->comm = MPI_COMM_NULL;
    }
    return twin->comm == MPI_COMM_NULL ? NULL : twin;
}

/* Send to and receive from another rank. */
static int exchange(const void *ours, void *theirs, int count, MPI_Datatype type, int other, MPI_Comm comm)
{
    MPI_Request sent = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL;
    int error = PMPI_Irecv(theirs, count, type, other, 0, comm, &received);
    if (received == MPI_REQUEST_NULL)
        return error;
    error = PMPI_Isend(ours, count, type, other, 0, comm, &sent);
    if (sent != MPI_REQUEST_NULL)
        return pse_coopwait_finish_both(&received, MPI_STATUS_IGNORE, &sent);
    pse_coopwait_withdraw(&received);
    return error;
}

int pse_coopwait_combine(void *data, int count, MPI_Datatype type, size_t bytes, MPI_Op op,
                         const struct allreduce_twin *twin)
{
    char theirs[SMALL * 8];
    int error = MPI_SUCCESS;
    for (int step = 1; step < twin->size && error == MPI_SUCCESS; step *= 2) {
        int other = twin->rank ^ step;
        error = exchange(data, theirs, count, type, other, twin->comm);
        if (error == MPI_SUCCESS && other < twin->rank) {
            error = PMPI_Reduce_local(theirs, data, count, type, op);
        } else if (error == MPI_SUCCESS) {
            error = PMPI_Reduce_local(data, theirs, count, type, op);
            memcpy(data, theirs, bytes);
        }
    }
    return error;
}

void pse_coopwait_free_world_twin(void)
{
    void *twin;
    int found = 0; /* To Open MPI it is an error to delete an attribute that is not there. */
    if (twin_key != MPI_KEYVAL_INVALID)
        PMPI_Comm_get_attr(MPI_COMM_WORLD, twin_key, &twin, &found);
    if (found)
        PMPI_Comm_delete_attr(MPI_COMM_WORLD, twin_key);
}
