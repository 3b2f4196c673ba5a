/* The sum over all partitions, by MPI itself. */
#include <mpi.h>
#include <stdint.h>

//@ coven module total(in f64 x[n], in comm c, out f64 sum, out i64 place, out i64 size) collective
int total(const double *x, MPI_Comm c, double *sum, int64_t *place, int64_t *size, int64_t n)
{
    double mine = 0;
    int rank, ranks;
    for (int64_t i = 0; i < n; i++)
        mine += x[i];
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &ranks);
    *place = rank;
    *size = ranks;
    return MPI_Allreduce(&mine, sum, 1, MPI_DOUBLE, MPI_SUM, c);
}

//@ coven module wrong(in f64 x[n], in comm c) collective
int wrong(const double *x, MPI_Comm c, int64_t n)
{
    (void)x;
    (void)n;
    return MPI_Barrier(c) + MPI_Send(&n, 1, MPI_INT64_T, 1000, 0, c);
}
