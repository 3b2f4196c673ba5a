/* Floors: the least that this machine needs for what a subject of the bench does, with nothing of pse in
 * between.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC.  No function touches anything but its arguments, memory of its
 * own, and (the recorder's loop) the recorder that it is given.
 */
#ifndef PSE_FLOORS_H
#define PSE_FLOORS_H

#include <stddef.h>
#include <stdint.h>

#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hand a futex to and fro between this process, on core `here`, and a child of it, on core `there`; both
 * sleep while they wait.  Each side computes for `linger` ns before it wakes the other, so that the other is
 * sure to be asleep. The time of each hop, from just before the wake-up call to just after waking, goes to
 * hops[0 … count-1].  The caller's own affinity is as before when it returns.  Returns 0 or -errno. */
int pse_bench_floor_futex(int here, int there, uint64_t linger, size_t count, double *hops);

/* Mean time of one call of an empty function through a pointer. */
double pse_bench_floor_call(size_t count);

/* Mean time of one event that is recorded now, its clock included. */
double pse_bench_floor_record(pse_recorder *recorder, size_t count);

/* Time of writing one byte into each page of `bytes` bytes. */
double pse_bench_floor_touch(char *memory, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
