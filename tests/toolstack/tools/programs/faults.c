/* One use of MPI after another that the tool `check` has to judge: faults CASE.  A case whose name ends in
 * -ok is the right twin of the one before it. */
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, next, last, ints[20000];
static double reals[64];
static MPI_Request request = MPI_REQUEST_NULL, two[2];
static const MPI_Comm all = MPI_COMM_WORLD;

static void wait_request(void)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive(void)
{
    MPI_Recv(ints, 1, MPI_INT, last, 1, all, MPI_STATUS_IGNORE);
}

static void request_left(int right)
{
    MPI_Irecv(ints + 19000, 1, MPI_INT, last, 1, all, &request);
    MPI_Send(reals, 0, MPI_INT, next, 1, all);
    if (right)
        wait_request();
}

static void persistent_left(int right)
{
    MPI_Send_init(ints, 1, MPI_INT, next, 1, all, &request);
    if (right)
        MPI_Request_free(&request);
}

static void communicator_left(int right)
{
    MPI_Comm made;
    MPI_Comm_dup(all, &made);
    MPI_Barrier(made);
    if (right)
        MPI_Comm_free(&made);
}

static void datatype_left(int right)
{
    MPI_Datatype made;
    MPI_Type_contiguous(3, MPI_INT, &made);
    MPI_Type_commit(&made);
    MPI_Sendrecv(ints, 2, made, next, 1, ints + 50, 6, MPI_INT, last, 1, all, MPI_STATUS_IGNORE);
    if (right)
        MPI_Type_free(&made);
}

static void roots(int right)
{
    MPI_Bcast(ints, 1, MPI_INT, rank || right ? 0 : 1, all);
}

static void operations(int right)
{
    if (rank || right)
        MPI_Barrier(all);
    else
        MPI_Allreduce(ints, ints + 9, 1, MPI_INT, MPI_SUM, all);
}

static void reductions(int right)
{
    MPI_Allreduce(ints, ints + 10, 1, MPI_INT, rank || right ? MPI_SUM : MPI_MAX, all);
}

static void counts(int right)
{
    MPI_Bcast(ints, rank || right ? 1 : 2, MPI_INT, 0, all);
}

static void nonblocking_roots(int right)
{
    MPI_Ibcast(ints, 1, MPI_INT, rank || right ? 0 : 1, all, &request);
    wait_request();
}

static void missing(int right)
{
    if (rank || right)
        MPI_Barrier(all);
}

static void datatypes(int right)
{
    MPI_Irecv(reals, 2, right ? MPI_INT : MPI_DOUBLE, last, 1, all, &request);
    MPI_Send(ints, 2, MPI_INT, next, 1, all);
    wait_request();
}

static void sizes(int right)
{
    MPI_Irecv(ints, right ? 2 : 1, MPI_INT, MPI_ANY_SOURCE, 1, all, &request);
    MPI_Send(ints + 50, 2, MPI_INT, next, 1, all);
    wait_request();
}

static void head_to_head(int right)
{
    if (right && rank == 0)
        receive();
    MPI_Send(ints + 50, 1, MPI_INT, next, 1, all);
    if (!right || rank)
        receive();
}

static void waits_head_to_head(int right)
{
    MPI_Isend(ints + 50, 1, MPI_INT, next, 1, all, two);
    if (right)
        receive();
    MPI_Wait(two, MPI_STATUS_IGNORE);
    if (!right)
        receive();
}

static void deadlock(int right)
{
    MPI_Irecv(ints, 1, MPI_INT, last, 1, all, &request);
    if (right)
        MPI_Send(ints + 50, 1, MPI_INT, next, 1, all);
    wait_request();
}

static void unreceived(int right)
{
    MPI_Isend(ints, 1, MPI_INT, 0, 7, all, &request);
    for (int i = 0; rank == 0 && right && i < size; i++)
        MPI_Recv(ints + 50, 1, MPI_INT, MPI_ANY_SOURCE, 7, all, MPI_STATUS_IGNORE);
    if (right)
        wait_request();
    else
        MPI_Request_free(&request);
}

static void sent_to_nobody(int right)
{
    if (right && rank == size - 1)
        MPI_Irecv(ints + 50, 1, MPI_INT, 0, 7, all, &request);
    if (rank == 0)
        MPI_Send(ints, 1, MPI_INT, size - 1, 7, all);
    wait_request();
}

/* A communicator may be freed before what was begun on it is complete. */
static void freed_early(int right)
{
    MPI_Comm made;
    (void)right;
    MPI_Comm_dup(all, &made);
    MPI_Irecv(ints, 5000, MPI_INT, MPI_ANY_SOURCE, 3, made, two);
    MPI_Isend(ints + 5000, 5000, MPI_INT, next, 3, made, two + 1);
    MPI_Comm_free(&made);
    MPI_Barrier(all);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
}

