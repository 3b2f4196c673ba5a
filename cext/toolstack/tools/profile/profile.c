/* profile: time, calls and bytes of every call site of MPI, reported by rank 0 at MPI_Finalize.
 *
 * A call site is a routine and the frames that called it: return addresses, or in a Python program the Python
 * frames (frames.h).  A call costs two looks at the clock and one in a table; addresses become file
 * and line only in the report (report.h).  Arguments: output (a file; standard error if it isn't
 * given), depth (how many frames tell call sites apart; 1 if it isn't given). */
#include "call_sites.h"
#include "clock.h"
#include "report.h"
#include "tool.h"

/* Nothing is measured before MPI_Init has returned. */
#define TOOL_ENTER(routine) uint64_t bytes = 0, entered = began ? pse_clock() : 0;
#define TOOL_LEAVE(routine)                                                                                  \
    if (entered)                                                                                             \
        pse_profile_record(NUMBER_##routine, __builtin_return_address(0), depth, pse_clock() - entered,      \
                           bytes);

/* Data that the call has been given to send. */
#define SENT(number, type) (bytes = returned == MPI_SUCCESS ? (uint64_t)(number) * size_of(type) : 0)
#define SUM(counts, number)                                                                                  \
    ({                                                                                                       \
        uint64_t sum = 0;                                                                                    \
        for (int i = (int)(number); i-- > 0;)                                                                \
            sum += (uint64_t)(counts)[i];                                                                    \
        sum;                                                                                                 \
    })

static int depth = 1;
static uint64_t began; /* when MPI_Init returned */

static inline uint64_t size_of(MPI_Datatype type)
{
    int size = 0;
    if (type != MPI_DATATYPE_NULL)
        PMPI_Type_size(type, &size);
    return size > 0 ? (uint64_t)size : 0;
}

/* How many others a rank talks to in a collective call. */
static inline uint64_t peers(MPI_Comm comm)
{
    int size = 0, inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
    return (uint64_t)size;
}

/* The ranks that share the result of MPI_Reduce_scatter: the caller's group. */
static inline uint64_t members(MPI_Comm comm)
{
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return (uint64_t)size;
}

static inline bool is_root(int root, MPI_Comm comm)
{
    int rank = MPI_PROC_NULL, two_groups = 0;
    PMPI_Comm_test_inter(comm, &two_groups);
    PMPI_Comm_rank(comm, &rank);
    return root == (two_groups ? MPI_ROOT : rank);
}

static void starts(void);
static void report(void);

#include "profile_wrappers.c"

static void starts(void)
{
    began = pse_clock();
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *table)
{
    pse_tool_stack = table;
    pse_tool_expect_output();
    const char *text = pse_tool_argument("depth");
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : 1;
    if (text && (end == text || *end || value < 1 || value > DEPTH))
        return pse_tool_refuse_argument("depth", text, "a whole number from 1 to %d", DEPTH);
    depth = (int)value;
    return 0;
}

static void report(void)
{
    pse_profile_report(began, routine_names);
}
