/* The calls that have a nonblocking form and carry counts of MPI_Count. */
#include <mpi.h>

#if MPI_VERSION >= 4
#define LARGE_COUNTS
#include "counted_calls.c"
#include "own_waits.h"
#endif
