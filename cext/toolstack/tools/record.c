/* The tool `record`: notes how the run decided what MPI leaves open, so that the tool `replay` can have it
 * decided the same way again.
 *
 * Open are: which sender a receive or probe with MPI_ANY_SOURCE is matched with, and which requests a test or
 * a wait for any or some finds complete.  Everything else follows from the program and these.  A receive that
 * is posted takes its place in the order when it is posted; what it got is filled in when it completes.
 *
 * Not noted: one-sided operations, files, and which thread comes first (MPI_THREAD_MULTIPLE).
 *
 * Argument: directory.  May touch: rank-RRRRR.order in it, whose name ends in .part until the rank has ended.
 */
#define _GNU_SOURCE
#define TOOL_NAME "record"
#include "tool.h"

#include <pthread.h>
#include <time.h>

#include "directory.h"
#include "ending.h"
#include "handles.h"
#include "kept.h"
#include "order.h"

static struct order_file order;
static bool recording;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* A receive from anybody: where in the order it is. */
struct receive {
    struct handle_node node;
    size_t place;
    bool persistent;
    int tag;
};

static struct handles receives;

/* Whether equal entries in a row may be one: tests and probes that found nothing. */
static bool may_repeat(const struct order_entry *entry)
{
    return !entry->flag &&
           ((entry->call >= ORDER_TEST && entry->call <= ORDER_TESTSOME) || entry->call == ORDER_GET_STATUS ||
            entry->call == ORDER_IPROBE || entry->call == ORDER_IMPROBE);
}

static void grow(void)
{
    const int error = order_grow(&order, 2 * order.bytes);
    if (!error)
        return;
    tool_say("the order of this run can't be written to %s: %s", order.path, strerror(error));
    end_job(1);
}

/* Append an entry, or count it as one more of the last; returns its place. */
static size_t note(struct order_entry entry)
{
    const size_t count = order.header->entries;
    struct order_entry *last = count ? &order_entries(&order)[count - 1] : NULL;
    entry.repeat = last ? last->repeat : 1;
    if (last && may_repeat(&entry) && last->repeat < UINT32_MAX && memcmp(last, &entry, sizeof entry) == 0) {
        last->repeat++;
        return count - 1;
    }
    if (!order_has_room(&order))
        grow();
    entry.repeat = 1;
    order_entries(&order)[count] = entry;
    __atomic_store_n(&order.header->entries, count + 1, __ATOMIC_RELEASE);
    return count;
}

