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

/* Whether a library is MPI's, or has its progress engine: Open MPI's is in a library of its own. */
static bool makes_progress(const struct loaded_elf *elf)
{
    return pse_toolstack_elf_find(elf, "PMPI_T_cvar_write") || pse_toolstack_elf_find(elf, "opal_progress");
}

/* Let MPI yield here. */
static void rebind_libraries(void)
{
    struct loaded_elf elf;
    for (struct link_map *map = pse_toolstack_first_map(); map; map = map->l_next)
        if (pse_toolstack_view_elf(&elf, map) && makes_progress(&elf))
            pse_toolstack_elf_rebind(&elf, choose, NULL);
}

/* One of MPI's control variables; says whether there is one of that name. */
static bool find_variable(const char *name, MPI_T_cvar_handle *variable)
{
    int index, count;
    return PMPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
           PMPI_T_cvar_handle_alloc(index, NULL, variable, &count) == MPI_SUCCESS;
}

/* Set a control variable, if there is one of that name. */
static void set_variable(const char *name, int value)
{
    MPI_T_cvar_handle variable;
    if (!find_variable(name, &variable))
        return;
    PMPI_T_cvar_write(variable, &value);
    PMPI_T_cvar_handle_free(&variable);
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

/* Looks after which MPI is said not to yield: those that find what other ranks have sent don't. */
enum { LOOKS = 1000 };

/* Whether looks come to this file's yield now: spawned ranks answer as those that spawned them do. */
static bool looks_yield(void)
{
    MPI_Request never;
    int flag;
    PMPI_Grequest_start(ask, do_nothing, cancel, NULL, &never);
    const enum pse_coopwait_mode outer = pse_coopwait_enter(PSE_COOPWAIT_LOOKS);
    yields = 0;
    for (int i = 0; i < LOOKS && !yields; i++)
        PMPI_Test(&never, &flag, MPI_STATUS_IGNORE);
    pse_coopwait_leave(outer);
    PMPI_Grequest_complete(never);
    PMPI_Wait(&never, MPI_STATUS_IGNORE);
    return yields > 0;
}

/* How many cores a node's ranks may use. */
static int count_cores(MPI_Comm node)
{
    cpu_set_t mine, all;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    PMPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, node);
    return CPU_COUNT(&all);
}

/* How ranks of a node pass data on in these operations: by messages, or (for programs of one thread) through
 * memory that all of them map, where a rank that waits spins for long between two looks.  With a core for
 * each, two ranks are quicker by memory for these sizes in bytes. */
static struct algorithm {
    const char *name;
    MPI_Count least, below;
    MPI_T_cvar_handle variable;
    int usual;
} algorithms[] = {
    [PSE_COOPWAIT_BCAST] = {"MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM", 0, 32 << 10, 0, 0},
    [PSE_COOPWAIT_ALLREDUCE] = {"MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM", 0, 32 << 10, 0, 0},
    [PSE_COOPWAIT_REDUCE] = {"MPIR_CVAR_REDUCE_POSIX_INTRA_ALGORITHM", 512 << 10, INT64_MAX, 0, 0},
    {"MPIR_CVAR_BARRIER_POSIX_INTRA_ALGORITHM", 0, INT64_MAX, 0, 0},
};
static const int by_messages = 0;
static bool chooses;

static void always_by_messages(void)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++)
        set_variable(algorithms[i].name, by_messages);
}

/* Keep the variables at hand; says whether all are there. */
static bool find_variables(void)
{
    for (int i = 0; i < PSE_COOPWAIT_CHOSEN; i++)
        if (!find_variable(algorithms[i].name, &algorithms[i].variable) ||
            PMPI_T_cvar_read(algorithms[i].variable, &algorithms[i].usual) != MPI_SUCCESS)
            return false;
    return true;
}

bool pse_coopwait_choose_messages(enum pse_coopwait_operation operation, MPI_Count count, MPI_Datatype type)
{
    const struct algorithm *algorithm = &algorithms[operation];
    MPI_Count size;
    if (!chooses || type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        (size * count >= algorithm->least && size * count < algorithm->below))
        return false;
    return PMPI_T_cvar_write(algorithm->variable, &by_messages) == MPI_SUCCESS;
}

void pse_coopwait_choose_usual(enum pse_coopwait_operation operation)
{
    PMPI_T_cvar_write(algorithms[operation].variable, &algorithms[operation].usual);
}

/* Learn whether ranks share cores, and wait as suits that. */
static void suit_cores(void)
{
    MPI_Comm node;
    int ranks;
    if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS)
        return;
    PMPI_Comm_size(node, &ranks);
    pse_coopwait_cores = ranks > count_cores(node) ? PSE_BACKOFF_SHARED_CORES : PSE_BACKOFF_OWN_CORE;
    if (pse_coopwait_cores == PSE_BACKOFF_SHARED_CORES)
        always_by_messages();
    else
        chooses = ranks == 2 && find_variables();
    PMPI_Comm_free(&node);
}

void pse_coopwait_take_over(void)
{
    int provided, own, all = 0;
    if (PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    rebind_libraries();
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
    if (!chooses)
        PMPI_T_finalize();
}
