/* Prints an order that timing decides: who is received from, which request is complete, what tests find. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void dawdle(void)
{
    struct timespec now, pause = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    pause.tv_nsec = (now.tv_nsec * 7919L) % 300000;
    nanosleep(&pause, NULL);
}

static void send_all(int rank, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        int value = 100 * rank + i;
        dawdle();
        MPI_Send(&value, 1, MPI_INT, 0, i % 3, MPI_COMM_WORLD);
    }
}

static void show(const char *what, int value)
{
    printf("%s%d ", what, value);
}

int main(int argc, char **argv)
{
    int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 12, flag, done = 0, empty = 0;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank) {
        for (int i = 0; i < 5; i++)
            send_all(rank, rounds);
        MPI_Finalize();
        return 0;
    }
    int n = rounds * (size - 1), *values = malloc(sizeof *values * (n + 1)),
        *indices = malloc(sizeof *indices * (n + 1));
    MPI_Request *requests = malloc(sizeof *requests * (n + 1)), persistent;
    for (int i = 0; i < n; i++) {
        MPI_Recv(values, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        show("r", values[0]);
    }
    for (int i = 0; i < n; i++)
        MPI_Irecv(values + i, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests + i);
    for (done = 0; done < n / 2; done++) {
        int index;
        MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        show("a", index), show("v", values[index]);
    }
    while (done < n) {
        int count;
        MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
        empty += count == 0;
        for (int i = 0; i < count; i++, done++)
            show("s", indices[i]), show("v", values[indices[i]]);
    }
    show("empty", empty);
    for (done = 0; done < n;) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        empty += !flag;
        if (flag) {
            MPI_Recv(values, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
            show("p", values[0]), done++;
        }
    }
    show("empty", empty);
    MPI_Recv_init(values, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &persistent);
    for (done = 0; done < n; done++) {
        MPI_Start(&persistent);
        for (flag = 0; !flag; empty += !flag)
            MPI_Test(&persistent, &flag, &status);
        show("t", values[0]);
    }
    MPI_Request_free(&persistent);
    for (int i = 0; i < n; i++) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(values, 1, MPI_INT, &message, &status);
        show("m", values[0]);
    }
    show("empty", empty);
    printf("\n");
    MPI_Finalize();
}
