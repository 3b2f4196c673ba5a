/* The tool `piggyback`: bytes of other tools ride along with every message from process to process.
 *
 * A message and what rides with it are one: each send and receive is made with a datatype of two parts, the
 * riders' bytes and the program's buffer, both at their absolute addresses.  So MPI itself matches them, with
 * wildcards, probes, threads, in any order, and a message that is cancelled takes its riders along.  (A
 * second message on a communicator beside can't be matched like the first as soon as wildcards and threads
 * meet.) What tools below see is the longer message; statuses are put right for those above.
 *
 * Bytes of all riders that want a communicator follow each other in the order in which they have asked, which
 * is the same in all processes, as their configuration is.
 *
 * Not carried: collective operations, one-sided ones, partitioned messages, messages to MPI_PROC_NULL.
 * Calls that MPI will refuse for their arguments are handed on as they are.
 *
 * May touch: the arguments and statuses of messages, attached buffers (which become larger).
 */
#define TOOL_NAME "piggyback"
#include "tool.h"

#include "handles.h"
#include "kept.h"
#include "piggyback_buffers.h"
#include "piggyback_parcels.h"

static struct handles parcels, probed_messages;

/* Receives ----------------------------------------------------------------------------------------------- */

/* The program is told of its own bytes. */
static void put_right(MPI_Status *status, size_t bytes)
{
    MPI_Count all = 0;
    if (status == MPI_STATUS_IGNORE || status->MPI_SOURCE == MPI_PROC_NULL)
        return;
    PMPI_Get_elements_x(status, MPI_BYTE, &all);
    if (all >= (MPI_Count)bytes)
        PMPI_Status_set_elements_x(status, MPI_BYTE, all - (MPI_Count)bytes);
}

/* A message has come, or the receive has failed or was cancelled. */
static void arrives(const struct parcel *parcel, MPI_Status *status, int error)
{
    int cancelled = 0;
    if (!parcel->receives)
        return;
    if (error == MPI_SUCCESS)
        PMPI_Test_cancelled(status, &cancelled);
    if (cancelled)
        return;
    put_right(status, parcel->bytes);
    if (error == MPI_SUCCESS)
        get_off(parcel, status);
}

static void probed(MPI_Comm comm, MPI_Status *status)
{
    put_right(status, bytes_on(comm));
}

/* Matched probes: the message remembers its communicator. */
struct matched {
    struct handle_node node;
    MPI_Comm comm;
};

static void matched(MPI_Message handle, MPI_Comm comm, MPI_Status *status)
{
    struct matched *message =
        handle == MPI_MESSAGE_NO_PROC || !rider_count ? NULL : calloc(1, sizeof *message);
    if (!message)
        return;
    probed(comm, status);
    message->comm = comm;
    pthread_mutex_lock(&mutex);
    handles_add(&probed_messages, PSE_HANDLE(handle), message);
    pthread_mutex_unlock(&mutex);
}

static MPI_Comm taken(MPI_Message handle)
{
    pthread_mutex_lock(&mutex);
    struct matched *message = handles_take(&probed_messages, PSE_HANDLE(handle));
    pthread_mutex_unlock(&mutex);
    const MPI_Comm comm = message ? message->comm : MPI_COMM_NULL;
    free(message);
    return comm;
}

/* Requests ----------------------------------------------------------------------------------------------- */

/* A parcel that outlives the call.  (Without memory nothing could ride, and the partner would not know.) */
static struct parcel *new_parcel(MPI_Comm comm)
{
    struct parcel *parcel = bytes_on(comm) ? malloc(sizeof *parcel) : NULL;
    if (parcel)
        start_parcel(parcel, comm);
    else if (bytes_on(comm)) {
        tool_say("there is no memory for what rides with a message");
        PMPI_Abort(comm, 1);
    }
    return parcel;
}

/* Ends a call that has made a request. */
static void remember(struct parcel *parcel, MPI_Request handle, bool persistent, int error)
{
    if (!parcel)
        return;
    if (error != MPI_SUCCESS) {
        free_parcel(parcel);
        return;
    }
    parcel->persistent = persistent;
    pthread_mutex_lock(&mutex);
    handles_add(&parcels, PSE_HANDLE(handle), parcel);
    pthread_mutex_unlock(&mutex);
}

static struct parcel *parcel_of(MPI_Request handle, bool take)
{
    if (handle == MPI_REQUEST_NULL || !rider_count)
        return NULL;
    pthread_mutex_lock(&mutex);
    struct parcel *parcel = handles_find(&parcels, PSE_HANDLE(handle));
    if (parcel && (take || !parcel->persistent))
        handles_take(&parcels, PSE_HANDLE(handle));
    pthread_mutex_unlock(&mutex);
    return parcel;
}

static void started(MPI_Request handle)
{
    pthread_mutex_lock(&mutex);
    struct parcel *parcel = handles_find(&parcels, PSE_HANDLE(handle));
    pthread_mutex_unlock(&mutex);
    if (parcel)
        leaves(parcel);
}

