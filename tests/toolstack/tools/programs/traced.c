/* A few of everything that the tool `trace` records, with numbers that a test knows: size × size int messages
 * in a ring, a persistent request, a probed message, a cancelled receive, collectives of each shape,
 * communicators, of which MPI may give one the handle of another that is gone. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, flag = 0, *data = calloc(4096, sizeof *data), *counts;
    MPI_Request requests[20], request;
    MPI_Comm half, copy;
    MPI_Message message;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    counts = calloc((size_t)size, sizeof *counts);

    for (int i = 0; i < 10; i++) {
        MPI_Irecv(data + 100 * i, 100, MPI_INT, i % 2 ? last : MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                  requests + i);
        MPI_Isend(data + 2048, i, MPI_INT, next, i, MPI_COMM_WORLD, requests + 10 + i);
    }
    MPI_Waitall(20, requests, MPI_STATUSES_IGNORE); /* More than fit on the wrapper's stack. */

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, "half of the world");
    MPI_Bcast(data, 4, MPI_INT, 0, half);
    MPI_Comm_free(&half);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, copy);
        MPI_Comm_free(&copy);
    }

    MPI_Send_init(data, 3, MPI_INT, next, 20, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Mprobe(last, 20, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(data + 100, 3, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);

    MPI_Irecv(data, 1, MPI_INT, last, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(data, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);

    for (int i = 0; i < size; i++)
        counts[i] = i;
    MPI_Gather(data, 5, MPI_INT, data + 100, 5, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Reduce_scatter(data, data + 100, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(data, data + 100, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, data, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
