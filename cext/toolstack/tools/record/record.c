/* The tool `record`: notes how the run decided what MPI leaves open, so that the tool `replay` can have it
 * decided the same way again.
 *
 * Open are: which sender a receive or probe with MPI_ANY_SOURCE is matched with, and which requests a test or
 * a wait for any or some finds complete.  Everything else follows from the program and these.  A receive that
 * is posted takes its place in the order when it is posted; what it got is filled in when it completes.
 *
 * Not noted: one-sided operations, files, and which thread comes first (MPI_THREAD_MULTIPLE).
 *
 * Argument: a directory.  The rank writes rank-RRRRR.order there, whose name ends in .part until the rank has
 * ended.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "abort_job.h"
#include "decision_log.h"
#include "handle_table.h"
#include "rank_files.h"
#include "request_snapshot.h"
#include "tool.h"
#include "tool_memory.h"

static struct pse_decision_log decisions;
static bool recording;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* A receive from anybody: where in the order it is. */
struct recorded_receive {
    struct pse_handle_node node;
    size_t place;
    bool persistent;
    int tag;
};

static struct pse_handle_table receives;

/* Whether equal entries in a row may be one: tests and probes that found nothing. */
static bool may_repeat(const struct pse_decision *entry)
{
    return !entry->flag && ((entry->call >= DECIDED_TEST && entry->call <= DECIDED_TESTSOME) ||
                            entry->call == DECIDED_GET_STATUS || entry->call == DECIDED_IPROBE ||
                            entry->call == DECIDED_IMPROBE);
}

static void grow(void)
{
    const int error = pse_decision_log_grow(&decisions, 2 * decisions.bytes);
    if (!error)
        return;
    pse_tool_warn("the decisions of this run can't be written to %s: %s", decisions.path, strerror(error));
    pse_tool_abort_job(1);
}

/* Append an entry, or count it as one more of the last; returns its place. */
static size_t note(struct pse_decision entry)
{
    const size_t count = decisions.header->entries;
    struct pse_decision *last = count ? &pse_decisions_of(&decisions)[count - 1] : NULL;
    entry.repeat = last ? last->repeat : 1;
    if (last && may_repeat(&entry) && last->repeat < UINT32_MAX && memcmp(last, &entry, sizeof entry) == 0) {
        last->repeat++;
        return count - 1;
    }
    if (!pse_decision_log_has_room(&decisions))
        grow();
    entry.repeat = 1;
    pse_decisions_of(&decisions)[count] = entry;
    __atomic_store_n(&decisions.header->entries, count + 1, __ATOMIC_RELEASE);
    return count;
}

static void received(uint16_t call, int asked_tag, const MPI_Status *status)
{
    note((struct pse_decision){.call = call,
                               .flag = 1,
                               .source = status->MPI_SOURCE,
                               .tag = status->MPI_TAG,
                               .asked_tag = asked_tag});
}

static void looked(uint16_t call, int asked_tag, int flag, const MPI_Status *status)
{
    if (flag)
        received(call, asked_tag, status);
    else
        note((struct pse_decision){.call = call, .asked_tag = asked_tag});
}

static size_t pending(uint16_t call, int asked_tag)
{
    return note((struct pse_decision){
        .call = call, .flag = 1, .source = DECIDED_NONE, .tag = DECIDED_NONE, .asked_tag = asked_tag});
}

static struct recorded_receive *receive_of(MPI_Request handle)
{
    return handle == MPI_REQUEST_NULL ? NULL : pse_handle_find_own(&receives, PSE_HANDLE(handle));
}

static struct recorded_receive *remember(int asked_tag, MPI_Request handle, bool persistent)
{
    struct recorded_receive *receive = pse_tool_memory(sizeof *receive);
    *receive = (struct recorded_receive){.persistent = persistent, .tag = asked_tag};
    pse_handle_add(&receives, PSE_HANDLE(handle), receive);
    return receive;
}

static void posted(uint16_t call, int asked_tag, MPI_Request handle)
{
    remember(asked_tag, handle, false)->place = pending(call, asked_tag);
}

static void made(int asked_tag, MPI_Request handle)
{
    remember(asked_tag, handle, true);
}

static void started(MPI_Request handle)
{
    struct recorded_receive *receive = receive_of(handle);
    if (receive)
        receive->place = pending(DECIDED_START, receive->tag);
}

static void forgotten(MPI_Request handle)
{
    if (receive_of(handle))
        free(pse_handle_take(&receives, PSE_HANDLE(handle)));
}

/* A receive's message is known; a cancelled one has none, nor has one that failed before it came. */
static struct recorded_receive *matched(MPI_Request handle, const MPI_Status *status, int error)
{
    struct recorded_receive *receive = receive_of(handle);
    int cancelled = 0;
    if (!receive || !pse_message_came(error) || status->MPI_SOURCE == MPI_ANY_SOURCE)
        return receive;
    PMPI_Test_cancelled(status, &cancelled);
    if (!cancelled) {
        pse_decisions_of(&decisions)[receive->place].source = status->MPI_SOURCE;
        pse_decisions_of(&decisions)[receive->place].tag = status->MPI_TAG;
    }
    return receive;
}

