/* Looks at the system's clock before and after calls of MPI for 0.2 s, longer than any clock goes on without being
 * compared with the system's, and writes these times to FILE.RANK. */
#include <mpi.h>
#include <stdio.h>
#include <stdint.h>
#include <time.h>

enum { CALLS = 20000, TIME = 200000000 };

static uint64_t times[CALLS][2];

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int main(int count, char **words)
{
    char path[4096];
    int rank, is_there, calls = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const uint64_t begin = now();
    for (; calls < CALLS && (calls == 0 || times[calls - 1][1] < begin + TIME); calls++) {
        const uint64_t wait_until = begin + (uint64_t)calls * (TIME / CALLS);
        while (now() < wait_until)
            ;
        times[calls][0] = now();
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        times[calls][1] = now();
    }
    snprintf(path, sizeof path, "%s.%d", words[1], rank);
    FILE *file = fopen(path, "wb");
    fwrite(times, sizeof times[0], (size_t)calls, file);
    fclose(file);
    MPI_Finalize();
    return 0;
}
