/* The tool `trace`: what a rank does in MPI, as events of the house's one schema (cext/recorder/events.def).
 *
 * Written is DIRECTORY/rank-RRRRR.mpi.events, beside the file of the runtime if there is one: pse.trace reads
 * both as one.  Wrappers come from trace.def; this file has what they call, trace_bytes.h what operations
 * move, trace_communicators.h the communicators, and trace_clocks.h compares the clocks of hosts.
 *
 * Argument: directory, else the variable PSE_TRACE_DIRECTORY (set by pse run --trace).
 *
 * Order: enter, then what the call does, then leave.  Starts are written after the call, when their request
 * is known, with the time of the enter.  With MPI_THREAD_MULTIPLE a lock keeps records whole; calls of
 * several threads are then mixed in the rank's file.
 *
 * May touch: the files of its directory that have a trace's names.
 */
#define _GNU_SOURCE
#define TOOL_NAME "trace"
#include "tool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "directory.h"
#include "handles.h"
#include "kept.h"
#include "recorder.c"

static pse_recorder *recorder; /* NULL: not recording */
static bool threads;           /* MPI_THREAD_MULTIPLE */
static pid_t owner;            /* who records; not a child that the program forks */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static inline void lock(void)
{
    if (threads)
        pthread_mutex_lock(&mutex);
}

static inline void unlock(void)
{
    if (threads)
        pthread_mutex_unlock(&mutex);
}

/* What a call tells when it has returned has the time of its begin; by then other threads may have recorded
 * more, and times of a file never go back. */
static inline uint64_t in_order(uint64_t time)
{
    static uint64_t latest;
    return latest = time < latest ? latest : time;
}

static inline void put(uint64_t time, uint16_t type, uint16_t flags, uint64_t a, uint64_t b, uint64_t c)
{
    if (threads)
        time = in_order(time);
    pse_recorder_add_at(recorder, time, type, flags, PSE_NONE, 0, a, b, c);
}

#include "trace_bytes.h"
#include "trace_clocks.h"
#include "trace_collectives.h"
#include "trace_communicators.h"
#include "trace_requests.h"

/* Enter and leave. */

static const char *const routine_names[];
static bool named[2048];

static void name_routine(unsigned number, uint64_t time)
{
    named[number] = true;
    pse_recorder_text_at(recorder, time, PSE_TEXT_REGION, number, routine_names[number]);
}

static inline uint64_t enter(unsigned number)
{
    if (!recorder)
        return pse_clock();
    lock();
    uint64_t now = pse_clock();
    if (__builtin_expect(!named[number], 0))
        name_routine(number, now);
    put(now, PSE_EVENT_REGION_ENTER, 0, number, 0, 0);
    unlock();
    return now;
}

static inline void leave(unsigned number, uint64_t entered, int returned)
{
    if (recorder) {
        lock();
        put(pse_clock(), PSE_EVENT_REGION_LEAVE, 0, number, entered, (uint64_t)(int64_t)returned);
        unlock();
    }
}

/* The directory. */

static const char *given_directory(void)
{
    const char *path = tool_argument("directory");
    return path && *path ? path : getenv("PSE_TRACE_DIRECTORY");
}

/* Spawned processes have ranks of their own: a directory below, named by their first rank's process id. */
static void choose_directory(char *path, size_t room)
{
    MPI_Comm parent;
    int id = (int)getpid();
    snprintf(path, room, "%s", given_directory());
    PMPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        return;
    PMPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path + strlen(path), room - strlen(path), "/spawned-%d", id);
}

/* Start and end. */

static void open_recorder(int rank, int ranks, const char *path)
{
    directory_make(path);
    directory_remove_older(path, ".mpi.events", ranks);
    int error = pse_recorder_open_part(&recorder, path, (uint32_t)rank, ".mpi");
    if (error)
        tool_say("nothing is recorded: %s: %s", path, strerror(-error));
    job_rank = (uint32_t)rank;
    owner = getpid();
}

static void record_first(unsigned number, uint64_t entered)
{
    if (!recorder)
        return;
    name_routine(number, entered);
    put(entered, PSE_EVENT_REGION_ENTER, 0, number, 0, 0);
}

static void trace_start(unsigned number, uint64_t entered, int returned)
{
    int level, rank, ranks;
    char path[4096];
    if (recorder || returned != MPI_SUCCESS || !given_directory())
        return;
    PMPI_Query_thread(&level);
    threads = level == MPI_THREAD_MULTIPLE;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    choose_directory(path, sizeof path);
    open_recorder(rank, ranks, path);
    record_first(number, entered);
    if (recorder)
        put_first_communicators();
    if (tool_argument("directory"))
        find_hosts(ranks);
    compare_clocks();
}

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
/* A program of sessions only has no MPI_COMM_WORLD; the set of that name tells the rank. */
static void trace_start_session(unsigned number, uint64_t entered, MPI_Session session)
{
    int rank, ranks;
    char path[4096];
    if (recorder || !given_directory() ||
        PMPI_Group_from_session_pset(session, "mpi://WORLD", &job_group) != MPI_SUCCESS)
        return;
    threads = true;
    PMPI_Group_rank(job_group, &rank);
    PMPI_Group_size(job_group, &ranks);
    snprintf(path, sizeof path, "%s", given_directory());
    open_recorder(rank, ranks, path);
    record_first(number, entered);
}
#endif

static void trace_close(void)
{
    lock();
    pse_recorder_close(recorder);
    recorder = NULL;
    unlock();
}

/* Before MPI goes: what needs MPI to be let go. */
static void trace_finishes(void)
{
    end_clocks();
    if (job_group != MPI_GROUP_NULL)
        PMPI_Group_free(&job_group);
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *given)
{
    tools = given;
    if (given_directory())
        return 0;
    return tool_refuse("no directory to write to: give it as `argument directory DIR`, "
                       "or start the program with pse run --trace DIR");
}

TOOL_PUBLIC __attribute__((destructor)) void pse_tool_end(void)
{
    if (getpid() == owner)
        trace_close();
}

#define TOOL_ENTER(name) uint64_t entered = enter(NUMBER_##name);
#define TOOL_LEAVE(name) leave(NUMBER_##name, entered, returned);
#include "trace_wrappers.h"