static void received(uint16_t call, int asked_tag, const MPI_Status *status)
{
    note((struct order_entry){.call = call,
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
        note((struct order_entry){.call = call, .asked_tag = asked_tag});
}

static size_t pending(uint16_t call, int asked_tag)
{
    return note((struct order_entry){
        .call = call, .flag = 1, .source = ORDER_NONE, .tag = ORDER_NONE, .asked_tag = asked_tag});
}

static struct receive *remember(int asked_tag, MPI_Request handle, bool persistent)
{
    struct receive *receive = calloc(1, sizeof *receive);
    *receive = (struct receive){.persistent = persistent, .tag = asked_tag};
    handles_add(&receives, PSE_HANDLE(handle), receive);
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
    struct receive *receive = handles_find(&receives, PSE_HANDLE(handle));
    if (receive)
        receive->place = pending(ORDER_START, receive->tag);
}

static void forgotten(MPI_Request handle)
{
    free(handles_take(&receives, PSE_HANDLE(handle)));
}

/* A receive's message is known; a cancelled one has none. */
static struct receive *matched(MPI_Request handle, const MPI_Status *status)
{
    struct receive *receive = handle == MPI_REQUEST_NULL ? NULL : handles_find(&receives, PSE_HANDLE(handle));
    int cancelled = 0;
    if (!receive || status->MPI_SOURCE == MPI_ANY_SOURCE)
        return receive;
    PMPI_Test_cancelled(status, &cancelled);
    if (!cancelled) {
        order_entries(&order)[receive->place].source = status->MPI_SOURCE;
        order_entries(&order)[receive->place].tag = status->MPI_TAG;
    }
    return receive;
}

static void completed(MPI_Request handle, const MPI_Status *status)
{
    struct receive *receive = matched(handle, status);
    if (receive && !receive->persistent)
        forgotten(handle);
}

static void all_completed(int n, const struct kept *kept)
{
    for (int i = 0; i < n; i++)
        completed(kept->requests[i], &kept->statuses[i]);
}

static void tested(uint16_t call, int flag, int requests)
{
    note((struct order_entry){.call = call, .flag = flag != 0, .requests = (uint32_t)requests});
}

static void any_completed(uint16_t call, int flag, int index, int requests, const struct kept *kept,
                          const MPI_Status *status)
{
    bool one = flag && index != MPI_UNDEFINED;
    note((struct order_entry){
        .call = call, .flag = flag != 0, .index = one ? index : ORDER_NONE, .requests = (uint32_t)requests});
    if (one)
        completed(kept->requests[index], status);
}

static void some_completed(uint16_t call, int n, const int indices[], int requests, const struct kept *kept)
{
    int found = n == MPI_UNDEFINED ? ORDER_NONE : n;
    note((struct order_entry){
        .call = call, .flag = found > 0, .count = found, .requests = (uint32_t)requests});
    for (int i = 0; i < found; i++) {
        note((struct order_entry){.call = ORDER_COMPLETED, .index = indices[i]});
        completed(kept->requests[indices[i]], &kept->statuses[i]);
    }
}

/* The order in which threads come is nobody's to repeat: say so once. */
static void notice_threads(void)
{
    static pthread_t first;
    static bool known, said;
    if (known && !said && !pthread_equal(first, pthread_self())) {
        said = true;
        tool_say("several threads call MPI, in an order that is not recorded: a replay may go another way");
    }
    first = known ? first : pthread_self();
    known = true;
}

/* Start and end. */

static void record_start(int returned)
{
    int rank, ranks, error;
    MPI_Comm parent;
    char path[4096];
    PMPI_Comm_get_parent(&parent);
    if (recording || returned != MPI_SUCCESS || !tool_argument("directory") || parent != MPI_COMM_NULL)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct order_header header = {.magic = "PSEORDER",
                                  .version = ORDER_VERSION,
                                  .header_size = sizeof header,
                                  .entry_size = sizeof(struct order_entry),
                                  .rank = (uint32_t)rank,
                                  .ranks = (uint32_t)ranks};
    header.run = (uint64_t)time(NULL) << 32 ^ (uint64_t)getpid() << 20 ^ (uint64_t)clock();
    PMPI_Bcast(&header.run, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    directory_make(tool_argument("directory"));
    directory_remove_older(tool_argument("directory"), ".order", ranks);
    directory_remove_older(tool_argument("directory"), ".order.part", ranks);
    order_path(path, sizeof path, tool_argument("directory"), rank);
    unlink(path); /* An older run's: what is there after a crash would not be this one's. */
    error = order_open(&order, path, header);
    recording = !error;
    if (error)
        tool_say("the order of this run can't be written to %s: %s", order.path, strerror(error));
}

static void record_finish(int aborted)
{
    if (!recording)
        return;
    recording = false;
    order.header->aborted = (uint32_t)aborted;
    int error = order_close(&order);
    if (error)
        tool_say("the order of this run can't be written to %s: %s", order.path, strerror(error));
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *given)
{
    tools = given;
    if (tool_argument("directory"))
        return 0;
    return tool_refuse("no directory to write to: give it as `argument directory DIR`");
}

/* What wrappers do after a call that succeeded; the second: if the receive is from anybody. */
#define NOTE(code)                                                                                           \
    if (recording && returned == MPI_SUCCESS) {                                                              \
        pthread_mutex_lock(&mutex);                                                                          \
        notice_threads();                                                                                    \
        code;                                                                                                \
        pthread_mutex_unlock(&mutex);                                                                        \
    }
#define WILD(source, code) NOTE(if ((source) == MPI_ANY_SOURCE) code)
#define TOOL_ENTER(name)
#define TOOL_LEAVE(name)
#include "record_wrappers.h"
