/* What the wrappers of this tool call: the routines below it.
 *
 * Those of routines that programs call often stand together, and call through variables that stand beside
 * what else each call needs.  The table of the linker has an entry in two pages more, and another wrapper is
 * in another page.  A variable is set by the first call that is recorded: the process may have no MPI when
 * the tool is loaded alone.
 */
#ifndef PSE_TRACE_BELOW_H
#define PSE_TRACE_BELOW_H

#include <dlfcn.h>
#include <mpi.h>

#include "hot.h"
#include "writer.h"

#define OFTEN_MPI_Wait 0, OFTEN
#define OFTEN_MPI_Waitall 0, OFTEN
#define OFTEN_MPI_Test 0, OFTEN
#define OFTEN_MPI_Barrier 0, OFTEN
#define OFTEN_MPI_Mprobe 0, OFTEN
#define OFTEN_MPI_Send 0, OFTEN
#define OFTEN_MPI_Recv 0, OFTEN
#define OFTEN_MPI_Sendrecv 0, OFTEN
#define OFTEN_MPI_Isend 0, OFTEN
#define OFTEN_MPI_Irecv 0, OFTEN
#define OFTEN_MPI_Bcast 0, OFTEN
#define OFTEN_MPI_Reduce 0, OFTEN
#define OFTEN_MPI_Allreduce 0, OFTEN
#define OFTEN_MPI_Gather 0, OFTEN
#define OFTEN_MPI_Allgather 0, OFTEN
#define OFTEN_MPI_Alltoall 0, OFTEN
#define OFTEN_MPI_Alltoallv 0, OFTEN
#define OFTEN_MPI_Send_c 0, OFTEN
#define OFTEN_MPI_Recv_c 0, OFTEN
#define OFTEN_MPI_Mrecv_c 0, OFTEN
#define OFTEN_MPI_Sendrecv_c 0, OFTEN
#define OFTEN_MPI_Isend_c 0, OFTEN
#define OFTEN_MPI_Irecv_c 0, OFTEN
#define OFTEN_MPI_Bcast_c 0, OFTEN
#define OFTEN_MPI_Reduce_c 0, OFTEN
#define OFTEN_MPI_Allreduce_c 0, OFTEN
#define OFTEN_MPI_Gather_c 0, OFTEN
#define OFTEN_MPI_Allgather_c 0, OFTEN
#define OFTEN_MPI_Alltoall_c 0, OFTEN
#define OFTEN_MPI_Alltoallv_c 0, OFTEN

/* OFTEN of what is listed above, else RARE. */
#define KIND_OF(name) SECOND_OF(OFTEN_##name, RARE, )
#define SECOND_OF(...) SECOND(__VA_ARGS__)
#define SECOND(first, second, ...) second
#define JOINED(first, second) JOIN(first, second)
#define JOIN(first, second) first##second

/* The function that a wrapper calls. */
#define BELOW(name) JOINED(BELOW_, KIND_OF(name))(name)
#define BELOW_RARE(name) P##name
#define BELOW_OFTEN(name) below_##name

/* What stands before a wrapper. */
#define BEFORE(name, parameters, arguments) JOINED(BEFORE_, KIND_OF(name))(name, parameters, arguments)
#define BEFORE_RARE(name, parameters, arguments)
#define BEFORE_OFTEN(name, parameters, arguments)                                                            \
    PSE_TRACE_HOT_CALL __typeof__(name) name;                                                                \
    BELOW_VARIABLE(name, parameters, arguments)

#define BELOW_VARIABLE(name, parameters, arguments)                                                          \
    static int find_##name parameters;                                                                       \
    PSE_TRACE_HOT_DATA static __typeof__(P##name) *below_##name = find_##name;                               \
    __attribute__((cold)) static int find_##name parameters                                                  \
    {                                                                                                        \
        __typeof__(P##name) *found = (__typeof__(P##name) *)dlsym(RTLD_DEFAULT, "P" #name);                  \
        if (!found || !pse_trace_recorder)                                                                   \
            return P##name arguments;                                                                        \
        __atomic_store_n(&below_##name, found, __ATOMIC_RELAXED);                                            \
        return found arguments;                                                                              \
    }

#endif
