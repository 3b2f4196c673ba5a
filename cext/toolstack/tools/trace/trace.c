/* The tool `trace`: what a rank does in MPI, and in regions of the program, as events of the one schema of
 * pse (cext/abi/events.def).
 *
 * It writes DIRECTORY/rank-RRRRR.mpi.events, beside the file of the runtime if there is one: pse.trace reads
 * both as one.  Wrappers come from trace.def.
 *
 * Arguments: directory, else the variable PSE_TRACE_DIRECTORY (set by pse run --trace); functions, depth,
 * filter and budget, which say what regions are recorded (regions/).
 *
 * Order: enter, then what the call does, then leave.  Starts are written after the call, when their request
 * is known, with the time of the enter.  Unless the program asks for MPI_THREAD_SINGLE, a lock keeps records
 * whole, and the file says which thread its events are of.  A call looks at the clock and takes the lock
 * twice: for what is recorded before MPI has it, and for what is recorded after that.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "abi_environment.h"
#include "below.h"
#include "bytes.h"
#include "clocks.h"
#include "collectives.h"
#include "communicators.h"
#include "event_clock.h"
#include "python/python_frames.h"
#include "python/python_functions.h"
#include "rank_files.h"
#include "regions/callers.h"
#include "regions/compiled_functions.h"
#include "regions/compiled_regions.h"
#include "regions/region_stacks.h"
#include "regions/threads.h"
#include "request_snapshot.h"
#include "requests.h"
#include "tool.h"
#include "writer.h"

static pid_t owner; /* who records; not a child that the program forks */

/* Enter and leave. */

static const char *const routine_names[];
enum { MOST_ROUTINES = 1024 };
PSE_TRACE_HOT_DATA static uint64_t named[MOST_ROUTINES / 64]; /* a bit each */

/* Of the call that begins to record. */
static TOOL_THREAD_LOCAL const void *first_site;
static TOOL_THREAD_LOCAL const char *first_frame;

static void name_routine(unsigned number, uint64_t time)
{
    named[number / 64] |= UINT64_C(1) << number % 64;
    pse_recorder_text_at(pse_trace_recorder, time, PSE_TEXT_REGION, number, routine_names[number]);
}

/* A call of a routine, from where and with which frame of its wrapper.  The lock is held until MPI is called,
 * if anything is recorded. */
__attribute__((noinline)) PSE_TRACE_HOT static uint64_t enter(unsigned number, const void *site,
                                                              const char *frame)
{
    if (!pse_trace_recorder) {
        first_site = site;
        first_frame = frame;
        return pse_clock();
    }
    if (pse_trace_is_in_initial_frames())
        pse_trace_check_python_frames();
    const uint32_t callers = pse_trace_finds_callers ? pse_trace_callers_of(site, frame, 0) : 0;
    if (!pse_trace_begin_records())
        return pse_clock();
    if (__builtin_expect(!(named[number / 64] >> number % 64 & 1), 0))
        name_routine(number, pse_trace_now);
    pse_trace_put(pse_trace_now, PSE_EVENT_REGION_ENTER, 0, number, callers, 0);
    return pse_trace_now;
}

/* After what else is recorded of the call, if anything is. */
__attribute__((noinline)) PSE_TRACE_HOT static void leave(unsigned number, uint64_t entered, int returned)
{
    if (!pse_trace_is_writing() && !pse_trace_begin_records())
        return;
    pse_trace_put(pse_trace_now, PSE_EVENT_REGION_LEAVE, 0, number, entered, (uint64_t)(int64_t)returned);
    pse_trace_unlock();
}

/* The directory. */

static const char *given_directory(void)
{
    const char *path = pse_tool_argument("directory");
    return path && *path ? path : getenv(PSE_TRACE_VARIABLE);
}

/* Spawned processes have ranks of their own: a directory below, named by their first rank's process id. */
static void choose_directory(char *path, size_t room)
{
    int id = (int)getpid();
    snprintf(path, room, "%s", given_directory());
    if (!pse_tool_was_spawned())
        return;
    PMPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path + strlen(path), room - strlen(path), "/spawned-%d", id);
}

/* Start and end. */

/* A child process that the program forks has the file, but is not the rank. */
static void forget_in_child(void)
{
    pse_trace_recorder = NULL;
    pse_trace_holder = 0;
    pse_trace_alone = 0;
    pse_trace_alone_writes = false;
    pse_trace_mutex = 0;
    pse_trace_has_mutex = false;
}

static void open_recorder(int rank, int ranks, const char *path)
{
    pse_tool_make_directory(path);
    pse_tool_remove_older_files(path, PSE_MPI_EVENTS ".events", ranks);
    const int error = pse_trace_open_recorder(path, (uint32_t)rank);
    if (error)
        pse_tool_warn("nothing is recorded: %s: %s", path, strerror(-error));
    pse_trace_job_rank = (uint32_t)rank;
    owner = getpid();
    pthread_atfork(NULL, NULL, forget_in_child);
    pse_trace_first_thread(!pse_trace_threads);
    pse_trace_begin_alone();
}

static void record_first(unsigned number, uint64_t entered)
{
    if (!pse_trace_recorder)
        return;
    if (pse_trace_has_regions) {
        pse_trace_hook_compiled();
        pse_trace_hook_python();
        pse_trace_begin_regions(entered);
        pse_trace_begin_callers();
    }
    const uint32_t callers =
        pse_trace_finds_callers ? pse_trace_callers_of(first_site, first_frame, entered) : 0;
    name_routine(number, entered);
    pse_trace_put(entered, PSE_EVENT_REGION_ENTER, 0, number, callers, 0);
}

