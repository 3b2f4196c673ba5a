/* The tool `replay`: has a run decided as the tool `record` noted it.
 *
 * A receive or probe from anybody becomes one from the recorded sender with the recorded tag; a test that
 * found nothing finds nothing, one that found something waits for it.  With the same program and input, MPI's
 * order of messages between two ranks does the rest.  A call that isn't the one that was recorded ends the
 * job and says so.
 *
 * Argument: directory.  May touch: reads rank-RRRRR.order in it.
 */
#define _GNU_SOURCE
#define TOOL_NAME "replay"
#include "tool.h"

#include <pthread.h>
#include <stdarg.h>

#include "ending.h"
#include "handles.h"
#include "kept.h"
#include "order.h"
#include "site.h"

static struct order_entry *entries;
static struct order_header header;
static size_t place;      /* of the next entry */
static uint32_t repeated; /* times that it was followed already */
static uint64_t calls;    /* followed so far */
static bool replaying;
static MPI_Comm nobody = MPI_COMM_NULL; /* for receives that never got a message */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Divergence. */

static void __attribute__((noreturn, format(printf, 1, 2))) diverge(const char *format, ...)
{
    struct site site;
    char where[PATH_MAX], what[256];
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    site_take(&site);
    site_text(&site, where, sizeof where);
    tool_say("call %llu of those that were recorded: %s, at %s; this is another program, input or number of "
             "threads "
             "than was recorded",
             (unsigned long long)calls + 1, what, where);
    end_job(1);
}

/* The next entry, which must be this call. */
static struct order_entry next(unsigned call, int asked_tag, int requests)
{
    if (place == header.entries)
        diverge("the recorded run had no more of them, the program calls %s", order_name(call));
    struct order_entry entry = entries[place];
    if (entry.call != call)
        diverge("recorded is %s, the program calls %s", order_name(entry.call), order_name(call));
    if (entry.asked_tag != asked_tag)
        diverge("recorded is %s with tag %d, the program asks for tag %d", order_name(call), entry.asked_tag,
                asked_tag);
    if (entry.requests != (uint32_t)requests)
        diverge("recorded is %s with %u requests, the program has %d", order_name(call), entry.requests,
                requests);
    calls++;
    if (++repeated == entry.repeat) {
        repeated = 0;
        place++;
    }
    return entry;
}

/* Where the recorded run was aborted or killed, nothing is decided any more. */
static bool still_replaying(void)
{
    if (replaying && header.aborted && place == header.entries) {
        tool_say("here the recorded run was ended by MPI_Abort, or killed; nothing is decided from here on");
        replaying = false;
    }
    return replaying;
}

/* Receives and probes. */

static void direct(unsigned call, int *source, int *tag, MPI_Comm *comm)
{
    if (*source != MPI_ANY_SOURCE || !still_replaying())
        return;
    site_lock(&mutex);
    struct order_entry entry = next(call, *tag, 0);
    pthread_mutex_unlock(&mutex);
    bool never = entry.source == ORDER_NONE;
    if (never && header.aborted)
        return; /* It waited for a message when the recorded run ended. */
    *source = never ? 0 : entry.source;
    *tag = never ? 0 : entry.tag;
    *comm = never ? nobody : *comm;
}

static int replay_iprobe(int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct order_entry entry = next(ORDER_IPROBE, tag, 0);
    *flag = entry.flag;
    return entry.flag ? PMPI_Probe(entry.source, entry.tag, comm, status) : MPI_SUCCESS;
}

static int replay_improbe(int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    struct order_entry entry = next(ORDER_IMPROBE, tag, 0);
    *flag = entry.flag;
    return entry.flag ? PMPI_Mprobe(entry.source, entry.tag, comm, message, status) : MPI_SUCCESS;
}

/* Tests and waits. */

static int replay_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    *flag = next(ORDER_TEST, 0, 1).flag;
    return *flag ? PMPI_Wait(request, status) : MPI_SUCCESS;
}

static int replay_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    int error = MPI_SUCCESS, wanted = next(ORDER_GET_STATUS, 0, 1).flag;
    *flag = 0;
    while (wanted && !*flag && error == MPI_SUCCESS)
        error = PMPI_Request_get_status(request, flag, status);
    return error;
}

static int replay_testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    *flag = next(ORDER_TESTALL, 0, n).flag;
    return *flag ? PMPI_Waitall(n, requests, statuses) : MPI_SUCCESS;
}

/* `flag` is NULL for MPI_Waitany. */
static int replay_any(unsigned call, int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    struct order_entry entry = next(call, 0, n);
    if (flag)
        *flag = entry.flag;
    *index = MPI_UNDEFINED;
    if (!entry.flag)
        return MPI_SUCCESS;
    if (entry.index == ORDER_NONE)
        return PMPI_Waitany(n, requests, index, status);
    *index = entry.index;
    return PMPI_Wait(&requests[entry.index], status);
}

static int replay_some(unsigned call, int n, MPI_Request requests[], int *found, int indices[],
                       MPI_Status statuses[])
{
    struct order_entry entry = next(call, 0, n);
    *found = entry.count == ORDER_NONE ? MPI_UNDEFINED : entry.count;
    for (int i = 0; i < entry.count; i++) {
        indices[i] = next(ORDER_COMPLETED, 0, 0).index;
        calls--; /* Not a call of its own. */
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        int error = PMPI_Wait(&requests[indices[i]], status);
        if (error != MPI_SUCCESS)
            return error;
    }
    return MPI_SUCCESS;
}

