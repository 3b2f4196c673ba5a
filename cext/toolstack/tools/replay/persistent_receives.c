/* Receives that are posted in the place of persistent ones. */
#include "persistent_receives.h"

#include <stdlib.h>

#include "decision_log.h"
#include "decisions.h"
#include "handle_table.h"
#include "pse_tools.h"
#include "tool_memory.h"

struct posted_receive {
    struct pse_handle_node node;
    void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
    int tag;
    MPI_Comm comm;
    MPI_Request request; /* while it is started */
};

static struct pse_handle_table posted_receives;

static struct posted_receive *find_posted(MPI_Request handle)
{
    return handle == MPI_REQUEST_NULL ? NULL : pse_handle_find(&posted_receives, PSE_HANDLE(handle));
}

void pse_replay_made(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Request handle)
{
    if (source != MPI_ANY_SOURCE)
        return;
    struct posted_receive *made = pse_tool_memory(sizeof *made);
    *made = (struct posted_receive){
        .buffer = buffer, .count = count, .tag = tag, .comm = comm, .request = MPI_REQUEST_NULL};
    PMPI_Type_dup(datatype, &made->datatype); /* The program may free its own. */
    pse_handle_add(&posted_receives, PSE_HANDLE(handle), made);
}

static int post(struct posted_receive *one)
{
    int source = MPI_ANY_SOURCE, tag = one->tag;
    MPI_Comm comm = one->comm;
    pse_replay_direct(DECIDED_START, &source, &tag, &comm);
#if MPI_VERSION >= 4
    return PMPI_Irecv_c(one->buffer, one->count, one->datatype, source, tag, comm, &one->request);
#else
    return PMPI_Irecv(one->buffer, (int)one->count, one->datatype, source, tag, comm, &one->request);
#endif
}

int pse_replay_start(MPI_Request *request)
{
    struct posted_receive *one = find_posted(*request);
    return one ? post(one) : PMPI_Start(request);
}

int pse_replay_start_all(int n, MPI_Request requests[])
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < n && error == MPI_SUCCESS; i++)
        error = pse_replay_start(&requests[i]);
    return error;
}

MPI_Request pse_replay_posted(MPI_Request request)
{
    struct posted_receive *one = find_posted(request);
    return one ? one->request : request;
}

void pse_replay_free(MPI_Request handle)
{
    struct posted_receive *one =
        find_posted(handle) ? pse_handle_take(&posted_receives, PSE_HANDLE(handle)) : NULL;
    if (!one)
        return;
    if (one->request != MPI_REQUEST_NULL)
        PMPI_Request_free(&one->request);
    PMPI_Type_free(&one->datatype);
    free(one);
}

MPI_Request pse_replay_swap_in(MPI_Request *request)
{
    MPI_Request given = *request;
    *request = pse_replay_posted(given);
    return given;
}

void pse_replay_swap_out(MPI_Request *request, MPI_Request given)
{
    struct posted_receive *one = find_posted(given);
    if (!one)
        return;
    one->request = *request;
    *request = given;
}