static void completed(MPI_Request handle, const MPI_Status *status, int error)
{
    struct recorded_receive *receive = matched(handle, status, error);
    if (receive && !receive->persistent)
        forgotten(handle);
}

static void all_completed(int n, const struct pse_request_snapshot *snapshot, int returned)
{
    int error;
    for (int i = 0; i < n; i++)
        if (pse_snapshot_ended(returned, &snapshot->statuses[i], &error))
            completed(snapshot->requests[i], &snapshot->statuses[i], error);
}

static void tested(uint16_t call, int flag, int requests)
{
    note((struct pse_decision){.call = call, .flag = flag != 0, .requests = (uint32_t)requests});
}

static void any_completed(uint16_t call, int flag, int index, int requests,
                          const struct pse_request_snapshot *snapshot, const MPI_Status *status, int returned)
{
    bool one = flag && index != MPI_UNDEFINED;
    note((struct pse_decision){.call = call,
                               .flag = flag != 0,
                               .index = one ? index : DECIDED_NONE,
                               .requests = (uint32_t)requests});
    if (one)
        completed(snapshot->requests[index], status, returned);
}

static void some_completed(uint16_t call, int n, const int indices[], int requests,
                           const struct pse_request_snapshot *snapshot, int returned)
{
    int error, found = n == MPI_UNDEFINED ? DECIDED_NONE : n;
    note((struct pse_decision){
        .call = call, .flag = found > 0, .count = found, .requests = (uint32_t)requests});
    for (int i = 0; i < found; i++) {
        note((struct pse_decision){.call = DECIDED_COMPLETED, .index = indices[i]});
        if (pse_snapshot_ended(returned, &snapshot->statuses[i], &error))
            completed(snapshot->requests[indices[i]], &snapshot->statuses[i], error);
    }
}

/* The order in which threads come is nobody's to repeat: say so once. */
static void notice_threads(void)
{
    static pthread_t first;
    static bool known, said;
    if (known && !said && !pthread_equal(first, pthread_self())) {
        said = true;
        pse_tool_warn("several threads call MPI, and the order of their calls is not recorded: a replay may "
                      "take another course");
    }
    first = known ? first : pthread_self();
    known = true;
}

/* Start and end. */

static void record_start(int returned)
{
    int rank, ranks, error;
    char path[4096];
    if (recording || returned != MPI_SUCCESS || !pse_tool_argument("directory") || pse_tool_was_spawned())
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct pse_decision_header header = {.magic = "PSEORDER",
                                         .version = PSE_DECISION_VERSION,
                                         .header_size = sizeof header,
                                         .entry_size = sizeof(struct pse_decision),
                                         .rank = (uint32_t)rank,
                                         .ranks = (uint32_t)ranks};
    header.run = (uint64_t)time(NULL) << 32 ^ (uint64_t)getpid() << 20 ^ (uint64_t)clock();
    PMPI_Bcast(&header.run, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    pse_tool_make_directory(pse_tool_argument("directory"));
    pse_tool_remove_older_files(pse_tool_argument("directory"), ".order", ranks);
    pse_tool_remove_older_files(pse_tool_argument("directory"), ".order.part", ranks);
    pse_decision_path(path, sizeof path, pse_tool_argument("directory"), rank);
    unlink(path); /* An older run's: what is there after a crash would not be this one's. */
    error = pse_decision_log_open(&decisions, path, header);
    recording = !error;
    if (error)
        pse_tool_warn("the decisions of this run can't be written to %s: %s", decisions.path,
                      strerror(error));
}

static void record_finish(int aborted)
{
    if (!recording)
        return;
    recording = false;
    decisions.header->aborted = (uint32_t)aborted;
    int error = pse_decision_log_close(&decisions);
    if (error)
        pse_tool_warn("the decisions of this run can't be written to %s: %s", decisions.path,
                      strerror(error));
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *given)
{
    pse_tool_stack = given;
    if (pse_tool_argument("directory"))
        return 0;
    return pse_tool_refuse("no directory to write to: give it as `argument directory DIR` below `module "
                           "record` in a configuration");
}

/* What wrappers do after a call; after one that succeeded; after one that has got a message, from anybody. */
#define DONE(code)                                                                                           \
    if (recording) {                                                                                         \
        pthread_mutex_lock(&mutex);                                                                          \
        notice_threads();                                                                                    \
        code;                                                                                                \
        pthread_mutex_unlock(&mutex);                                                                        \
    }
#define NOTE(code) DONE(if (returned == MPI_SUCCESS) { code; })
#define WILD(source, code) NOTE(if ((source) == MPI_ANY_SOURCE) code)
#define GOT(source, code) DONE(if ((source) == MPI_ANY_SOURCE && pse_message_came(returned)) code)
#define TOOL_ENTER(name)
#define TOOL_LEAVE(name)
#include "record_wrappers.c"
