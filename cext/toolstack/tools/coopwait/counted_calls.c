/* The calls that have a nonblocking form and carry counts of int; large_counted_calls.c is the same for
 * MPI_Count.
 */
#include <string.h>

#include "count_forms.h"
#include "own_waits.h"
#include "packed_copy.h"
#include "small_allreduce.h"
#include "tool.h"
#include "wait.h"

/* Point to point */

#define SENT(name, form)                                                                                     \
    STARTED(name, form, PARAMETERS(const void *buf, MESSAGE, int dest, int tag, MPI_Comm comm),              \
            ARGUMENTS(buf, count, datatype, dest, tag, comm))

SENT(Send, Isend)
SENT(Ssend, Issend)
SENT(Rsend, Irsend)

TOOL_PUBLIC int FORM(MPI_Recv)(void *buf, MESSAGE, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    RETURN_OWN(FORM(PMPI_Recv)(buf, count, datatype, source, tag, comm, status))
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = pse_coopwait_finish(FORM(PMPI_Irecv)(buf, count, datatype, source, tag, comm, &request),
                                          &request, status);
    pse_tool_set_null_status(source, comm, status);
    return error;
}

TOOL_PUBLIC int FORM(MPI_Mrecv)(void *buf, MESSAGE, MPI_Message *message, MPI_Status *status)
{
    RETURN_OWN(FORM(PMPI_Mrecv)(buf, count, datatype, message, status))
    MPI_Request request = MPI_REQUEST_NULL;
    return pse_coopwait_finish(FORM(PMPI_Imrecv)(buf, count, datatype, message, &request), &request, status);
}

TOOL_PUBLIC int FORM(MPI_Sendrecv)(SENDING, int dest, int sendtag, RECEIVING, int source, int recvtag,
                                   MPI_Comm comm, MPI_Status *status)
{
    RETURN_OWN(FORM(PMPI_Sendrecv)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                                   source, recvtag, comm, status))
    MPI_Request sent = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL;
    int error = FORM(PMPI_Irecv)(recvbuf, recvcount, recvtype, source, recvtag, comm, &received);
    if (received == MPI_REQUEST_NULL)
        return error;
    error = FORM(PMPI_Isend)(sendbuf, sendcount, sendtype, dest, sendtag, comm, &sent);
    if (sent == MPI_REQUEST_NULL) {
        pse_coopwait_withdraw(&received);
        return error;
    }
    error = pse_coopwait_finish_both(&received, status, &sent);
    pse_tool_set_null_status(source, comm, status);
    return error;
}

TOOL_PUBLIC int FORM(MPI_Sendrecv_replace)(void *buf, MESSAGE, int dest, int sendtag, int source, int recvtag,
                                           MPI_Comm comm, MPI_Status *status)
{
    RETURN_OWN(
        FORM(PMPI_Sendrecv_replace)(buf, count, datatype, dest, sendtag, source, recvtag, comm, status))
    int error;
    pse_packed_count bytes;
    void *out = pse_tool_packed_copy(buf, count, datatype, comm, &bytes, &error);
    if (out)
        error = PSE_PACKED_FORM(MPI_Sendrecv)(out, bytes, MPI_PACKED, dest, sendtag, buf, count, datatype,
                                              source, recvtag, comm, status);
    free(out);
    return error;
}

/* Collective */

TOOL_PUBLIC int FORM(MPI_Allreduce)(const void *sendbuf, void *recvbuf, MESSAGE, MPI_Op op, MPI_Comm comm)
{
    RETURN_CHOSEN(PSE_COOPWAIT_ALLREDUCE, count, datatype,
                  FORM(PMPI_Allreduce)(sendbuf, recvbuf, count, datatype, op, comm))
    RETURN_OWN(FORM(PMPI_Allreduce)(sendbuf, recvbuf, count, datatype, op, comm))
    const size_t element = pse_coopwait_element_size(datatype, op), bytes = element * (size_t)count;
    struct allreduce_twin *twin = pse_coopwait_twin_for(comm, count, element);
    if (twin) {
        if (sendbuf != MPI_IN_PLACE)
            memcpy(recvbuf, sendbuf, bytes);
        return pse_coopwait_combine(recvbuf, (int)count, datatype, bytes, op, twin);
    }
    COLLECTIVE_CALL(Allreduce, Iallreduce, sendbuf, recvbuf, count, datatype, op, comm)
}

