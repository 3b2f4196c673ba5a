/* What programs by hand take from turns.c: the same turns, inputs and checks as the Coven programs have. */
#ifndef PSE_BENCHMARKS_TURNS_H
#define PSE_BENCHMARKS_TURNS_H

#include <stdint.h>

/* ns of CLOCK_MONOTONIC, which is the same for all processes of a machine. */
int64_t turn_clock(void);
/* Wait, asleep, until it is this job's turn; 0 if there is none to come. */
int turn_await(int64_t rank);
/* Rank 0 says how long a turn took, and what was computed. */
void turn_tell(double first, double last, int64_t sum);

/* Sum that depends on each bit of a block and on its place in an array of `total` columns, and on no order.
 */
int64_t digest(const double *block, int64_t rows, int64_t columns, int64_t stride, int64_t row,
               int64_t column, int64_t total);
int64_t digest_sample(const double *a, int64_t rows, int64_t columns, int64_t row);
/* 1,024 times the sum of the frame (fill_frame) that a spectrum is of. */
int64_t sum_of_frame(const double *spectrum);
/* The same for positions, whose places are the numbers of their particles. */
int64_t digest_particles(const double *x, const int64_t *id, int64_t n);

void fill_whole_numbers(double *block, int64_t rows, int64_t columns, int64_t row, int64_t column,
                        int64_t seed);
void fill_bodies(double *xm, double *vel, int64_t bodies, int64_t first, int64_t all);
void fill_lattice(double *x, double *v, int64_t cells, double side);
void fill_frame(double *a, int64_t rows, int64_t columns, int64_t row, int64_t k);

#endif
