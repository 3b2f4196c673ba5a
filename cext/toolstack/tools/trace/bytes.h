/* What operations move: bytes sent and received by this rank, as if each contribution went to everybody who
 * needs it, the rank itself included (a broadcast's root sends size × bytes; all receive bytes).
 *
 * The macros ..._BYTES give the two numbers, from MPI's names of parameters; `moving` is the communicator.
 */
#ifndef PSE_TRACE_BYTES_H
#define PSE_TRACE_BYTES_H

#include <mpi.h>
#include <stdint.h>

#include "hot.h"

/* A predefined type, which never goes away, and its size. */
struct sized_type {
    MPI_Datatype type;
    uint64_t size;
};

#pragma GCC visibility push(hidden)

enum { KNOWN_TYPES = 16 };
/* Some that were asked for before, by pse_trace_known_type; the lock is held. */
extern struct sized_type pse_trace_known_types[KNOWN_TYPES];

/* The bytes of an element; 0 for what is not a type. */
__attribute__((cold)) uint64_t pse_trace_size_of(MPI_Datatype datatype);

/* Neighbours of this rank in a topology: those it sends to, or those it receives from. */
int pse_trace_degree(MPI_Comm comm, int out);

/* The neighbours that this rank sends to, as many as pse_trace_degree says: ranks of the communicator. */
void pse_trace_neighbors(MPI_Comm comm, int count, int *ranks);

#pragma GCC visibility pop

/* Where a type is if it is known: handles are numbers or addresses. */
static inline struct sized_type *pse_trace_known_type(MPI_Datatype datatype)
{
    return &pse_trace_known_types[(uint64_t)(uintptr_t)datatype * 0x9e3779b97f4a7c15u >> 60];
}

PSE_TRACE_HOT static inline uint64_t pse_trace_bytes_of(MPI_Count count, MPI_Datatype datatype)
{
    const struct sized_type *known = pse_trace_known_type(datatype);
    const uint64_t size = datatype == known->type && known->size ? known->size : pse_trace_size_of(datatype);
    return count < 0 ? 0 : size * (uint64_t)count;
}

static inline uint64_t pse_trace_sum_ints(const int counts[], int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += (uint64_t)counts[i];
    return sum;
}

static inline uint64_t pse_trace_sum_counts(const MPI_Count counts[], int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += (uint64_t)counts[i];
    return sum;
}

static inline uint64_t pse_trace_weigh_ints(const int counts[], const MPI_Datatype types[], int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += pse_trace_bytes_of(counts[i], types[i]);
    return sum;
}

static inline uint64_t pse_trace_weigh_counts(const MPI_Count counts[], const MPI_Datatype types[], int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += pse_trace_bytes_of(counts[i], types[i]);
    return sum;
}

/* Both forms of a routine: int counts, or MPI_Count. */
#define SUM(counts, n)                                                                                       \
    _Generic((counts), const int *: pse_trace_sum_ints, const MPI_Count *: pse_trace_sum_counts)(counts, n)
#define WEIGH(counts, types, n)                                                                              \
    _Generic((counts), const int *: pse_trace_weigh_ints, const MPI_Count *: pse_trace_weigh_counts)(        \
        counts, types, n)

#define IN_PLACE (sendbuf == MPI_IN_PLACE)
#define MEMBERS ((uint64_t)moving->partners)
#define HERE moving->rank
#define AT_ROOT (root == moving->root_here)
#define IF_ROOT(bytes) (AT_ROOT ? (bytes) : 0)
/* The rest of the root's group of two has arguments that say nothing. */
#define IF_MEANT(bytes) (root >= 0 ? (bytes) : 0)

#define NOTHING 0, 0
#define BCAST_BYTES                                                                                          \
    IF_ROOT(MEMBERS *pse_trace_bytes_of(count, datatype)), IF_MEANT(pse_trace_bytes_of(count, datatype))
#define SENT_ONE                                                                                             \
    (IN_PLACE ? pse_trace_bytes_of(recvcount, recvtype) : pse_trace_bytes_of(sendcount, sendtype))
#define GATHER_BYTES IF_MEANT(SENT_ONE), IF_ROOT(MEMBERS *pse_trace_bytes_of(recvcount, recvtype))
#define GATHERV_BYTES                                                                                        \
    IF_MEANT(IN_PLACE ? pse_trace_bytes_of(recvcounts[HERE], recvtype)                                       \
                      : pse_trace_bytes_of(sendcount, sendtype)),                                            \
        IF_ROOT(SUM(recvcounts, moving->partners) * pse_trace_bytes_of(1, recvtype))
