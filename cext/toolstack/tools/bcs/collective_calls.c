/* Calls of collective operations with counts of int; large_calls.c is the same for MPI_Count.
 *
 * Every operation is written once, and waits if it is given no request.  What is not the tool's is MPI's.
 */
#include "collectives.h"
#include "communicators.h"
#include "count_forms.h"
#include "layer.h"
#include "notes.h"
#include "places.h"
#include "tool.h"

#define PARAMETERS(...) __VA_ARGS__
#define ARGUMENTS(...) __VA_ARGS__

/* MPI_<name> and MPI_<form> from a function `name` that takes the communicator, the arguments and a request;
 * `given`: the bytes that this rank gives.
 */
#define BOTH(name, form, fits, given, parameters, arguments)                                                 \
    TOOL_PUBLIC int FORM(MPI_##name)(parameters, MPI_Comm comm)                                              \
    {                                                                                                        \
        PSE_BCS_NOTE(#name, true);                                                                           \
        struct pse_bcs_comm *known = pse_bcs_comm_of(comm);                                                  \
        if (!known || !(fits))                                                                               \
            PSE_BCS_AWAY(FORM(PMPI_##name)(arguments, comm));                                                \
        PSE_BCS_NOTE_BYTES(given);                                                                           \
        return do_##name(known, arguments, NULL);                                                            \
    }                                                                                                        \
    TOOL_PUBLIC int FORM(MPI_##form)(parameters, MPI_Comm comm, MPI_Request * request)                       \
    {                                                                                                        \
        PSE_BCS_NOTE(#form, false);                                                                          \
        struct pse_bcs_comm *known = pse_bcs_comm_of(comm);                                                  \
        if (known && (fits)) {                                                                               \
            PSE_BCS_NOTE_BYTES(given);                                                                       \
            return do_##name(known, arguments, request);                                                     \
        }                                                                                                    \
        pse_bcs_expect_progress();                                                                           \
        return FORM(PMPI_##form)(arguments, comm, request);                                                  \
    }

/* Of one piece, and of pieces with one type for all ranks. */
#define BYTES(count, type) pse_bcs_bytes_of(AT(NULL, count, type))

static uint64_t bytes_of_all(const struct pse_bcs_comm *comm, const COUNT counts[], MPI_Datatype type)
{
    uint64_t bytes = 0;
    for (int rank = 0; rank < comm->size; rank++)
        bytes += BYTES(counts[rank], type);
    return bytes;
}

static uint64_t bytes_of_each(const struct pse_bcs_comm *comm, const COUNT counts[],
                              const MPI_Datatype types[])
{
    uint64_t bytes = 0;
    for (int rank = 0; rank < comm->size; rank++)
        bytes += BYTES(counts[rank], types[rank]);
    return bytes;
}

#define EACH(bytes) ((uint64_t)known->size * (bytes))
#define AT_ROOT(bytes) (known->rank == root ? (bytes) : 0)
/* In place a rank gives of what it receives into. */
#define UNLESS_IN_PLACE(bytes, in_place) (sendbuf != MPI_IN_PLACE ? (bytes) : (in_place))

#define IS_ROOT (root >= 0 && root < known->size)
#define IS_MESSAGE(number, type) ((number) >= 0 && (type) != MPI_DATATYPE_NULL)

static struct pse_bcs_place piece(const void *buffer, MPI_Aint elements, MPI_Count count, MPI_Datatype type)
{
    return (struct pse_bcs_place){(char *)(uintptr_t)buffer + elements * pse_bcs_extent_of(type), count,
                                  type};
}

/* One buffer */

#define do_Bcast(comm, buffer, count, datatype, root, request)                                               \
    pse_bcs_bcast(comm, AT(buffer, count, datatype), root, request)
BOTH(Bcast, Ibcast, IS_ROOT &&IS_MESSAGE(count, datatype), BYTES(count, datatype),
     PARAMETERS(void *buffer, MESSAGE, int root), ARGUMENTS(buffer, count, datatype, root))

#define REDUCING const void *sendbuf, void *recvbuf, MESSAGE, MPI_Op op
#define IS_REDUCTION (IS_MESSAGE(count, datatype) && op != MPI_OP_NULL)

#define do_Reduce(comm, sendbuf, recvbuf, count, datatype, op, root, request)                                \
    pse_bcs_reduce(comm, sendbuf, AT(recvbuf, count, datatype), op, root, request)
BOTH(Reduce, Ireduce, IS_ROOT &&IS_REDUCTION, BYTES(count, datatype), PARAMETERS(REDUCING, int root),
     ARGUMENTS(sendbuf, recvbuf, count, datatype, op, root))

#define do_Allreduce(comm, sendbuf, recvbuf, count, datatype, op, request)                                   \
    pse_bcs_allreduce(comm, sendbuf, AT(recvbuf, count, datatype), op, request)
BOTH(Allreduce, Iallreduce, IS_REDUCTION, BYTES(count, datatype), PARAMETERS(REDUCING),
     ARGUMENTS(sendbuf, recvbuf, count, datatype, op))

#define do_Scan(comm, sendbuf, recvbuf, count, datatype, op, request)                                        \
    pse_bcs_scan(comm, sendbuf, AT(recvbuf, count, datatype), op, false, request)
BOTH(Scan, Iscan, IS_REDUCTION, BYTES(count, datatype), PARAMETERS(REDUCING),
     ARGUMENTS(sendbuf, recvbuf, count, datatype, op))

#define do_Exscan(comm, sendbuf, recvbuf, count, datatype, op, request)                                      \
    pse_bcs_scan(comm, sendbuf, AT(recvbuf, count, datatype), op, true, request)
BOTH(Exscan, Iexscan, IS_REDUCTION, BYTES(count, datatype), PARAMETERS(REDUCING),
     ARGUMENTS(sendbuf, recvbuf, count, datatype, op))

/* A piece for each rank */

static int do_Reduce_scatter_block(struct pse_bcs_comm *comm, const void *sendbuf, void *recvbuf, COUNT count,
                                   MPI_Datatype datatype, MPI_Op op, MPI_Request *request)
{
    struct pse_bcs_call call;
    const bool in_place = sendbuf == MPI_IN_PLACE;
    pse_bcs_call_begin(&call, comm, PSE_BCS_LABEL_REDUCE_SCATTER, -1, request);
    for (int rank = 0; rank < comm->size; rank++)
        pse_bcs_give(&call, rank,
                     piece(in_place ? recvbuf : sendbuf, (MPI_Aint)count * rank, count, datatype), false);
    pse_bcs_take_reduced(&call, comm->size - 1, AT(recvbuf, count, datatype), op);
    return pse_bcs_call_end(&call);
}
BOTH(Reduce_scatter_block, Ireduce_scatter_block, IS_REDUCTION, EACH(BYTES(count, datatype)),
     PARAMETERS(REDUCING), ARGUMENTS(sendbuf, recvbuf, count, datatype, op))

static int do_Reduce_scatter(struct pse_bcs_comm *comm, const void *sendbuf, void *recvbuf,
                             const COUNT counts[], MPI_Datatype datatype, MPI_Op op, MPI_Request *request)
{
    struct pse_bcs_call call;
    const bool in_place = sendbuf == MPI_IN_PLACE;
    MPI_Aint at = 0;
    pse_bcs_call_begin(&call, comm, PSE_BCS_LABEL_REDUCE_SCATTER, -1, request);
    for (int rank = 0; rank < comm->size; at += (MPI_Aint)counts[rank++])
        pse_bcs_give(&call, rank, piece(in_place ? recvbuf : sendbuf, at, counts[rank], datatype), false);
    pse_bcs_take_reduced(&call, comm->size - 1, AT(recvbuf, counts[comm->rank], datatype), op);
    return pse_bcs_call_end(&call);
}
BOTH(Reduce_scatter, Ireduce_scatter, datatype != MPI_DATATYPE_NULL && op != MPI_OP_NULL,
     bytes_of_all(known, recvcounts, datatype),
     PARAMETERS(const void *sendbuf, void *recvbuf, const COUNT recvcounts[], MPI_Datatype datatype,
                MPI_Op op),
     ARGUMENTS(sendbuf, recvbuf, recvcounts, datatype, op))

/* Counts and displacements, one for all ranks or one for each. */
#define EVEN_COUNT(count) count
#define EVEN_AT(count) ((MPI_Aint)(count) * rank)

#define SCATTERED(name, sendings, count_of, at_of)                                                           \
    static int do_##name(struct pse_bcs_comm *comm, sendings, MPI_Datatype sendtype, RECEIVING, int root,    \
                         MPI_Request *request)                                                               \
    {                                                                                                        \
        struct pse_bcs_call call;                                                                            \
        pse_bcs_call_begin(&call, comm, PSE_BCS_LABEL_SCATTER, root, request);                               \
        if (recvbuf != MPI_IN_PLACE)                                                                         \
            pse_bcs_take(&call, root, AT(recvbuf, recvcount, recvtype));                                     \
        for (int rank = 0; rank < comm->size && comm->rank == root; rank++)                                  \
            if (rank != root || recvbuf != MPI_IN_PLACE)                                                     \
                pse_bcs_give(&call, rank, piece(sendbuf, at_of, count_of, sendtype), false);                 \
        return pse_bcs_call_end(&call);                                                                      \
    }

#define SCATTERS (IS_ROOT && (known->rank != root || sendtype != MPI_DATATYPE_NULL))

SCATTERED(Scatter, PARAMETERS(const void *sendbuf, COUNT sendcount), sendcount, (MPI_Aint)sendcount *rank)
BOTH(Scatter, Iscatter, SCATTERS, AT_ROOT(EACH(BYTES(sendcount, sendtype))),
     PARAMETERS(SENDING, RECEIVING, int root),
     ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))

SCATTERED(Scatterv, PARAMETERS(const void *sendbuf, const COUNT sendcounts[], const PLACE displs[]),
          sendcounts[rank], (MPI_Aint)displs[rank])
BOTH(Scatterv, Iscatterv, SCATTERS, AT_ROOT(bytes_of_all(known, sendcounts, sendtype)),
     PARAMETERS(const void *sendbuf, const COUNT sendcounts[], const PLACE displs[], MPI_Datatype sendtype,
                RECEIVING, int root),
     ARGUMENTS(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root))

/* GATHER to one rank, or with root -1 to all. */
#define GATHERED(name, label, receivings, root_parameter, root_of, count_of, at_of)                          \
    static int do_##name(struct pse_bcs_comm *comm, SENDING, receivings,                                     \
                         MPI_Datatype recvtype root_parameter, MPI_Request *request)                         \
    {                                                                                                        \
        struct pse_bcs_call call;                                                                            \
        const int to = root_of;                                                                              \
        const bool receives = to < 0 || to == comm->rank, in_place = sendbuf == MPI_IN_PLACE;                \
        pse_bcs_call_begin(&call, comm, label, to, request);                                                 \
        for (int rank = comm->rank, other = 0; other < comm->size; other++) {                                \
            const bool gives = (to < 0 || other == to) && !(in_place && other == comm->rank);                \
            if (gives && in_place)                                                                           \
                pse_bcs_give(&call, other, piece(recvbuf, at_of, count_of, recvtype), false);                \
            else if (gives)                                                                                  \
                pse_bcs_give(&call, other, AT(sendbuf, sendcount, sendtype), false);                         \
        }                                                                                                    \
        for (int rank = 0; rank < comm->size && receives; rank++)                                            \
            if (rank != comm->rank || !in_place)                                                             \
                pse_bcs_take(&call, rank, piece(recvbuf, at_of, count_of, recvtype));                        \
        return pse_bcs_call_end(&call);                                                                      \
    }

#define GATHERS (IS_ROOT && (known->rank != root || recvtype != MPI_DATATYPE_NULL))
#define SIZED PARAMETERS(void *recvbuf, const COUNT recvcounts[], const PLACE displs[])
#define COMMA ,

GATHERED(Gather, PSE_BCS_LABEL_GATHER, PARAMETERS(void *recvbuf, COUNT recvcount), COMMA int root, root,
         recvcount, (MPI_Aint)recvcount *rank)
BOTH(Gather, Igather, GATHERS, UNLESS_IN_PLACE(BYTES(sendcount, sendtype), BYTES(recvcount, recvtype)),
     PARAMETERS(SENDING, RECEIVING, int root),
     ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))
GATHERED(Gatherv, PSE_BCS_LABEL_GATHER, SIZED, COMMA int root, root, recvcounts[rank], (MPI_Aint)displs[rank])
BOTH(Gatherv, Igatherv, GATHERS,
     UNLESS_IN_PLACE(BYTES(sendcount, sendtype), BYTES(recvcounts[known->rank], recvtype)),
     PARAMETERS(SENDING, SIZED, MPI_Datatype recvtype, int root),
     ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root))
GATHERED(Allgather, PSE_BCS_LABEL_ALLGATHER, PARAMETERS(void *recvbuf, COUNT recvcount), , -1, recvcount,
         (MPI_Aint)recvcount *rank)
BOTH(Allgather, Iallgather, recvtype != MPI_DATATYPE_NULL,
     UNLESS_IN_PLACE(BYTES(sendcount, sendtype), BYTES(recvcount, recvtype)), PARAMETERS(SENDING, RECEIVING),
     ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))
GATHERED(Allgatherv, PSE_BCS_LABEL_ALLGATHER, SIZED, , -1, recvcounts[rank], (MPI_Aint)displs[rank])
BOTH(Allgatherv, Iallgatherv, recvtype != MPI_DATATYPE_NULL,
     UNLESS_IN_PLACE(BYTES(sendcount, sendtype), BYTES(recvcounts[known->rank], recvtype)),
     PARAMETERS(SENDING, SIZED, MPI_Datatype recvtype),
     ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))

