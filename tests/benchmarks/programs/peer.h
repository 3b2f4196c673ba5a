/* What the programs by hand have in common; main is in peer.c. */
#ifndef PSE_BENCHMARKS_PEER_H
#define PSE_BENCHMARKS_PEER_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "turns.h"

extern int rank, size;

/* Each program has these: memory and inputs; what is timed, blocking or with overlap; a sum of the results.
 */
void prepare(char **arguments);
void run(bool overlap);
int64_t sum_results(void);

/* What a program does before MPI ends, if anything. */
extern void (*release)(void);

/* Let the kernels' coven_partition and coven_grid see ranks as partitions, in a grid that is cut along its
 * first axis only. */
void partitions_are_ranks(uint32_t axes);

/* Memory for so many numbers, all zero, aligned as vector code likes it; ends the job if there is none. */
double *numbers(int64_t count);

static inline void exchange_pointers(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

#endif
