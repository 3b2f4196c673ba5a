/* Threads whose requests share handles: MPI gives one to all sends that are complete when they start, and a
 * completed one at once to the next thread that asks. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>

enum { THREADS = 16, ROUNDS = 100 };

static int rank, size;

static void *talk(void *number)
{
    int tag = (int)(intptr_t)number, got = -1, wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request requests[2];
        MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&i, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        wrong += got != i;
    }
    return (void *)(intptr_t)wrong;
}

int main(void)
{
    int level;
    intptr_t wrong = 0;
    pthread_t threads[THREADS];
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (intptr_t)result;
    }
    MPI_Finalize();
    return wrong != 0;
}
