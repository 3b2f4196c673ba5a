/* Collective operations that have one buffer on each rank. */
#include "collectives.h"
#include "notes.h"

#include <stdlib.h>

#include "communicators.h"
#include "places.h"
#include "tool.h"

enum { NO_ROOT = -1, SMALL = 1 << 16 };

void pse_bcs_call_begin(struct pse_bcs_call *call, struct pse_bcs_comm *comm, uint32_t label, int root,
                        MPI_Request *request)
{
    call->comm = comm;
    call->request = request;
    call->operation = request ? pse_bcs_allocate() : &call->own;
    pse_bcs_begin_collective(call->operation, comm, label, root, request == NULL);
}

void pse_bcs_give(struct pse_bcs_call *call, int rank, struct pse_bcs_place from, bool copy)
{
    pse_bcs_add_send(call->operation, from, rank, call->operation->tag,
                     copy ? PSE_BCS_BUFFERED : PSE_BCS_STANDARD);
}

void pse_bcs_take(struct pse_bcs_call *call, int rank, struct pse_bcs_place into)
{
    pse_bcs_add_receive(call->operation, into, rank, call->operation->tag);
}

int pse_bcs_call_end(struct pse_bcs_call *call)
{
    if (!call->request)
        return pse_bcs_run(call->operation, MPI_STATUS_IGNORE);
    pse_bcs_start(call->operation, call->request);
    return MPI_SUCCESS;
}

/* Bytes from the first one of some elements to the last one, and where the first one is. */
static MPI_Aint span_of(struct pse_bcs_place place, MPI_Aint *first)
{
    MPI_Aint length;
    PMPI_Type_get_true_extent(place.type, first, &length);
    return place.count ? length + (MPI_Aint)(place.count - 1) * pse_bcs_extent_of(place.type) : 0;
}

void pse_bcs_take_reduced(struct pse_bcs_call *call, int last, struct pse_bcs_place result, MPI_Op op)
{
    enum { ALIGNMENT = 64 };
    struct pse_bcs_reduction *reduction = &call->operation->reduction;
    MPI_Aint first;
    reduction->stride = (span_of(result, &first) + ALIGNMENT) & ~(MPI_Aint)(ALIGNMENT - 1);
    reduction->memory = pse_bcs_memory((size_t)(reduction->stride * (last + 1)));
    reduction->first = reduction->memory - first;
    reduction->contributions = last + 1;
    reduction->op = op;
    reduction->result = result;
    for (int rank = 0; rank <= last; rank++) {
        struct pse_bcs_place into = result;
        into.buffer = reduction->first + rank * reduction->stride;
        pse_bcs_take(call, rank, into);
    }
}

static const struct pse_bcs_place nothing = {NULL, 0, MPI_BYTE};

int pse_bcs_barrier(struct pse_bcs_comm *comm, uint32_t label, MPI_Request *request)
{
    struct pse_bcs_call call;
    pse_bcs_call_begin(&call, comm, label, NO_ROOT, request);
    for (int rank = 0; rank < comm->size; rank++) {
        pse_bcs_give(&call, rank, nothing, false);
        pse_bcs_take(&call, rank, nothing);
    }
    return pse_bcs_call_end(&call);
}

int pse_bcs_bcast(struct pse_bcs_comm *comm, struct pse_bcs_place place, int root, MPI_Request *request)
{
    struct pse_bcs_call call;
    pse_bcs_call_begin(&call, comm, PSE_BCS_LABEL_BCAST, root, request);
    if (comm->rank != root)
        pse_bcs_take(&call, root, place);
    for (int rank = 0; rank < comm->size; rank++)
        if (comm->rank == root && rank != root)
            pse_bcs_give(&call, rank, place, false);
    return pse_bcs_call_end(&call);
}

/* What this rank contributes. */
static struct pse_bcs_place own_part(const void *sendbuf, struct pse_bcs_place result)
{
    if (sendbuf != MPI_IN_PLACE)
        result.buffer = (char *)(uintptr_t)sendbuf;
    return result;
}