static void completed(MPI_Request handle, MPI_Status *status, int error)
{
    struct parcel *parcel = parcel_of(handle, false);
    if (!parcel)
        return;
    if (parcel->active)
        arrives(parcel, status, error);
    parcel->active = false;
    if (!parcel->persistent)
        free_parcel(parcel);
}

/* MPI goes on with an active communication, so its bytes stay. */
static void forgotten(MPI_Request handle)
{
    struct parcel *parcel = parcel_of(handle, true);
    if (!parcel)
        return;
    free_types(parcel);
    if (!parcel->active)
        free_parcel(parcel);
}

/* Looks at a request that remains. */
static void looked_at(MPI_Request handle, MPI_Status *status)
{
    int cancelled = status == MPI_STATUS_IGNORE;
    if (!cancelled)
        PMPI_Test_cancelled(status, &cancelled);
    pthread_mutex_lock(&mutex);
    const struct parcel *parcel = cancelled ? NULL : handles_find(&parcels, PSE_HANDLE(handle));
    if (parcel && parcel->receives && parcel->active)
        put_right(status, parcel->bytes);
    pthread_mutex_unlock(&mutex);
}

/* What became of request i of several. */
static int error_of(int returned, const MPI_Status *status)
{
    int class = MPI_SUCCESS;
    PMPI_Error_class(returned, &class);
    return class == MPI_ERR_IN_STATUS ? status->MPI_ERROR : returned;
}

static void all_completed(int n, struct kept *kept, int returned)
{
    for (int i = 0; i < n; i++) {
        int class = MPI_SUCCESS, error = error_of(returned, &kept->statuses[i]);
        PMPI_Error_class(error, &class);
        if (class != MPI_ERR_PENDING)
            completed(kept->requests[i], &kept->statuses[i], error);
    }
}

static void one_completed(int flag, int which, struct kept *kept, MPI_Status *status, int returned)
{
    if (flag && which != MPI_UNDEFINED)
        completed(kept->requests[which], status, returned);
}

static void some_completed(int n, const int which[], struct kept *kept, int returned)
{
    for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
        completed(kept->requests[which[i]], &kept->statuses[i], error_of(returned, &kept->statuses[i]));
}

/* The start, and the code of wrappers (piggyback.def), with MPI's names of parameters.
 * ---------------------------------- */

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *table)
{
    tools = table;
    tools->publish(tools->self, PSE_PIGGYBACK, PSE_PIGGYBACK_SIGNATURE, (pse_function)ride);
    return 0;
}

#define OUT(buffer, count, type, tag)                                                                        \
    if (parcel && goes_out(parcel, buffer, count, type, dest, tag))                                          \
    buffer = MPI_BOTTOM, count = 1, type = parcel->out_type
#define IN(buffer, count, type, tag)                                                                         \
    if (parcel && comes_in(parcel, buffer, count, type, source, tag))                                        \
    buffer = MPI_BOTTOM, count = 1, type = parcel->in_type
#define REPLACE                                                                                              \
    if (parcel && is_replaced(parcel, buf, count, datatype, dest, sendtag, source, recvtag))                 \
    buf = MPI_BOTTOM, count = 1, datatype = parcel->in_type
#define EXCHANGED                                                                                            \
    PMPI_Isendrecv(MPI_BOTTOM, parcel->sends, parcel->sends ? parcel->out_type : MPI_BYTE, dest, sendtag,    \
                   MPI_BOTTOM, parcel->receives, parcel->receives ? parcel->in_type : MPI_BYTE, source,      \
                   recvtag, comm, request)
#define PARCEL                                                                                               \
    struct parcel here, *parcel = &here;                                                                     \
    start_parcel(parcel, comm)
#define LASTING struct parcel *parcel = new_parcel(comm)
#define LEAVES                                                                                               \
    if (parcel)                                                                                              \
    leaves(parcel)
#define ARRIVES                                                                                              \
    arrives(parcel, status, returned);                                                                       \
    free_types(parcel)
#define ATTACH                                                                                               \
    void *used = attach_larger(buffer, size, sizeof size > sizeof(int) ? INT64_MAX : INT_MAX);               \
    const MPI_Count given = size;                                                                            \
    if (used)                                                                                                \
    size = larger(given), buffer = used
#define ATTACHED                                                                                             \
    if (used && returned != MPI_SUCCESS)                                                                     \
    free(detach_larger(used))
#define DETACHED                                                                                             \
    struct attached *own = returned == MPI_SUCCESS ? detach_larger(*(void **)buffer_addr) : NULL;            \
    if (own)                                                                                                 \
        *(void **)buffer_addr = own->given, *size = own->size;                                               \
    free(own)
#define TOOL_ENTER(name)
#define TOOL_LEAVE(name)
#pragma GCC diagnostic ignored "-Wconversion" /* Counts have two types. */
#include "piggyback_wrappers.h"