#define SCATTER_BYTES                                                                                        \
    IF_ROOT(MEMBERS *pse_trace_bytes_of(sendcount, sendtype)),                                               \
        IF_MEANT(recvbuf == MPI_IN_PLACE ? pse_trace_bytes_of(sendcount, sendtype)                           \
                                         : pse_trace_bytes_of(recvcount, recvtype))
#define SCATTERV_BYTES                                                                                       \
    IF_ROOT(SUM(sendcounts, moving->partners) * pse_trace_bytes_of(1, sendtype)),                            \
        IF_MEANT(recvbuf == MPI_IN_PLACE ? pse_trace_bytes_of(sendcounts[HERE], sendtype)                    \
                                         : pse_trace_bytes_of(recvcount, recvtype))
#define ALLGATHER_BYTES MEMBERS *SENT_ONE, MEMBERS *pse_trace_bytes_of(recvcount, recvtype)
#define ALLGATHERV_BYTES                                                                                     \
    MEMBERS *(IN_PLACE ? pse_trace_bytes_of(recvcounts[HERE], recvtype)                                      \
                       : pse_trace_bytes_of(sendcount, sendtype)),                                           \
        SUM(recvcounts, moving->partners) * pse_trace_bytes_of(1, recvtype)
#define ALLTOALL_BYTES MEMBERS *SENT_ONE, MEMBERS *pse_trace_bytes_of(recvcount, recvtype)
#define RECEIVED_V (SUM(recvcounts, moving->partners) * pse_trace_bytes_of(1, recvtype))
#define ALLTOALLV_BYTES                                                                                      \
    (IN_PLACE ? RECEIVED_V : SUM(sendcounts, moving->partners) * pse_trace_bytes_of(1, sendtype)), RECEIVED_V
#define RECEIVED_W WEIGH(recvcounts, recvtypes, moving->partners)
#define ALLTOALLW_BYTES (IN_PLACE ? RECEIVED_W : WEIGH(sendcounts, sendtypes, moving->partners)), RECEIVED_W
#define ALLREDUCE_BYTES                                                                                      \
    MEMBERS *pse_trace_bytes_of(count, datatype), MEMBERS *pse_trace_bytes_of(count, datatype)
#define REDUCE_BYTES                                                                                         \
    IF_MEANT(pse_trace_bytes_of(count, datatype)), IF_ROOT(MEMBERS *pse_trace_bytes_of(count, datatype))
#define REDUCE_SCATTER_BYTES                                                                                 \
    SUM(recvcounts, moving->size) * pse_trace_bytes_of(1, datatype),                                         \
        MEMBERS *pse_trace_bytes_of(recvcounts[HERE], datatype)
#define BLOCK_BYTES                                                                                          \
    MEMBERS *pse_trace_bytes_of(recvcount, datatype), MEMBERS *pse_trace_bytes_of(recvcount, datatype)
#define SCAN_BYTES                                                                                           \
    (MEMBERS - (uint64_t)HERE) * pse_trace_bytes_of(count, datatype),                                        \
        (uint64_t)(HERE + 1) * pse_trace_bytes_of(count, datatype)
#define EXSCAN_BYTES                                                                                         \
    (MEMBERS - (uint64_t)HERE - 1) * pse_trace_bytes_of(count, datatype),                                    \
        (uint64_t)HERE *pse_trace_bytes_of(count, datatype)
#define OUT pse_trace_with_neighbors(comm, moving)->targets
#define IN pse_trace_with_neighbors(comm, moving)->sources
#define NEIGHBOR_BYTES                                                                                       \
    (uint64_t)OUT *pse_trace_bytes_of(sendcount, sendtype),                                                  \
        (uint64_t)IN *pse_trace_bytes_of(recvcount, recvtype)
#define NEIGHBOR_GATHERV_BYTES                                                                               \
    (uint64_t)OUT *pse_trace_bytes_of(sendcount, sendtype),                                                  \
        SUM(recvcounts, IN) * pse_trace_bytes_of(1, recvtype)
#define NEIGHBOR_V_BYTES                                                                                     \
    SUM(sendcounts, OUT) * pse_trace_bytes_of(1, sendtype),                                                  \
        SUM(recvcounts, IN) * pse_trace_bytes_of(1, recvtype)
#define NEIGHBOR_W_BYTES WEIGH(sendcounts, sendtypes, OUT), WEIGH(recvcounts, recvtypes, IN)

#endif