/* Persistent receives from anybody. */

struct stand_in {
    struct handle_node node;
    void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
    int tag;
    MPI_Comm comm;
    MPI_Request request; /* while it is started */
};

static struct handles stand_ins;

static struct stand_in *find_stand_in(MPI_Request handle)
{
    return handle == MPI_REQUEST_NULL ? NULL : handles_find(&stand_ins, PSE_HANDLE(handle));
}

static void made(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Request handle)
{
    if (source != MPI_ANY_SOURCE)
        return;
    struct stand_in *made = calloc(1, sizeof *made);
    *made = (struct stand_in){
        .buffer = buffer, .count = count, .tag = tag, .comm = comm, .request = MPI_REQUEST_NULL};
    PMPI_Type_dup(datatype, &made->datatype); /* The program may free its own. */
    handles_add(&stand_ins, PSE_HANDLE(handle), made);
}

static int post(struct stand_in *one)
{
    int source = MPI_ANY_SOURCE, tag = one->tag;
    MPI_Comm comm = one->comm;
    direct(ORDER_START, &source, &tag, &comm);
#if MPI_VERSION >= 4
    return PMPI_Irecv_c(one->buffer, one->count, one->datatype, source, tag, comm, &one->request);
#else
    return PMPI_Irecv(one->buffer, (int)one->count, one->datatype, source, tag, comm, &one->request);
#endif
}

static int replay_start_request(MPI_Request *request)
{
    struct stand_in *one = find_stand_in(*request);
    return one ? post(one) : PMPI_Start(request);
}

static int replay_start_requests(int n, MPI_Request requests[])
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < n && error == MPI_SUCCESS; i++)
        error = replay_start_request(&requests[i]);
    return error;
}

static MPI_Request stand_in(MPI_Request request)
{
    struct stand_in *one = find_stand_in(request);
    return one ? one->request : request;
}

static void free_stand_in(MPI_Request handle)
{
    struct stand_in *one = find_stand_in(handle) ? handles_take(&stand_ins, PSE_HANDLE(handle)) : NULL;
    if (!one)
        return;
    if (one->request != MPI_REQUEST_NULL)
        PMPI_Request_free(&one->request);
    PMPI_Type_free(&one->datatype);
    free(one);
}

/* During a call the stand-in is in the request's place. */
static MPI_Request swap_in(MPI_Request *request)
{
    MPI_Request given = *request;
    *request = stand_in(given);
    return given;
}

static void swap_out(MPI_Request *request, MPI_Request given)
{
    struct stand_in *one = find_stand_in(given);
    if (!one)
        return;
    one->request = *request;
    *request = given;
}

/* Start and end. */

/* Say what is wrong with this rank's file; 0 if it can be followed. */
static int load(int rank, int ranks)
{
    char path[4096];
    const char *problem = NULL;
    order_path(path, sizeof path, tool_argument("directory"), rank);
    entries = order_load(path, rank, ranks, &header, &problem);
    uint64_t first_run = header.run;
    PMPI_Bcast(&first_run, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!problem && first_run && header.run != first_run)
        problem = "it is of another run than the file of rank 0";
    if (problem)
        tool_say("%s can't be replayed: %s", path, problem);
    return problem != NULL;
}

static void replay_start(int returned)
{
    int rank, ranks, failed, any;
    MPI_Comm parent;
    PMPI_Comm_get_parent(&parent);
    if (replaying || returned != MPI_SUCCESS || !tool_argument("directory") || parent != MPI_COMM_NULL)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    failed = load(rank, ranks);
    PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any) {
        PMPI_Barrier(MPI_COMM_WORLD); /* All have said what they have to say. */
        if (rank == 0)
            end_job(2);
        PMPI_Barrier(MPI_COMM_WORLD); /* Until the job has ended. */
    }
    PMPI_Comm_dup(MPI_COMM_SELF, &nobody);
    replaying = true;
}

static void replay_finish(void)
{
    if (still_replaying() && place < header.entries)
        diverge("recorded is %s, the program ends", order_name(entries[place].call));
    replaying = false;
    if (nobody != MPI_COMM_NULL)
        PMPI_Comm_free(&nobody);
    free(entries);
    entries = NULL;
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *given)
{
    tools = given;
    const char *directory = tool_argument("directory");
    if (directory && access(directory, R_OK | X_OK) == 0)
        return 0;
    return directory ? tool_refuse("no record in %s: %s", directory, strerror(errno))
                     : tool_refuse("no directory to read from: give it as `argument directory DIR`");
}

/* What wrappers do. */
#define DIRECT(call, source, tag) direct(call, &source, &tag, &comm)
#define STANDS_IN(code)                                                                                      \
    if (replaying && returned == MPI_SUCCESS)                                                                \
    code
#define KEEP_SWAPPED(count)                                                                                  \
    KEEP_ALL(count);                                                                                         \
    for (int i = 0; i < (count); i++)                                                                        \
    swap_in(&array_of_requests[i])
#define SWAP_OUT(count)                                                                                      \
    for (int i = 0; i < (count); i++)                                                                        \
        swap_out(&array_of_requests[i], kept.requests[i]);                                                   \
    keep_end(&kept)
#define TOOL_ENTER(name)
#define TOOL_LEAVE(name)
#include "replay_wrappers.h"