int pse_bcs_reduce(struct pse_bcs_comm *comm, const void *sendbuf, struct pse_bcs_place result, MPI_Op op,
                   int root, MPI_Request *request)
{
    struct pse_bcs_call call;
    pse_bcs_call_begin(&call, comm, PSE_BCS_LABEL_REDUCE, root, request);
    pse_bcs_give(&call, root, own_part(sendbuf, result), false);
    if (comm->rank == root)
        pse_bcs_take_reduced(&call, comm->size - 1, result, op);
    return pse_bcs_call_end(&call);
}

/* What of an array a rank reduces for all. */
static struct pse_bcs_place share_of(const struct pse_bcs_comm *comm, int rank, struct pse_bcs_place all)
{
    const MPI_Count begin = all.count * rank / comm->size;
    const MPI_Count end = all.count * (rank + 1) / comm->size;
    all.buffer = (char *)all.buffer + (MPI_Aint)begin * pse_bcs_extent_of(all.type);
    all.count = end - begin;
    return all;
}

/* Each rank reduces a piece of the array, in the order of ranks as ever, and then gives it to all. */
static int allreduce_pieces(struct pse_bcs_comm *comm, const void *sendbuf, struct pse_bcs_place result,
                            MPI_Op op)
{
    struct pse_bcs_call call;
    const struct pse_bcs_place mine = share_of(comm, comm->rank, result);
    pse_bcs_call_begin(&call, comm, PSE_BCS_LABEL_ALLREDUCE, NO_ROOT, NULL);
    for (int rank = 0; rank < comm->size; rank++)
        pse_bcs_give(&call, rank, share_of(comm, rank, own_part(sendbuf, result)), false);
    pse_bcs_take_reduced(&call, comm->size - 1, mine, op);
    const int error = pse_bcs_call_end(&call);
    if (error)
        return error;
    pse_bcs_call_begin(&call, comm, PSE_BCS_LABEL_ALLREDUCE, NO_ROOT, NULL);
    for (int rank = 0; rank < comm->size; rank++) {
        if (rank == comm->rank)
            continue;
        pse_bcs_give(&call, rank, mine, false);
        pse_bcs_take(&call, rank, share_of(comm, rank, result));
    }
    return pse_bcs_call_end(&call);
}

int pse_bcs_allreduce(struct pse_bcs_comm *comm, const void *sendbuf, struct pse_bcs_place result, MPI_Op op,
                      MPI_Request *request)
{
    if (!request && result.count && pse_bcs_bytes_of(result) > SMALL)
        return allreduce_pieces(comm, sendbuf, result, op);
    struct pse_bcs_call call;
    pse_bcs_call_begin(&call, comm, PSE_BCS_LABEL_ALLREDUCE, NO_ROOT, request);
    for (int rank = 0; rank < comm->size; rank++)
        pse_bcs_give(&call, rank, own_part(sendbuf, result), false);
    pse_bcs_take_reduced(&call, comm->size - 1, result, op);
    return pse_bcs_call_end(&call);
}

int pse_bcs_scan(struct pse_bcs_comm *comm, const void *sendbuf, struct pse_bcs_place result, MPI_Op op,
                 bool exclusive, MPI_Request *request)
{
    struct pse_bcs_call call;
    const int last = comm->rank - exclusive;
    pse_bcs_call_begin(&call, comm, exclusive ? PSE_BCS_LABEL_EXSCAN : PSE_BCS_LABEL_SCAN, NO_ROOT, request);
    for (int rank = comm->rank + exclusive; rank < comm->size; rank++)
        pse_bcs_give(&call, rank, own_part(sendbuf, result), false);
    if (last >= 0)
        pse_bcs_take_reduced(&call, last, result, op);
    return pse_bcs_call_end(&call);
}

TOOL_PUBLIC int MPI_Barrier(MPI_Comm comm)
{
    PSE_BCS_NOTE("Barrier", true);
    struct pse_bcs_comm *known = pse_bcs_comm_of(comm);
    if (known)
        return pse_bcs_barrier(known, PSE_BCS_LABEL_BARRIER, NULL);
    PSE_BCS_AWAY(PMPI_Barrier(comm));
}

TOOL_PUBLIC int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    PSE_BCS_NOTE("Ibarrier", false);
    struct pse_bcs_comm *known = pse_bcs_comm_of(comm);
    if (known)
        return pse_bcs_barrier(known, PSE_BCS_LABEL_BARRIER, request);
    pse_bcs_expect_progress();
    return PMPI_Ibarrier(comm, request);
}