/* Receives from anybody and from one, posted in one order and sent for in another, long and short. */
static void mixed_receives(int right)
{
    MPI_Request many[6];
    (void)right;
    for (int i = 0; i < 20; i++) {
        MPI_Irecv(ints, 5000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, all, many);
        MPI_Irecv(ints + 5000, 5000, MPI_INT, last, 2, all, many + 1);
        MPI_Irecv(ints + 10000, 5000, MPI_INT, last, MPI_ANY_TAG, all, many + 2);
        MPI_Isend(ints + 15000, 5000, MPI_INT, next, 1, all, many + 3);
        MPI_Isend(ints + 15000, 1, MPI_INT, next, 2, all, many + 4);
        MPI_Isend(ints + 15000, 5000, MPI_INT, next, 1, all, many + 5);
        MPI_Waitall(6, many, MPI_STATUSES_IGNORE);
        MPI_Barrier(all);
    }
}

static int counts_of[64], places[64];
static MPI_Datatype types_of[64];

static void count_one_each(void)
{
    for (int i = 0; i < size; i++) {
        counts_of[i] = 1;
        places[i] = 16 * i;
        types_of[i] = MPI_INT;
    }
}

/* The last rank sends two elements, and rank 0 has room for one of each. */
static void gathered(int right)
{
    count_one_each();
    MPI_Gatherv(ints, right || rank < size - 1 ? 1 : 2, MPI_INT, ints + 100, counts_of, places, MPI_INT, 0,
                all);
}

static void exchanged(int right)
{
    count_one_each();
    MPI_Alltoallv(ints, counts_of, places, MPI_INT, ints + 1000, counts_of, places, MPI_INT, all);
    MPI_Alltoallw(ints, counts_of, places, types_of, ints + 1000, counts_of, places, types_of, all);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, ints + 1000, counts_of, places, MPI_INT, all);
    MPI_Allgatherv(ints, 1, MPI_INT, ints + 1000, counts_of, places, MPI_INT, all);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, ints + 1000, counts_of, places, MPI_INT, all);
    MPI_Scatterv(ints, counts_of, places, MPI_INT, ints + 1000, 1, MPI_INT, size - 1, all);
    MPI_Scatterv(ints, counts_of, places, MPI_INT, rank ? ints + 1000 : MPI_IN_PLACE, 1, MPI_INT, 0, all);
    MPI_Gatherv(rank ? ints + 1000 : MPI_IN_PLACE, 1, MPI_INT, ints, counts_of, places, MPI_INT, 0, all);
    MPI_Reduce_scatter(ints, ints + 1000, counts_of, MPI_INT, MPI_SUM, all);
    types_of[0] = rank || right ? MPI_INT : MPI_DOUBLE;
    MPI_Ialltoallw(ints, counts_of, places, types_of, ints + 1000, counts_of, places, types_of, all,
                   &request);
    wait_request();
    counts_of[size - 1] += rank && !right;
    MPI_Ireduce_scatter(ints, ints + 1000, counts_of, MPI_INT, MPI_SUM, all, &request);
    wait_request();
}

/* A root that differs among persistent broadcasts. */
static void prepared(int right)
{
    MPI_Bcast_init(ints, 1, MPI_INT, rank || right ? 0 : 1, all, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        wait_request();
    }
    MPI_Start(&request);
    int index;
    MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

/* Messages on a communicator that was made without waiting. */
static void duplicated(int right)
{
    MPI_Comm made;
    MPI_Comm_idup(all, &made, &request);
    MPI_Barrier(all);
    wait_request();
    MPI_Irecv(ints, 8, right ? MPI_FLOAT : MPI_INT, last, 1, made, &request);
    MPI_Send(reals, 8, MPI_FLOAT, next, 1, made);
    wait_request();
    if (right)
        MPI_Comm_free(&made);
}

/* Messages between two groups: rank 0, and all others. */
static void between(int right)
{
    MPI_Comm half, made;
    if (size < 2)
        return;
    MPI_Comm_split(all, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, all, rank ? 0 : 1, 9, &made);
    MPI_Barrier(made);
    if (rank)
        MPI_Send(reals, 8, MPI_FLOAT, 0, 1, made);
    for (int i = 1; !rank && i < size; i++)
        MPI_Recv(ints, 8, right ? MPI_FLOAT : MPI_INT, MPI_ANY_SOURCE, 1, made, MPI_STATUS_IGNORE);
    MPI_Comm_free(&half);
    MPI_Comm_free(&made);
}

static void window_left(int right)
{
    MPI_Win made;
    MPI_Win_create(ints, sizeof ints, 1, MPI_INFO_NULL, all, &made);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, made);
    MPI_Win_unlock(rank, made);
    if (right)
        MPI_Win_free(&made);
}

