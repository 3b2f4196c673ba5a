/* The routines of the MPI library that the process has loaded, by their addresses.
 *
 * MPI libraries differ in the types of their handles: int or a pointer.  Both are passed in a register or a
 * stack slot of 64 bits, so one build serves all of them; requests are bytes of the library's own size.
 */
#ifndef PSE_EMULATE_ROUTINES_H
#define PSE_EMULATE_ROUTINES_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define PSE_EMULATE_EACH_ROUTINE(X) \
    X(Send) X(Ssend) X(Recv) X(Isend) X(Issend) X(Irecv) X(Waitall) X(Testall) \
    X(Barrier) X(Ibarrier) X(Bcast) X(Ibcast) X(Allreduce) X(Iallreduce) X(Reduce) X(Ireduce) \
    X(Alltoall) X(Ialltoall) X(Allgather) X(Iallgather) X(Gather) X(Igather) X(Scatter) X(Iscatter)
/* clang-format on */

enum pse_emulate_routine {
#define PSE_EMULATE_NUMBER(name) PSE_EMULATE_##name,
    PSE_EMULATE_EACH_ROUTINE(PSE_EMULATE_NUMBER)
#undef PSE_EMULATE_NUMBER
        PSE_EMULATE_ROUTINES
};

typedef uintptr_t pse_emulate_handle;

typedef struct pse_emulate_library {
    void *routines[PSE_EMULATE_ROUTINES];
    pse_emulate_handle byte;   /* MPI_BYTE */
    pse_emulate_handle real;   /* MPI_DOUBLE */
    pse_emulate_handle sum;    /* MPI_SUM */
    pse_emulate_handle bit_or; /* MPI_BOR */
    size_t request_size;       /* of an MPI_Request */
} pse_emulate_library;

enum { PSE_EMULATE_STATUS_SIZE = 128 }; /* At least an MPI_Status of any library. */

/* Name of a routine: MPI_… */
const char *pse_emulate_routine_name(int routine);

#endif
