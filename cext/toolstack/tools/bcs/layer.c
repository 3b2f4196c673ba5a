/* Making the layer, waiting in it, and telling why it has failed. */
#define _GNU_SOURCE
#include "layer.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#include "abi_environment.h"
#include "abi_events.h"
#include "abort_job.h"
#include "call_site.h"
#include "rank_files.h"
#include "tool.h"

enum { FAILED = 1, REFUSED = 2, TEXT = 1024 };
static const uint64_t PROGRESS_INTERVAL = 1000000; /* ns */

const char *pse_bcs_labels[PSE_BCS_LABELS] = {
    [PSE_BCS_LABEL_BARRIER] = "Barrier",   [PSE_BCS_LABEL_BCAST] = "Bcast",
    [PSE_BCS_LABEL_REDUCE] = "Reduce",     [PSE_BCS_LABEL_ALLREDUCE] = "Allreduce",
    [PSE_BCS_LABEL_SCAN] = "Scan",         [PSE_BCS_LABEL_EXSCAN] = "Exscan",
    [PSE_BCS_LABEL_SCATTER] = "Scatter",   [PSE_BCS_LABEL_REDUCE_SCATTER] = "Reduce_scatter",
    [PSE_BCS_LABEL_GATHER] = "Gather",     [PSE_BCS_LABEL_ALLGATHER] = "Allgather",
    [PSE_BCS_LABEL_ALLTOALL] = "Alltoall", [PSE_BCS_LABEL_FINALIZE] = "MPI_Finalize",
};
pse_bcs_end *pse_bcs_layer;

static struct pse_bcs_settings settings = {.table = 4096, .ordered = true};
static pthread_mutex_t waiting = PTHREAD_MUTEX_INITIALIZER;
static pid_t process;                            /* of this rank; those that it forks end when they like */
static bool needs_progress, tells_deaths = true; /* deaths: else somebody else does, and ends the job */

_Noreturn void pse_bcs_end_job(const char *format, ...)
{
    char text[TEXT];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (!pse_bcs_layer || pse_bcs_end_is_first_to_tell(pse_bcs_layer)) {
        pse_tool_warn("%s", text);
        pse_tool_abort_job(FAILED);
    }
    for (;;)
        pause();
}

void *pse_bcs_more_memory(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes ? bytes : 1);
    if (!memory)
        pse_bcs_end_job("there is no memory for %zu bytes that MPI's messages need", bytes);
    return memory;
}

void *pse_bcs_memory(size_t bytes)
{
    return pse_bcs_more_memory(NULL, bytes);
}

static _Noreturn void fail(void)
{
    char text[TEXT];
    const bool has_died =
        pse_bcs_end_failure(pse_bcs_layer, pse_bcs_labels, text, sizeof text) == PSE_BCS_FAILURE_DEAD;
    while (has_died && !tells_deaths)
        pause();
    pse_bcs_end_job("%s", text);
}

/* Where a process ends as if all were well, mpiexec may end the others before they can tell, and tell nothing
 * itself.  Who ends with another code, as MPI does after an error, has said why. */
static void tell_end(int code, void *nothing)
{
    int rank;
    (void)nothing;
    const bool is_own = pse_bcs_layer && tells_deaths && getpid() == process;
    if (code || !is_own || !pse_bcs_end_is_first_to_tell(pse_bcs_layer))
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pse_tool_warn("rank %d ended and did not call MPI_Finalize", rank);
    pse_tool_abort_job(FAILED);
}

/* Waiting */