/* A persistent request keeps the datatype that it was made with. */
static void datatype_freed(int right)
{
    MPI_Datatype made, named;
    MPI_Type_contiguous(3, MPI_INT, &made);
    MPI_Type_commit(&made);
    named = made;
    MPI_Recv_init(ints, 1, named, last, 1, all, &two[0]);
    MPI_Send_init(ints + 50, 1, named, next, 1, all, &two[1]);
    MPI_Type_free(&made);
    if (!right)
        MPI_Isend(ints + 60, 1, named, next, 2, all, &request);
    MPI_Startall(2, two);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    MPI_Request_free(&two[0]), MPI_Request_free(&two[1]);
}

static void changed(int right)
{
    MPI_Irecv(ints, 9000, MPI_INT, last, 1, all, &two[0]);
    MPI_Isend(ints + 9000, 9000, MPI_INT, next, 1, all, &two[1]);
    ints[right ? 18000 : 17999]++;
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
}

static void overlapping(int right)
{
    MPI_Irecv(ints, 60, MPI_INT, last, 1, all, &two[0]);
    MPI_Irecv(ints + (right ? 60 : 59), 10, MPI_INT, last, 2, all, &two[1]);
    MPI_Send(ints + (right ? 100 : 50), 5, MPI_INT, next, 1, all);
    MPI_Send(ints + 100, 10, MPI_INT, next, 2, all);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
}

static void race(int right)
{
    if (rank)
        MPI_Isend(ints, 1, MPI_INT, 0, 1, all, &request);
    MPI_Barrier(all);
    for (int i = 1; !rank && i < size; i++)
        MPI_Recv(ints, 1, MPI_INT, right ? i : MPI_ANY_SOURCE, 1, all, MPI_STATUS_IGNORE);
    if (rank)
        wait_request();
}

/* All messages are there before the first receive looks, and nothing of MPI was called meanwhile. */
static void rivals(int right)
{
    MPI_Win window;
    MPI_Aint bytes;
    int *sent, unit;
    MPI_Win_allocate_shared(rank ? 0 : size * (MPI_Aint)sizeof *sent, sizeof *sent, MPI_INFO_NULL, all, &sent,
                            &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &sent);
    __atomic_store_n(&sent[rank], 0, __ATOMIC_RELEASE);
    MPI_Barrier(all);
    if (rank)
        MPI_Isend(ints, 1, MPI_INT, 0, 1, all, &request);
    __atomic_store_n(&sent[rank], 1, __ATOMIC_RELEASE);
    for (int i = 0; !rank && i < size; i++)
        while (!__atomic_load_n(&sent[i], __ATOMIC_ACQUIRE))
            sched_yield();
    for (int i = 1; !rank && i < size; i++)
        MPI_Recv(ints, 1, MPI_INT, right ? i : MPI_ANY_SOURCE, 1, all, MPI_STATUS_IGNORE);
    if (rank)
        wait_request();
    MPI_Win_free(&window);
}

static void unnamed(int right)
{
    MPI_Comm made[2];
    MPI_Comm_dup(all, &made[0]), MPI_Comm_dup(all, &made[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(reals, 1, right ? MPI_DOUBLE : MPI_FLOAT, last, 1, made[i], &request);
        MPI_Send(reals + 1, right ? 1 : 0, MPI_DOUBLE, next, 1, made[i]);
        wait_request();
        if (right)
            MPI_Comm_free(&made[i]);
        else
            MPI_Irecv(reals + i, 1, MPI_DOUBLE, last, 3, made[i], &request);
    }
}

static void end(int right)
{
    if (!right)
        exit(0);
}

static const struct {
    const char *name;
    void (*run)(int right);
} cases[] = {
    {"request", request_left},
    {"persistent", persistent_left},
    {"communicator", communicator_left},
    {"datatype", datatype_left},
    {"root", roots},
    {"operation", operations},
    {"reduction", reductions},
    {"count", counts},
    {"nonblocking", nonblocking_roots},
    {"missing", missing},
    {"types", datatypes},
    {"size", sizes},
    {"head", head_to_head},
    {"wait", waits_head_to_head},
    {"deadlock", deadlock},
    {"unreceived", unreceived},
    {"mixed", mixed_receives},
    {"early", freed_early},
    {"gathered", gathered},
    {"exchanged", exchanged},
    {"prepared", prepared},
    {"duplicated", duplicated},
    {"between", between},
    {"window", window_left},
    {"freed", datatype_freed},
    {"changed", changed},
    {"overlapping", overlapping},
    {"unnamed", unnamed},
    {"race", race},
    {"rivals", rivals},
    {"nobody", sent_to_nobody},
    {"end", end},
};

/* Several cases may be named: the right ones are run together. */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    for (int arg = 1; arg < argc; arg++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (strncmp(argv[arg], cases[i].name, strcspn(argv[arg], "-")) == 0)
                cases[i].run(strstr(argv[arg], "-ok") != NULL);
    MPI_Finalize();
    return 0;
}