#define CHOSEN(operation, name, form, parameters, arguments)                                                 \
    TOOL_PUBLIC int FORM(MPI_##name) parameters                                                              \
    {                                                                                                        \
        RETURN_CHOSEN(operation, count, datatype, FORM(PMPI_##name)(arguments))                              \
        COLLECTIVE_CALL(name, form, arguments)                                                               \
    }

CHOSEN(PSE_COOPWAIT_BCAST, Bcast, Ibcast, PARAMETERS(void *buffer, MESSAGE, int root, MPI_Comm comm),
       ARGUMENTS(buffer, count, datatype, root, comm))
CHOSEN(PSE_COOPWAIT_REDUCE, Reduce, Ireduce,
       PARAMETERS(const void *sendbuf, void *recvbuf, MESSAGE, MPI_Op op, int root, MPI_Comm comm),
       ARGUMENTS(sendbuf, recvbuf, count, datatype, op, root, comm))

#define REDUCED(name, form)                                                                                  \
    COLLECTIVE(name, form,                                                                                   \
               PARAMETERS(const void *sendbuf, void *recvbuf, MESSAGE, MPI_Op op, MPI_Comm comm),            \
               ARGUMENTS(sendbuf, recvbuf, count, datatype, op, comm))

REDUCED(Reduce_scatter_block, Ireduce_scatter_block)
REDUCED(Scan, Iscan)
REDUCED(Exscan, Iexscan)

COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           PARAMETERS(const void *sendbuf, void *recvbuf, const COUNT recvcounts[], MPI_Datatype datatype,
                      MPI_Op op, MPI_Comm comm),
           ARGUMENTS(sendbuf, recvbuf, recvcounts, datatype, op, comm))

#define ROOTED(name, form)                                                                                   \
    COLLECTIVE(name, form, PARAMETERS(SENDING, RECEIVING, int root, MPI_Comm comm),                          \
               ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))

ROOTED(Gather, Igather)
ROOTED(Scatter, Iscatter)

COLLECTIVE(Gatherv, Igatherv,
           PARAMETERS(SENDING, void *recvbuf, const COUNT recvcounts[], const PLACE displs[],
                      MPI_Datatype recvtype, int root, MPI_Comm comm),
           ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))
COLLECTIVE(Scatterv, Iscatterv,
           PARAMETERS(const void *sendbuf, const COUNT sendcounts[], const PLACE displs[],
                      MPI_Datatype sendtype, RECEIVING, int root, MPI_Comm comm),
           ARGUMENTS(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm))

#define EXCHANGED(name, form)                                                                                \
    COLLECTIVE(name, form, PARAMETERS(SENDING, RECEIVING, MPI_Comm comm),                                    \
               ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

EXCHANGED(Allgather, Iallgather)
EXCHANGED(Alltoall, Ialltoall)
EXCHANGED(Neighbor_allgather, Ineighbor_allgather)
EXCHANGED(Neighbor_alltoall, Ineighbor_alltoall)

#define GATHERED(name, form)                                                                                 \
    COLLECTIVE(name, form,                                                                                   \
               PARAMETERS(SENDING, void *recvbuf, const COUNT recvcounts[], const PLACE displs[],            \
                          MPI_Datatype recvtype, MPI_Comm comm),                                             \
               ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))

GATHERED(Allgatherv, Iallgatherv)
GATHERED(Neighbor_allgatherv, Ineighbor_allgatherv)

#define SENDINGS(place) const void *sendbuf, const COUNT sendcounts[], const place sdispls[]
#define RECEIVINGS(place) void *recvbuf, const COUNT recvcounts[], const place rdispls[]

#define ALL_TO_ALL(name, form)                                                                               \
    COLLECTIVE(                                                                                              \
        name, form,                                                                                          \
        PARAMETERS(SENDINGS(PLACE), MPI_Datatype sendtype, RECEIVINGS(PLACE), MPI_Datatype recvtype,         \
                   MPI_Comm comm),                                                                           \
        ARGUMENTS(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))

ALL_TO_ALL(Alltoallv, Ialltoallv)
ALL_TO_ALL(Neighbor_alltoallv, Ineighbor_alltoallv)

#define ALL_TO_ALL_TYPES(name, form, place)                                                                  \
    COLLECTIVE(                                                                                              \
        name, form,                                                                                          \
        PARAMETERS(SENDINGS(place), const MPI_Datatype sendtypes[], RECEIVINGS(place),                       \
                   const MPI_Datatype recvtypes[], MPI_Comm comm),                                           \
        ARGUMENTS(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))

ALL_TO_ALL_TYPES(Alltoallw, Ialltoallw, PLACE)
ALL_TO_ALL_TYPES(Neighbor_alltoallw, Ineighbor_alltoallw, MPI_Aint)
