/* Made from cext/abi/coven.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_COVEN_H
#define PSE_ABI_COVEN_H

#include <stddef.h>
#include <stdint.h>

#define COVEN_COLLECTIVES(X) \
    X(BARRIER, 0) \
    X(BCAST, 1) \
    X(REDUCE, 1) \
    X(ALLREDUCE, 0) \
    X(SCAN, 0) \
    X(GATHER, 1) \
    X(ALLGATHER, 0) \
    X(SCATTER, 1) \
    X(ALLTOALL, 0) \
    X(ALLTOALLV, 0) \
    X(NEIGHBOR_ALLTOALLV, 0)

#endif