/* In place, what is sent is copied first. */
#define EXCHANGED(name, parameters, out, in)                                                                 \
    static int do_##name(struct pse_bcs_comm *comm, parameters, MPI_Request *request)                        \
    {                                                                                                        \
        struct pse_bcs_call call;                                                                            \
        const bool in_place = sendbuf == MPI_IN_PLACE;                                                       \
        pse_bcs_call_begin(&call, comm, PSE_BCS_LABEL_ALLTOALL, -1, request);                                \
        for (int rank = 0; rank < comm->size; rank++)                                                        \
            pse_bcs_give(&call, rank, in_place ? in : out, in_place);                                        \
        for (int rank = 0; rank < comm->size; rank++)                                                        \
            pse_bcs_take(&call, rank, in);                                                                   \
        return pse_bcs_call_end(&call);                                                                      \
    }

EXCHANGED(Alltoall, PARAMETERS(SENDING, RECEIVING),
          piece(sendbuf, (MPI_Aint)sendcount *rank, sendcount, sendtype),
          piece(recvbuf, (MPI_Aint)recvcount *rank, recvcount, recvtype))
BOTH(Alltoall, Ialltoall, recvtype != MPI_DATATYPE_NULL,
     EACH(UNLESS_IN_PLACE(BYTES(sendcount, sendtype), BYTES(recvcount, recvtype))),
     PARAMETERS(SENDING, RECEIVING), ARGUMENTS(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))

