/* What operations move: bytes sent and received by this rank, as if each contribution went to everybody who
 * needs it, the rank itself included (a broadcast's root sends size × bytes; all receive bytes).
 *
 * The macros ..._BYTES give the two numbers, from MPI's names of parameters; `moving` is the communicator.
 *
 * May touch: nothing.
 */
#ifndef PSE_TRACE_BYTES_H
#define PSE_TRACE_BYTES_H

static inline uint64_t bytes_of(MPI_Count count, MPI_Datatype datatype)
{
    static _Thread_local MPI_Datatype last = MPI_DATATYPE_NULL; /* Predefined types: they never go away. */
    static _Thread_local uint64_t size;
    if (datatype != last || last == MPI_DATATYPE_NULL) {
        int bytes = 0, a, b, c, combiner = MPI_COMBINER_NAMED;
        if (datatype == MPI_DATATYPE_NULL || PMPI_Type_size(datatype, &bytes) != MPI_SUCCESS || count < 0)
            return 0;
        PMPI_Type_get_envelope(datatype, &a, &b, &c, &combiner);
        last = combiner == MPI_COMBINER_NAMED ? datatype : MPI_DATATYPE_NULL;
        size = (uint64_t)bytes;
        return size * (uint64_t)count;
    }
    return size * (uint64_t)count;
}

static inline uint64_t sum_ints(const int counts[], int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += (uint64_t)counts[i];
    return sum;
}

static inline uint64_t sum_counts(const MPI_Count counts[], int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += (uint64_t)counts[i];
    return sum;
}

static inline uint64_t weigh_ints(const int counts[], const MPI_Datatype types[], int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += bytes_of(counts[i], types[i]);
    return sum;
}

static inline uint64_t weigh_counts(const MPI_Count counts[], const MPI_Datatype types[], int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += bytes_of(counts[i], types[i]);
    return sum;
}

/* Both forms of a routine: int counts, or MPI_Count. */
#define SUM(counts, n) _Generic((counts), const int *: sum_ints, const MPI_Count *: sum_counts)(counts, n)
#define WEIGH(counts, types, n)                                                                              \
    _Generic((counts), const int *: weigh_ints, const MPI_Count *: weigh_counts)(counts, types, n)

#define IN_PLACE (sendbuf == MPI_IN_PLACE)
#define MEMBERS ((uint64_t)moving->partners)
#define HERE moving->rank
#define AT_ROOT (root == moving->root_here)
#define IF_ROOT(bytes) (AT_ROOT ? (bytes) : 0)

#define NOTHING 0, 0
#define BCAST_BYTES IF_ROOT(MEMBERS *bytes_of(count, datatype)), bytes_of(count, datatype)
#define SENT_ONE (IN_PLACE ? bytes_of(recvcount, recvtype) : bytes_of(sendcount, sendtype))
#define GATHER_BYTES SENT_ONE, IF_ROOT(MEMBERS *bytes_of(recvcount, recvtype))
#define GATHERV_BYTES                                                                                        \
    (IN_PLACE ? bytes_of(recvcounts[HERE], recvtype) : bytes_of(sendcount, sendtype)),                       \
        IF_ROOT(SUM(recvcounts, moving->partners) * bytes_of(1, recvtype))
#define SCATTER_BYTES                                                                                        \
    IF_ROOT(MEMBERS *bytes_of(sendcount, sendtype)),                                                         \
        (recvbuf == MPI_IN_PLACE ? bytes_of(sendcount, sendtype) : bytes_of(recvcount, recvtype))
#define SCATTERV_BYTES                                                                                       \
    IF_ROOT(SUM(sendcounts, moving->partners) * bytes_of(1, sendtype)),                                      \
        (recvbuf == MPI_IN_PLACE ? bytes_of(sendcounts[HERE], sendtype) : bytes_of(recvcount, recvtype))
#define ALLGATHER_BYTES MEMBERS *SENT_ONE, MEMBERS *bytes_of(recvcount, recvtype)
#define ALLGATHERV_BYTES                                                                                     \
    MEMBERS *(IN_PLACE ? bytes_of(recvcounts[HERE], recvtype) : bytes_of(sendcount, sendtype)),              \
        SUM(recvcounts, moving->partners) * bytes_of(1, recvtype)
#define ALLTOALL_BYTES MEMBERS *SENT_ONE, MEMBERS *bytes_of(recvcount, recvtype)
#define RECEIVED_V (SUM(recvcounts, moving->partners) * bytes_of(1, recvtype))
#define ALLTOALLV_BYTES                                                                                      \
    (IN_PLACE ? RECEIVED_V : SUM(sendcounts, moving->partners) * bytes_of(1, sendtype)), RECEIVED_V
#define RECEIVED_W WEIGH(recvcounts, recvtypes, moving->partners)
#define ALLTOALLW_BYTES (IN_PLACE ? RECEIVED_W : WEIGH(sendcounts, sendtypes, moving->partners)), RECEIVED_W
#define ALLREDUCE_BYTES MEMBERS *bytes_of(count, datatype), MEMBERS *bytes_of(count, datatype)
#define REDUCE_BYTES bytes_of(count, datatype), IF_ROOT(MEMBERS *bytes_of(count, datatype))
#define REDUCE_SCATTER_BYTES                                                                                 \
    SUM(recvcounts, moving->size) * bytes_of(1, datatype), MEMBERS *bytes_of(recvcounts[HERE], datatype)
#define BLOCK_BYTES MEMBERS *bytes_of(recvcount, datatype), MEMBERS *bytes_of(recvcount, datatype)
#define SCAN_BYTES                                                                                           \
    (MEMBERS - (uint64_t)HERE) * bytes_of(count, datatype), (uint64_t)(HERE + 1) * bytes_of(count, datatype)
#define EXSCAN_BYTES                                                                                         \
    (MEMBERS - (uint64_t)HERE - 1) * bytes_of(count, datatype), (uint64_t)HERE *bytes_of(count, datatype)
#define OUT degree(comm, 1)
#define IN degree(comm, 0)
#define NEIGHBOR_BYTES                                                                                       \
    (uint64_t)OUT *bytes_of(sendcount, sendtype), (uint64_t)IN *bytes_of(recvcount, recvtype)
#define NEIGHBOR_GATHERV_BYTES                                                                               \
    (uint64_t)OUT *bytes_of(sendcount, sendtype), SUM(recvcounts, IN) * bytes_of(1, recvtype)
#define NEIGHBOR_V_BYTES                                                                                     \
    SUM(sendcounts, OUT) * bytes_of(1, sendtype), SUM(recvcounts, IN) * bytes_of(1, recvtype)
#define NEIGHBOR_W_BYTES WEIGH(sendcounts, sendtypes, OUT), WEIGH(recvcounts, recvtypes, IN)

/* Neighbours of this rank in a topology: those it sends to, or those it receives from. */
static inline int degree(MPI_Comm comm, int out)
{
    int topology = MPI_UNDEFINED, in_count = 0, out_count = 0, weighted, rank;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &in_count, &out_count, &weighted);
    } else if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &in_count);
        in_count = out_count = 2 * in_count;
    } else if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &in_count);
        out_count = in_count;
    }
    return out ? out_count : in_count;
}

#endif
