/* The tool `piggyback`: headers of other tools travel with every message from process to process.
 *
 * A message and its headers are one: each send and receive is made with a datatype of two parts, the
 * headers' bytes and the program's buffer, both at their absolute addresses.  So MPI itself matches them,
 * with wildcards, probes, threads, in any order, and a message that is cancelled takes its headers along.  (A
 * second message on another communicator can't be matched like the first as soon as wildcards and threads
 * meet.)  What tools below see is the longer message; statuses are put right for those above.
 *
 * Headers follow each other in the order in which they were registered, which is the same in all processes,
 * as their configuration is.
 *
 * Not carried: collective operations, one-sided ones, partitioned messages, messages to MPI_PROC_NULL.
 * Calls that MPI will refuse for their arguments are handed on as they are.
 */
#include "attached_buffers.h"
#include "handle_table.h"
#include "headers.h"
#include "message.h"
#include "request_snapshot.h"
#include "tool.h"

#include <limits.h>

static struct pse_handle_table carried_messages, probed_messages;

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
static void arrived(const struct piggyback_message *carried, MPI_Status *status, int error)
{
    int cancelled = 0;
    if (!carried->receives)
        return;
    if (error == MPI_SUCCESS)
        PMPI_Test_cancelled(status, &cancelled);
    if (cancelled)
        return;
    put_right(status, carried->bytes);
    if (error == MPI_SUCCESS)
        pse_piggyback_read(carried, status);
}

static void probed(MPI_Comm comm, MPI_Status *status)
{
    put_right(status, pse_piggyback_bytes_on(comm));
}

/* Matched probes: the message remembers its communicator. */
struct matched_message {
    struct pse_handle_node node;
    MPI_Comm comm;
};

static void matched(MPI_Message handle, MPI_Comm comm, MPI_Status *status)
{
    struct matched_message *message =
        handle == MPI_MESSAGE_NO_PROC || !pse_piggyback_count ? NULL : calloc(1, sizeof *message);
    if (!message)
        return;
    probed(comm, status);
    message->comm = comm;
    pthread_mutex_lock(&pse_piggyback_mutex);
    pse_handle_add(&probed_messages, PSE_HANDLE(handle), message);
    pthread_mutex_unlock(&pse_piggyback_mutex);
}

static MPI_Comm taken(MPI_Message handle)
{
    pthread_mutex_lock(&pse_piggyback_mutex);
    struct matched_message *message = pse_handle_take(&probed_messages, PSE_HANDLE(handle));
    pthread_mutex_unlock(&pse_piggyback_mutex);
    const MPI_Comm comm = message ? message->comm : MPI_COMM_NULL;
    free(message);
    return comm;
}

/* Requests ----------------------------------------------------------------------------------------------- */

/* A message that outlives the call.  (Without memory it would have no headers, and the partner would not
 * know.) */
static struct piggyback_message *new_message(MPI_Comm comm)
{
    struct piggyback_message *carried = pse_piggyback_bytes_on(comm) ? malloc(sizeof *carried) : NULL;
    if (carried)
        pse_piggyback_begin(carried, comm);
    else if (pse_piggyback_bytes_on(comm)) {
        pse_tool_warn("there is no memory for the headers of a message");
        PMPI_Abort(comm, 1);
    }
    return carried;
}

/* Ends a call that has made a request. */
static void remember(struct piggyback_message *carried, MPI_Request handle, bool persistent, int error)
{
    if (!carried)
        return;
    if (error != MPI_SUCCESS) {
        pse_piggyback_free(carried);
        return;
    }
    carried->persistent = persistent;
    pthread_mutex_lock(&pse_piggyback_mutex);
    pse_handle_add(&carried_messages, PSE_HANDLE(handle), carried);
    pthread_mutex_unlock(&pse_piggyback_mutex);
}

static struct piggyback_message *message_of(MPI_Request handle, bool take)
{
    if (handle == MPI_REQUEST_NULL || !pse_piggyback_count)
        return NULL;
    pthread_mutex_lock(&pse_piggyback_mutex);
    struct piggyback_message *carried = pse_handle_find_own(&carried_messages, PSE_HANDLE(handle));
    if (carried && (take || !carried->persistent))
        pse_handle_take(&carried_messages, PSE_HANDLE(handle));
    pthread_mutex_unlock(&pse_piggyback_mutex);
    return carried;
}

static void started(MPI_Request handle)
{
    pthread_mutex_lock(&pse_piggyback_mutex);
    struct piggyback_message *carried = pse_handle_find_own(&carried_messages, PSE_HANDLE(handle));
    pthread_mutex_unlock(&pse_piggyback_mutex);
    if (carried)
        pse_piggyback_fill(carried);
}