/* Let MPI deal with what came for its own operations; it does not if it only looks for messages to itself. */
static void poke(void)
{
    int flag;
    PMPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static enum pse_bcs_outcome wait_patiently(const uint32_t *operations, size_t count, enum pse_bcs_wait mode,
                                           size_t *which)
{
    enum pse_bcs_outcome outcome;
    do { /* After the wait too, as MPI would have. */
        outcome = pse_bcs_end_wait(pse_bcs_layer, operations, count, mode, which);
        if (needs_progress)
            poke();
    } while (outcome == PSE_BCS_WAIT_INTERRUPTED);
    return outcome;
}

/* Finding a line of C takes a process: it is found once. */
static const char *place_text(const struct pse_call_site *site)
{
    enum { PLACES = 64 };
    static struct {
        void *address;
        char text[PSE_CALL_SITE_TEXT];
    } known[PLACES];
    if (site->python[0])
        return site->python;
    const size_t slot = (uintptr_t)site->address / sizeof(void *) % PLACES;
    if (!known[slot].text[0] || known[slot].address != site->address)
        pse_call_site_text(site, known[slot].text, sizeof known[slot].text);
    known[slot].address = site->address;
    return known[slot].text;
}

/* For a stepper: where the program waits. */
static void say_place(void)
{
    struct pse_call_site site;
    pse_call_site_take(&site);
    pse_bcs_end_say_place(pse_bcs_layer, place_text(&site));
}

bool pse_bcs_layer_wait(const uint32_t *operations, size_t count, enum pse_bcs_wait mode, size_t *which)
{
    if (pthread_mutex_trylock(&waiting) != 0)
        pse_bcs_end_job("two threads of a rank communicate at the same time; coscheduled ranks have one that "
                        "does: let threads take turns (MPI_THREAD_SERIALIZED), or run without bcs");
    if (mode != PSE_BCS_FOR_NONE && pse_bcs_end_is_observed(pse_bcs_layer))
        say_place();
    const enum pse_bcs_outcome outcome = wait_patiently(operations, count, mode, which);
    pthread_mutex_unlock(&waiting);
    if (outcome == PSE_BCS_WAIT_FAILED)
        fail();
    return outcome == PSE_BCS_WAIT_COMPLETE;
}

uint32_t pse_bcs_layer_posted(uint32_t operation)
{
    if (operation == PSE_BCS_NONE)
        fail();
    return operation;
}

void pse_bcs_go_away(void)
{
    if (pse_bcs_layer)
        pse_bcs_end_go_away(pse_bcs_layer);
}

void pse_bcs_come_back(void)
{
    if (pse_bcs_layer)
        pse_bcs_end_come_back(pse_bcs_layer);
}

void pse_bcs_expect_progress(void)
{
    if (!needs_progress && pse_bcs_layer)
        pse_bcs_end_look_after(pse_bcs_layer, PROGRESS_INTERVAL);
    needs_progress = pse_bcs_layer != NULL;
}

/* Begin and end */

static int read_slice(void)
{
    const char *word = pse_tool_argument("slice");
    char *end;
    const double microseconds = word ? strtod(word, &end) : (double)settings.slice / 1000;
    if (word && (*end || end == word || !(microseconds >= PSE_BCS_SHORTEST_SLICE / 1000)))
        return pse_tool_refuse_argument("slice", word, "a number of microseconds, at least %d",
                                        PSE_BCS_SHORTEST_SLICE / 1000);
    settings.slice = (uint64_t)(microseconds * 1000);
    return 0;
}

static int check_monitors(void)
{
    char reason[TEXT];
    return pse_bcs_check_monitors(reason, sizeof reason) ? 0 : pse_tool_refuse("%s", reason);
}

int pse_bcs_layer_configure(void)
{
    return pse_tool_choose("mode", "strict", "early", &settings.strict) ||
           pse_tool_choose("ordered", "yes", "no", &settings.ordered) ||
           pse_tool_choose("deaths", "yes", "no", &tells_deaths) || read_slice() || check_monitors();
}

/* What all ranks need: the lowest that lacks it says why, and ends the job. */
static void require(bool good, const char *format, const char *reason)
{
    char text[TEXT];
    int rank, first;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    first = good ? INT_MAX : rank;
    PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == INT_MAX)
        return;
    snprintf(text, sizeof text, format, reason);
    if (rank == first) {
        pse_tool_warn("%s", text);
        pse_tool_abort_job(REFUSED);
    }
    for (;;)
        pause();
}

/* Where the ranks are: nodes are counted by their lowest ranks, which lead them. */
struct placement {
    MPI_Comm beside; /* ranks of this one's node */
    int rank, ranks, rank_beside, nodes;
    uint32_t *node; /* of each rank */
};

static struct placement find_ranks(void)
{
    struct placement all = {.nodes = 0};
    PMPI_Comm_rank(MPI_COMM_WORLD, &all.rank), PMPI_Comm_size(MPI_COMM_WORLD, &all.ranks);
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, all.rank, MPI_INFO_NULL, &all.beside);
    PMPI_Comm_rank(all.beside, &all.rank_beside);
    uint32_t lowest = (uint32_t)all.rank;
    PMPI_Bcast(&lowest, (int)sizeof lowest, MPI_BYTE, 0, all.beside);
    all.node = pse_bcs_memory((size_t)all.ranks * sizeof *all.node);
    PMPI_Allgather(&lowest, (int)sizeof lowest, MPI_BYTE, all.node, (int)sizeof lowest, MPI_BYTE,
                   MPI_COMM_WORLD);
    for (int rank = 0; rank < all.ranks; rank++) /* A node's lowest rank has its number before the others. */
        all.node[rank] = all.node[rank] == (uint32_t)rank ? (uint32_t)all.nodes++ : all.node[all.node[rank]];
    return all;
}