#define SENT_PIECES(place, types) const void *sendbuf, const COUNT sendcounts[], const place sdispls[], types
#define RECEIVED_PIECES(place, types) void *recvbuf, const COUNT recvcounts[], const place rdispls[], types
#define PIECES SENT_PIECES(PLACE, MPI_Datatype sendtype), RECEIVED_PIECES(PLACE, MPI_Datatype recvtype)
EXCHANGED(Alltoallv, PARAMETERS(PIECES), piece(sendbuf, (MPI_Aint)sdispls[rank], sendcounts[rank], sendtype),
          piece(recvbuf, (MPI_Aint)rdispls[rank], recvcounts[rank], recvtype))
BOTH(Alltoallv, Ialltoallv, recvtype != MPI_DATATYPE_NULL,
     UNLESS_IN_PLACE(bytes_of_all(known, sendcounts, sendtype), bytes_of_all(known, recvcounts, recvtype)),
     PARAMETERS(PIECES),
     ARGUMENTS(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype))

#define TYPED_PIECES                                                                                         \
    SENT_PIECES(PLACE, const MPI_Datatype sendtypes[]), RECEIVED_PIECES(PLACE, const MPI_Datatype recvtypes[])
#define OUT_OF(buffer, displs, counts, types)                                                                \
    AT((const char *)(buffer) + displs[rank], counts[rank], types[rank])
EXCHANGED(Alltoallw, PARAMETERS(TYPED_PIECES), OUT_OF(sendbuf, sdispls, sendcounts, sendtypes),
          OUT_OF(recvbuf, rdispls, recvcounts, recvtypes))
BOTH(Alltoallw, Ialltoallw, true,
     UNLESS_IN_PLACE(bytes_of_each(known, sendcounts, sendtypes),
                     bytes_of_each(known, recvcounts, recvtypes)),
     PARAMETERS(TYPED_PIECES),
     ARGUMENTS(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes))