static void trace_start(unsigned number, uint64_t entered, int returned)
{
    int level, rank, ranks;
    char path[4096];
    if (pse_trace_recorder || returned != MPI_SUCCESS || !given_directory())
        return;
    PMPI_Query_thread(&level);
    pse_trace_threads = level != MPI_THREAD_SINGLE;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    choose_directory(path, sizeof path);
    open_recorder(rank, ranks, path);
    record_first(number, entered);
    if (pse_trace_recorder)
        pse_trace_first_communicators();
    if (pse_tool_argument("directory"))
        pse_trace_find_hosts(ranks);
    pse_trace_compare_clocks();
}

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
/* A program of sessions only has no MPI_COMM_WORLD; the set of that name tells the rank. */
static void trace_start_session(unsigned number, uint64_t entered, MPI_Session session)
{
    int rank, ranks;
    char path[4096];
    if (pse_trace_recorder || !given_directory() ||
        PMPI_Group_from_session_pset(session, "mpi://WORLD", &pse_trace_job_group) != MPI_SUCCESS)
        return;
    pse_trace_threads = true;
    PMPI_Group_rank(pse_trace_job_group, &rank);
    PMPI_Group_size(pse_trace_job_group, &ranks);
    snprintf(path, sizeof path, "%s", given_directory());
    open_recorder(rank, ranks, path);
    record_first(number, entered);
}
#endif

static void trace_close(void)
{
    pse_trace_lock();
    if (pse_trace_recorder) {
        pse_trace_end_regions();
        pse_trace_note_callers();
    }
    pse_trace_now = pse_trace_clock(); /* The rank ends here: to find places takes time of its own. */
    pse_trace_unlock();
    pse_trace_find_places();
    pse_trace_lock();
    pse_recorder_close(pse_trace_recorder);
    pse_trace_recorder = NULL;
    pse_trace_unlock();
}

/* Before MPI goes: what needs MPI to be let go. */
static void trace_finishes(void)
{
    pse_trace_let_go();
    pse_trace_unhook_compiled();
    pse_trace_end_clocks();
    if (pse_trace_job_group != MPI_GROUP_NULL)
        PMPI_Group_free(&pse_trace_job_group);
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *given)
{
    pse_tool_stack = given;
    pse_trace_begin_clock();
    if (given_directory())
        return pse_trace_configure_regions() || pse_trace_configure_callers();
    return pse_tool_refuse("no directory to write to: give it as `argument directory DIR` below "
                           "`module trace` in a configuration, or set the variable PSE_TRACE_DIRECTORY; pse "
                           "run --trace DIR does");
}

TOOL_PUBLIC __attribute__((destructor)) void pse_tool_end(void)
{
    if (getpid() == owner)
        trace_close();
}

enum { NO_ROOT = -1 };

/* Code of wrappers (trace.def): after a call that succeeded, with the lock, which `leave` lets go; `...` are
 * the bytes sent and received. */
#define RECORDED_IF(condition, code)                                                                         \
    if ((condition) && pse_trace_begin_records()) {                                                          \
        code;                                                                                                \
    }
#define SUCCEEDED(code) RECORDED_IF(returned == MPI_SUCCESS, code)
/* After one of these, which has the lock already. */
#define ALSO(code)                                                                                           \
    if (pse_trace_is_writing()) {                                                                            \
        code;                                                                                                \
    }
#define CAME(code) RECORDED_IF(pse_message_came(returned), code)
#define SENT(tag) RECORDED_IF(!pse_message_came(returned), pse_trace_send_failed(comm, dest, tag))
/* MPI may have ended requests though it returns an error. */
#define ENDED(code) RECORDED_IF(true, code)
#define BEGIN(operation, root) pse_trace_collective_begins(PSE_COLLECTIVE_##operation, root, comm)
#define END(operation, ...)                                                                                  \
    SUCCEEDED(struct trace_communicator *moving = pse_trace_communicator_of(comm);                           \
              pse_trace_collective_ends(PSE_COLLECTIVE_##operation, moving, __VA_ARGS__))
#define START(operation, root, ...)                                                                          \
    SUCCEEDED(                                                                                               \
        struct trace_communicator *moving = pse_trace_communicator_of(comm); (void)moving;                   \
        pse_trace_collective_starts(PSE_COLLECTIVE_##operation, root, comm, __VA_ARGS__, *request, entered))
#define MADE(operation, root, ...)                                                                           \
    SUCCEEDED(struct trace_communicator *moving = pse_trace_communicator_of(comm); (void)moving;             \
              pse_trace_collective_made(PSE_COLLECTIVE_##operation, root, comm, __VA_ARGS__, *request))

#define ON_WINDOW(win) PSE_COLLECTIVE_WINDOW, &pse_trace_windows, PSE_HANDLE(win)
#define ON_FILE(file) PSE_COLLECTIVE_FILE, &pse_trace_files, PSE_HANDLE(file)

#define TOOL_ENTER(name)                                                                                     \
    uint64_t entered = enter(NUMBER_##name, __builtin_return_address(0), __builtin_frame_address(0));
#define TOOL_CALL(name, arguments) (pse_trace_let_go(), BELOW(name) arguments)
#define TOOL_ROUTINE(name, parameters, arguments) BEFORE(name, parameters, arguments)
#define TOOL_LEAVE(name) leave(NUMBER_##name, entered, returned);
#include "trace_wrappers.c"

_Static_assert((int)ROUTINES <= (int)MOST_ROUTINES, "there is a bit for each routine");
