/* The calls that carry counts of MPI_Count. */
#include <mpi.h>

#if MPI_VERSION >= 4
#define LARGE_COUNTS
#include "collective_calls.c"
#include "communicators.h"
#include "message_calls.c"
#include "places.h"
#endif
