/* 2-D FFTs as an MPI program does them: rows among ranks, transposed by MPI_Alltoall.
 *
 *     spectrum BATCHES STEPS N     N a power of two; prints the median of a transform in ns, and what was
 * computed
 */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "batches.h"

static int rank, size, n, rows;
static double complex *a, *sent, *got, *roots;

static void swap_bits(double complex *row)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n / 2;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            const double complex kept = row[i];
            row[i] = row[j];
            row[j] = kept;
        }
    }
}

static void transform(double complex *row)
{
    swap_bits(row);
    for (int length = 2; length <= n; length *= 2)
        for (int begin = 0; begin < n; begin += length)
            for (int k = 0; k < length / 2; k++) {
                double complex *even = row + begin + k, *odd = even + length / 2;
                const double complex turned = *odd * roots[k * (n / length)];
                *odd = *even - turned;
                *even += turned;
            }
}

static void transpose(void)
{
    for (int to = 0; to < size; to++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                sent[(to * rows + j) * rows + i] = a[i * n + to * rows + j];
    MPI_Alltoall(sent, rows * rows, MPI_C_DOUBLE_COMPLEX, got, rows * rows, MPI_C_DOUBLE_COMPLEX,
                 MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        for (int j = 0; j < rows; j++)
            for (int i = 0; i < rows; i++)
                a[j * n + from * rows + i] = got[(from * rows + j) * rows + i];
}

static void step(void)
{
    for (int i = 0; i < rows * n; i++)
        a[i] = (rank * rows * n + i) % 1021;
    for (int way = 0; way < 2; way++) {
        for (int i = 0; i < rows; i++)
            transform(a + i * n);
        transpose();
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int batches = atoi(argv[1]), steps = atoi(argv[2]);
    n = atoi(argv[3]);
    rows = n / size;
    double *times = calloc((size_t)batches, sizeof *times);
    const size_t bytes = (size_t)(rows * n) * sizeof *a;
    a = malloc(bytes);
    sent = malloc(bytes);
    got = malloc(bytes);
    roots = malloc((size_t)n / 2 * sizeof *roots);
    for (int k = 0; k < n / 2; k++)
        roots[k] = cexp(-6.283185307179586 * I * k / n);
    for (int batch = 0; batch < batches; batch++) {
        const double begin = now();
        for (int i = 0; i < steps; i++)
            step();
        times[batch] = (now() - begin) / steps;
    }
    if (rank == 0)
        printf("%g %.9g\n", median(times, batches), creal(a[0]));
    MPI_Finalize();
    return 0;
}
