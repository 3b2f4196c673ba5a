/* Taking over MPI's yields, and choosing collective algorithms that yield. */
#define _GNU_SOURCE
#include "own_waits.h"

#include <sched.h>
#include <string.h>

#include "elf/loaded_elf.h"

TOOL_THREAD_LOCAL struct pse_coopwait_thread pse_coopwait_thread;
enum pse_backoff_cores pse_coopwait_cores;
bool pse_coopwait_is_own;

/* How often MPI has yielded in calls that look. */
static TOOL_THREAD_LOCAL unsigned yields;

static int yield(void)
{
    switch (pse_coopwait_thread.mode) {
    case PSE_COOPWAIT_WAITS:
        pse_backoff_pause(&pse_coopwait_thread.wait);
        return 0;
    case PSE_COOPWAIT_LOOKS:
        yields++;
        return 0;
    default:
        return sched_yield();
    }
}

static pse_function choose(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "sched_yield") == 0 ? (pse_function)yield : NULL;
}

/* Let the MPI library yield here. */
static void rebind_library(void)
{
    struct loaded_elf elf;
    for (struct link_map *map = pse_toolstack_first_map(); map; map = map->l_next)
        if (pse_toolstack_view_elf(&elf, map) && pse_toolstack_elf_find(&elf, "PMPI_T_cvar_write"))
            pse_toolstack_elf_rebind(&elf, choose, NULL);
}

/* Set one of MPI's control variables, if there is one of that name. */
static void set_variable(const char *name, int value)
{
    MPI_T_cvar_handle handle;
    int index, count;
    if (PMPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        PMPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    PMPI_T_cvar_write(handle, &value);
    PMPI_T_cvar_handle_free(&handle);
}

/* Let each look that finds nothing yield, also those that MPI would repeat a thousand times before. */
static void yield_at_each_look(void)
{
    set_variable("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", 0);
    set_variable("MPIR_CVAR_CH4_PROGRESS_THROTTLE", 1);
}

static int ask(void *extra, MPI_Status *status)
{
    (void)extra;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    return MPI_SUCCESS;
}

static int do_nothing(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

/* Whether looks come to this file's yield now; the first of them only counts that nothing was there. */
static bool looks_yield(void)
{
    MPI_Request never;
    int flag;
    PMPI_Grequest_start(ask, do_nothing, cancel, NULL, &never);
    const enum pse_coopwait_mode outer = pse_coopwait_enter(PSE_COOPWAIT_LOOKS);
    yields = 0;
    for (int i = 0; i < 3; i++)
        PMPI_Test(&never, &flag, MPI_STATUS_IGNORE);
    pse_coopwait_leave(outer);
    PMPI_Grequest_complete(never);
    PMPI_Wait(&never, MPI_STATUS_IGNORE);
    return yields > 0;
}

/* How many of the node's ranks have to share a core. */
static bool share_cores(MPI_Comm node)
{
    cpu_set_t mine, all;
    int ranks;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    PMPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, node);
    PMPI_Comm_size(node, &ranks);
    return ranks > CPU_COUNT(&all);
}

/* Collective operations through memory that a node's ranks share spin for long between two looks, which is
 * quicker only if each rank has a core.  (MPICH has them for programs of one thread.) */
static void choose_algorithms(void)
{
    set_variable("MPIR_CVAR_BARRIER_POSIX_INTRA_ALGORITHM", 0);
    set_variable("MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM", 0);
    set_variable("MPIR_CVAR_REDUCE_POSIX_INTRA_ALGORITHM", 0);
    set_variable("MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM", 0);
}

/* Learn whether ranks share cores, and wait as suits that. */
static void suit_cores(void)
{
    MPI_Comm node;
    if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS)
        return;
    pse_coopwait_cores = share_cores(node) ? PSE_BACKOFF_SHARED_CORES : PSE_BACKOFF_OWN_CORE;
    if (pse_coopwait_cores == PSE_BACKOFF_SHARED_CORES)
        choose_algorithms();
    PMPI_Comm_free(&node);
}

void pse_coopwait_take_over(void)
{
    int provided, own, all = 0;
    if (PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    rebind_library();
    yield_at_each_look();
    own = looks_yield();
    const enum pse_coopwait_mode outer = pse_coopwait_enter(PSE_COOPWAIT_WAITS);
    PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all)
        suit_cores();
    else
        set_variable("MPIR_CVAR_CH4_PROGRESS_THROTTLE", 0);
    pse_coopwait_leave(outer);
    pse_coopwait_is_own = all;
    PMPI_T_finalize();
}