static void completed(MPI_Request handle, MPI_Status *status, int error)
{
    struct piggyback_message *carried = message_of(handle, false);
    if (!carried)
        return;
    if (carried->active)
        arrived(carried, status, error);
    carried->active = false;
    if (!carried->persistent)
        pse_piggyback_free(carried);
}

/* MPI goes on with an active communication, so its bytes stay. */
static void forgotten(MPI_Request handle)
{
    struct piggyback_message *carried = message_of(handle, true);
    if (!carried)
        return;
    pse_piggyback_free_types(carried);
    if (!carried->active)
        pse_piggyback_free(carried);
}

/* Looks at a request that remains. */
static void looked_at(MPI_Request handle, MPI_Status *status)
{
    int cancelled = status == MPI_STATUS_IGNORE;
    if (!cancelled)
        PMPI_Test_cancelled(status, &cancelled);
    pthread_mutex_lock(&pse_piggyback_mutex);
    const struct piggyback_message *carried =
        cancelled ? NULL : pse_handle_find_own(&carried_messages, PSE_HANDLE(handle));
    if (carried && carried->receives && carried->active)
        put_right(status, carried->bytes);
    pthread_mutex_unlock(&pse_piggyback_mutex);
}

static void all_completed(int n, struct pse_request_snapshot *snapshot, int returned)
{
    int error;
    for (int i = 0; i < n; i++)
        if (pse_snapshot_ended(returned, &snapshot->statuses[i], &error))
            completed(snapshot->requests[i], &snapshot->statuses[i], error);
}

static void one_completed(int flag, int which, struct pse_request_snapshot *snapshot, MPI_Status *status,
                          int returned)
{
    if (flag && which != MPI_UNDEFINED)
        completed(snapshot->requests[which], status, returned);
}

static void some_completed(int n, const int which[], struct pse_request_snapshot *snapshot, int returned)
{
    int error;
    for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
        if (pse_snapshot_ended(returned, &snapshot->statuses[i], &error))
            completed(snapshot->requests[which[i]], &snapshot->statuses[i], error);
}

/* The start, and the code of wrappers (piggyback.def), with MPI's names of parameters.
 * ---------------------------------- */

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *table)
{
    pse_tool_stack = table;
    pse_tool_stack->publish(pse_tool_stack->self, PSE_PIGGYBACK, PSE_PIGGYBACK_SIGNATURE,
                            (pse_function)pse_piggyback_add);
    return 0;
}

#define OUT(buffer, count, type, tag)                                                                        \
    if (carried && pse_piggyback_goes_out(carried, buffer, count, type, dest, tag))                          \
    buffer = MPI_BOTTOM, count = 1, type = carried->out_type
#define IN(buffer, count, type, tag)                                                                         \
    if (carried && pse_piggyback_comes_in(carried, buffer, count, type, source, tag))                        \
    buffer = MPI_BOTTOM, count = 1, type = carried->in_type
#define REPLACE                                                                                              \
    if (carried && pse_piggyback_is_replaced(carried, buf, count, datatype, dest, sendtag, source, recvtag)) \
    buf = MPI_BOTTOM, count = 1, datatype = carried->in_type
#define EXCHANGED                                                                                            \
    PMPI_Isendrecv(MPI_BOTTOM, carried->sends, carried->sends ? carried->out_type : MPI_BYTE, dest, sendtag, \
                   MPI_BOTTOM, carried->receives, carried->receives ? carried->in_type : MPI_BYTE, source,   \
                   recvtag, comm, request)
#define MESSAGE                                                                                              \
    struct piggyback_message here, *carried = &here;                                                         \
    pse_piggyback_begin(carried, comm)
#define LASTING struct piggyback_message *carried = new_message(comm)
#define FILL                                                                                                 \
    if (carried)                                                                                             \
    pse_piggyback_fill(carried)
#define ARRIVED                                                                                              \
    arrived(carried, status, returned);                                                                      \
    pse_piggyback_free_types(carried)
#define ATTACH                                                                                               \
    void *used = pse_piggyback_attach(buffer, size, sizeof size > sizeof(int) ? INT64_MAX : INT_MAX);        \
    const MPI_Count given = size;                                                                            \
    if (used)                                                                                                \
    size = pse_piggyback_larger(given), buffer = used
#define ATTACHED                                                                                             \
    if (used && returned != MPI_SUCCESS)                                                                     \
    free(pse_piggyback_detach(used))
#define DETACHED                                                                                             \
    struct attached_buffer *own =                                                                            \
        returned == MPI_SUCCESS ? pse_piggyback_detach(*(void **)buffer_addr) : NULL;                        \
    if (own)                                                                                                 \
        *(void **)buffer_addr = own->given, *size = own->size;                                               \
    free(own)
#define TOOL_ENTER(name)
#define TOOL_LEAVE(name)
#pragma GCC diagnostic ignored "-Wconversion" /* Counts have two types. */
#include "piggyback_wrappers.c"
