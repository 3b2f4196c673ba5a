/* Goes on after errors: receives messages that are too long by every wait and test, and after each of them
 * right ones into the same memory.  Prints what MPI says.  Usage: forgiven [alone]; `alone`: only
 * MPI_COMM_WORLD has a handler. */
#include <mpi.h>
#include <stdio.h>

enum { LONG = 4, ROUNDS = 3 };
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
enum { KEEPS_REQUESTS = 0 }; /* Open MPI 4 frees persistent requests, too, that have ended by an error. */
#else
enum { KEEPS_REQUESTS = 1 };
#endif

static int rank, size, right, left;
static int out[LONG] = {1, 2, 3, 4}, in[LONG], other[LONG];

static int class_of(int error)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    return class;
}

static int by_wait(MPI_Request requests[2])
{
    return MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static int by_test(MPI_Request requests[2])
{
    int flag = 0, error = MPI_SUCCESS;
    while (requests[0] != MPI_REQUEST_NULL && error == MPI_SUCCESS)
        error = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    return error;
}

/* Of a message that is too long Open MPI's says something or nothing, as it comes. */
static int by_waitall(MPI_Request requests[2])
{
    int error = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#ifdef OPEN_MPI
    error = MPI_SUCCESS;
#endif
    return error;
}

static int by_testall(MPI_Request requests[2])
{
    int flag = 0, error = MPI_SUCCESS;
    while (!flag && error == MPI_SUCCESS)
        error = MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    return error;
}

static int by_waitany(MPI_Request requests[2])
{
    int index;
    return MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
}

static int by_testany(MPI_Request requests[2])
{
    int index, flag = 0, error = MPI_SUCCESS;
    while (!flag && error == MPI_SUCCESS)
        error = MPI_Testany(1, requests, &index, &flag, MPI_STATUS_IGNORE);
    return error;
}

static int by_waitsome(MPI_Request requests[2])
{
    int count, indices[2];
    return MPI_Waitsome(1, requests, &count, indices, MPI_STATUSES_IGNORE);
}

static int by_testsome(MPI_Request requests[2])
{
    int count = 0, indices[2], error = MPI_SUCCESS;
    while (count == 0 && error == MPI_SUCCESS)
        error = MPI_Testsome(1, requests, &count, indices, MPI_STATUSES_IGNORE);
    return error;
}

/* The second request's message is right. */
static void too_long(int (*finish)(MPI_Request *), int tag)
{
    MPI_Request requests[4];
    MPI_Irecv(in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(other, LONG, MPI_INT, left, tag + 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, LONG, MPI_INT, right, tag, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, LONG, MPI_INT, right, tag + 1, MPI_COMM_WORLD, &requests[3]);
    int error = finish(requests);
    printf("%d %d: class %d\n", rank, tag, class_of(error));
    for (int i = 0; i < 4; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void right_ones(int tag)
{
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request requests[4];
        MPI_Irecv(in, LONG, MPI_INT, left, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(other, LONG, MPI_INT, MPI_ANY_SOURCE, 1000 + tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(out, LONG, MPI_INT, right, tag, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(out, LONG, MPI_INT, right, 1000 + tag, MPI_COMM_WORLD, &requests[3]);
        int error = MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        printf("%d %d: class %d, %d %d\n", rank, tag, class_of(error), in[LONG - 1], other[LONG - 1]);
    }
}

static void too_long_at_once(int tag)
{
    MPI_Request request;
    MPI_Isend(out, LONG, MPI_INT, right, tag, MPI_COMM_WORLD, &request);
    int error = MPI_Recv(in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%d %d: class %d\n", rank, tag, class_of(error));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    error = MPI_Sendrecv(out, LONG, MPI_INT, right, tag, in, 1, MPI_INT, left, tag, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    printf("%d %d: class %d\n", rank, tag, class_of(error));
}

static void too_long_again_and_again(int (*finish)(MPI_Request *), int tag)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, send;
    MPI_Recv_init(in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &requests[0]);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Start(&requests[0]);
        MPI_Isend(out, LONG, MPI_INT, right, tag, MPI_COMM_WORLD, &send);
        printf("%d %d: class %d\n", rank, tag, class_of(finish(requests)));
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[0]);
}

int main(int argc, char **argv)
{
    /* Waits and tests in turn. */
    int (*const ways[])(MPI_Request *) = {by_wait,    by_test,    by_waitall,  by_testall,
                                          by_waitany, by_testany, by_waitsome, by_testsome};
    enum { WAYS = sizeof ways / sizeof *ways };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc == 1)
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < WAYS; i++)
        too_long(ways[i], 10 * i), right_ones(10 * i);
    too_long_at_once(200), right_ones(200);
    for (int i = 0; KEEPS_REQUESTS && i < WAYS; i += 2)
        too_long_again_and_again(ways[i], 300 + i), right_ones(300 + i);
    MPI_Finalize();
    return 0;
}