/* Leaders of nodes reach each other; whether this one does. */
static bool connect_nodes(pse_bcs_end *end, const struct placement *place, char *reason, size_t room)
{
    uint8_t mine[PSE_BCS_ENDPOINT] = {0};
    uint8_t *all = pse_bcs_memory((size_t)place->ranks * sizeof mine);
    if (place->rank_beside == 0)
        pse_bcs_end_endpoint(end, mine);
    PMPI_Allgather(mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    uint32_t known = 0;
    for (int rank = 0; rank < place->ranks; rank++)
        if (place->node[rank] == known) /* The first rank with a number leads the node. */
            memmove(all + known++ * sizeof mine, all + (size_t)rank * sizeof mine, sizeof mine);
    const bool reached = place->rank_beside > 0 || pse_bcs_end_connect(end, all, known, reason, room);
    free(all);
    return reached;
}

/* Where slices begin at their time only, the machines must keep it. */
static bool is_slice_kept(const pse_bcs_end *end, bool leads, char *reason, size_t room)
{
    uint64_t shortest = settings.strict && leads ? pse_bcs_end_shortest_slice(end) : 0;
    PMPI_Allreduce(MPI_IN_PLACE, &shortest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    snprintf(
        reason, room,
        "`argument slice %g`: this machine begins slices too late for that; the shortest that works is %g µs",
        (double)settings.slice / 1000, (double)shortest / 1000);
    return shortest <= settings.slice;
}

/* Where MPI's routines can't be looked for, any name may be one. */
static bool is_routine(const char *name)
{
    char symbol[PSE_BCS_ROUTINE];
    snprintf(symbol, sizeof symbol, "PMPI_%s", name);
    return dlsym(RTLD_DEFAULT, symbol) || !dlsym(RTLD_DEFAULT, "PMPI_Send");
}

/* Where a trace is written; that it can't be never ends a run. */
static void begin_trace(pse_bcs_end *end, int ranks)
{
    char reason[TEXT];
    const char *directory = getenv(PSE_TRACE_VARIABLE);
    if (directory && *directory)
        pse_tool_remove_older_files(directory, PSE_BCS_EVENTS ".events", ranks);
    if (!pse_bcs_end_trace(end, reason, sizeof reason))
        pse_tool_warn("nothing is recorded: %s", reason);
}

void pse_bcs_layer_begin(void)
{
    char reason[TEXT] = "the lowest rank of this node has not made it";
    struct pse_bcs_files files = {0};
    pse_bcs_end *end = NULL;
    struct placement place = find_ranks();
    const int rank = place.rank;
    settings.ranks = (uint32_t)place.ranks;
    settings.leader = (uint32_t)rank;
    settings.nodes = place.node;
    if (!settings.slice)
        settings.slice = place.nodes > 1 ? PSE_BCS_DEFAULT_FAR_SLICE : PSE_BCS_DEFAULT_SLICE;
    if (place.rank_beside == 0)
        end = pse_bcs_end_make(&settings, &files, reason, sizeof reason);
    PMPI_Bcast(&files, (int)sizeof files, MPI_BYTE, 0, place.beside);
    if (place.rank_beside != 0 && files.process)
        end = pse_bcs_end_open(&files, (uint32_t)rank, reason, sizeof reason);
    require(end != NULL, "ranks can't share memory: %s", reason);
    require(pse_bcs_end_check_metrics(end, is_routine, reason, sizeof reason), "%s", reason);
    require(is_slice_kept(end, place.rank_beside == 0, reason, sizeof reason), "%s", reason);
    if (place.nodes > 1)
        require(connect_nodes(end, &place, reason, sizeof reason),
                "the nodes don't reach each other by TCP: %s", reason);
    PMPI_Comm_free(&place.beside);
    free(place.node);
    const int error = pse_bcs_end_try_reading(end);
    require(error == 0,
            "ranks may not read each other's memory (%s): the kernel (kernel.yama.ptrace_scope) or "
            "the container (capability SYS_PTRACE) forbids it",
            strerror(error));
    begin_trace(end, place.ranks);
    pse_bcs_end_begin(end);
    pse_bcs_layer = end;
    process = getpid();
    on_exit(tell_end, NULL);
    PMPI_Barrier(MPI_COMM_WORLD);
}

void pse_bcs_layer_end(void)
{
    pse_bcs_end *end = pse_bcs_layer;
    char text[TEXT];
    int rank;
    pse_bcs_layer = NULL;
    if (!pse_bcs_end_write_monitors(end, text, sizeof text))
        pse_tool_warn("what the monitors have seen is lost: %s", text);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && pse_bcs_end_has_slowed(end, text, sizeof text))
        pse_tool_warn("%s", text);
    pse_bcs_end_close(end);
}
