/* Records of messages and requests, from start to completion. */
#include "requests.h"

#include <string.h>

#include "below.h"
#include "communicators.h"
#include "entries.h"
#include "hot.h"
#include "tool_memory.h"

enum { REQUEST_SLOTS = 32, MESSAGE_SLOTS = 8 }; /* at first */
PSE_TRACE_HOT_TABLE static struct pse_handle_slot request_slots[REQUEST_SLOTS], message_slots[MESSAGE_SLOTS];
PSE_TRACE_HOT_TABLE static struct pse_handle_table requests = {request_slots, REQUEST_SLOTS, 0, false},
                                                   messages = {message_slots, MESSAGE_SLOTS, 0, false};
static struct pse_handle_table channels;
PSE_TRACE_HOT_TABLE static uint32_t request_count;

struct probed_message {
    struct pse_handle_node node;
    MPI_Comm comm;
};

PSE_TRACE_ENTRIES(request_entries, struct trace_request, 8);
PSE_TRACE_ENTRIES(message_entries, struct probed_message, 2);

PSE_TRACE_HOT_CALL void pse_trace_put_send(MPI_Comm comm, uint16_t mode, int partner, int tag, uint64_t bytes)
{
    const struct trace_communicator *on = pse_trace_communicator_of(comm);
    pse_trace_put(pse_trace_now, PSE_EVENT_MPI_SEND, mode, bytes,
                  pse_pair(pse_trace_place(on, partner), (uint32_t)tag), pse_pair(on->number, 0));
}

void pse_trace_send_failed(MPI_Comm comm, int partner, int tag)
{
    if (partner == MPI_PROC_NULL)
        return;
    const struct trace_communicator *on = pse_trace_communicator_of(comm);
    pse_trace_put(pse_trace_now, PSE_EVENT_MPI_REQUEST_CANCEL, 0, 0,
                  pse_pair(pse_trace_place(on, partner), (uint32_t)tag), pse_pair(on->number, 0));
}

/* The bytes of a message. */
#if MPI_VERSION >= 4
BELOW_VARIABLE(MPI_Get_count_c, (const MPI_Status *status, MPI_Datatype type, MPI_Count *count),
               (status, type, count))
#define STATUS_BYTES BELOW_OFTEN(MPI_Get_count_c)
#else
BELOW_VARIABLE(MPI_Get_elements_x, (const MPI_Status *status, MPI_Datatype type, MPI_Count *count),
               (status, type, count))
#define STATUS_BYTES BELOW_OFTEN(MPI_Get_elements_x)
#endif

/* What a status says of a message: it was received, or a probe found it. */
PSE_TRACE_HOT_CALL static void put_found(uint16_t type, uint16_t mode, uint64_t at, uint32_t first_partner,
                                         const MPI_Status *status)
{
    MPI_Count bytes = 0;
    if (status->MPI_SOURCE == MPI_PROC_NULL)
        return;
    STATUS_BYTES(status, MPI_BYTE, &bytes);
    pse_trace_put(pse_trace_now, type, mode, bytes < 0 ? 0 : (uint64_t)bytes,
                  pse_pair(first_partner + (uint32_t)status->MPI_SOURCE, (uint32_t)status->MPI_TAG), at);
}

static void put_found_now(uint16_t type, MPI_Comm comm, const MPI_Status *status)
{
    if (status->MPI_SOURCE == MPI_PROC_NULL)
        return;
    const struct trace_communicator *on = pse_trace_communicator_of(comm);
    put_found(type, 0, pse_pair(on->number, 0), (uint32_t)on->first_partner, status);
}

PSE_TRACE_HOT_CALL void pse_trace_received(MPI_Comm comm, const MPI_Status *status)
{
    put_found_now(PSE_EVENT_MPI_RECEIVE, comm, status);
}

PSE_TRACE_HOT_CALL void pse_trace_probe_ended(MPI_Comm comm, const MPI_Status *status)
{
    put_found_now(PSE_EVENT_MPI_PROBE, comm, status);
}

PSE_TRACE_HOT_CALL void pse_trace_put_awaits(MPI_Comm comm, int partner, int tag)
{
    const struct trace_communicator *on = pse_trace_communicator_of(comm);
    pse_trace_put_provisional(pse_trace_now, PSE_EVENT_MPI_AWAIT, PSE_AWAIT_MESSAGE, 0,
                              pse_pair(pse_trace_place(on, partner), pse_trace_or_none(tag)),
                              pse_pair(on->number, 0));
}

/* Probed messages remember their communicator. */

PSE_TRACE_HOT_CALL void pse_trace_probed(MPI_Message handle, MPI_Comm comm)
{
    if (handle == MPI_MESSAGE_NO_PROC)
        return;
    struct probed_message *message = pse_trace_new_entry(&message_entries);
    message->comm = comm;
    pse_handle_add(&messages, PSE_HANDLE(handle), message);
}

PSE_TRACE_HOT_CALL MPI_Comm pse_trace_message_taken(MPI_Message handle)
{
    struct probed_message *message = pse_handle_take(&messages, PSE_HANDLE(handle));
    MPI_Comm comm = message ? message->comm : MPI_COMM_WORLD;
    pse_trace_end_entry(&message_entries, message);
    return comm;
}

static struct trace_request *request_of(MPI_Request handle)
{
    return pse_handle_find_own(&requests, PSE_HANDLE(handle));
}

/* Starts. */

PSE_TRACE_HOT_CALL struct trace_request *pse_trace_new_request(MPI_Comm comm, MPI_Request handle, int kind)
{
    struct trace_request *made = pse_trace_new_entry(&request_entries);
    made->kind = kind;
    const struct trace_communicator *on = pse_trace_communicator_of(comm);
    made->communicator = on->number;
    made->first_partner = (uint32_t)on->first_partner;
    made->told = MPI_REQUEST_NULL;
    pse_handle_add(&requests, PSE_HANDLE(handle), made);
    return made;
}

static void set_send(struct trace_request *request, struct trace_end send)
{
    request->mode = send.mode;
    request->partner = request->first_partner + (uint32_t)send.partner;
    request->tag = (uint32_t)send.tag;
    request->bytes = send.bytes;
}

static void set_receive(struct trace_request *request, struct trace_end receive)
{
    request->mode |= receive.mode;
    request->from = receive.partner < 0 ? PSE_NONE : request->first_partner + (uint32_t)receive.partner;
    request->receive_tag = pse_trace_or_none(receive.tag);
    request->room = receive.bytes;
}

static uint64_t at(const struct trace_request *request)
{
    return pse_pair(request->communicator, request->number);
}

/* Partitioned messages and others never meet, whatever their tags. */
static uint16_t mode_of_receive(const struct trace_request *request)
{
    return request->mode == PSE_SEND_MODE_PARTITIONED ? request->mode : 0;
}

static void put_send(const struct trace_request *request, uint64_t time)
{
    pse_trace_put(time, PSE_EVENT_MPI_SEND, request->mode, request->bytes,
                  pse_pair(request->partner, request->tag), at(request));
}

PSE_TRACE_HOT_CALL void pse_trace_put_start(struct trace_request *request, uint64_t time)
{
    request->number = ++request_count;
    request->cancelled = false;
    request->ready = 0;
    if (request->channel)
        pse_trace_put(time, PSE_EVENT_MPI_CHANNEL, 0, request->channel, 0, at(request));
    if (request->kind & SENDS && !request->partitions)
        put_send(request, time);
    if (request->kind & RECEIVES)
        pse_trace_put(time, PSE_EVENT_MPI_RECEIVE_POST, mode_of_receive(request), request->room,
                      pse_pair(request->from, request->receive_tag), at(request));
    if (request->kind & COLLECTS)
        pse_trace_put(time, PSE_EVENT_MPI_COLLECTIVE_BEGIN, request->mode, request->root, 0, at(request));
}

/* Operations with MPI_PROC_NULL are requests too, but no messages. */
static int kind_of(int kind, struct trace_end end)
{
    return end.partner == MPI_PROC_NULL ? 0 : kind;
}

struct trace_request *pse_trace_send_made(struct trace_end send, MPI_Request handle)
{
    struct trace_request *made = pse_trace_new_request(send.comm, handle, kind_of(SENDS, send));
    made->persistent = true;
    set_send(made, send);
    return made;
}

PSE_TRACE_HOT_CALL void pse_trace_send_starts(struct trace_end send, uint64_t time, MPI_Request handle)
{
    struct trace_request *made = pse_trace_send_made(send, handle);
    made->persistent = false;
    pse_trace_put_start(made, time);
}

struct trace_request *pse_trace_receive_made(struct trace_end receive, MPI_Request handle)
{
    struct trace_request *made = pse_trace_new_request(receive.comm, handle, kind_of(RECEIVES, receive));
    made->persistent = true;
    set_receive(made, receive);
    return made;
}

PSE_TRACE_HOT_CALL void pse_trace_receive_starts(struct trace_end receive, uint64_t time, MPI_Request handle)
{
    struct trace_request *made = pse_trace_receive_made(receive, handle);
    made->persistent = false;
    pse_trace_put_start(made, time);
}

/* Channels of partitioned messages: the nth that one rank makes meets the nth that the other one makes with
 * the same tag and communicator, in whatever order they are started. */
struct channel_kind {
    struct pse_handle_node node;
    uint32_t communicator, count;
    int kind;
};

static uint32_t next_channel(const struct trace_request *made, uint32_t partner, uint32_t tag)
{
    const uintptr_t key = pse_pair(partner, tag);
    struct channel_kind *known = pse_handle_find(&channels, key);
    while (known && (known->communicator != made->communicator || known->kind != made->kind))
        known = (struct channel_kind *)known->node.next;
    if (!known) {
        known = pse_tool_memory(sizeof *known);
        known->communicator = made->communicator;
        known->kind = made->kind;
        pse_handle_add(&channels, key, known);
    }
    return known->count++;
}

void pse_trace_parts_sent_made(struct trace_end send, int partitions, MPI_Request handle)
{
    struct trace_request *made = pse_trace_send_made(send, handle);
    made->partitions = (uint32_t)partitions;
    if (made->kind)
        made->channel = next_channel(made, made->partner, made->tag);
}

void pse_trace_parts_received_made(struct trace_end receive, MPI_Request handle)
{
    struct trace_request *made = pse_trace_receive_made(receive, handle);
    if (made->kind)
        made->channel = next_channel(made, made->from, made->receive_tag);
}

void pse_trace_exchange_starts(struct trace_end send, struct trace_end receive, uint64_t time,
                               MPI_Request handle)
{
    struct trace_request *made =
        pse_trace_new_request(send.comm, handle, kind_of(SENDS, send) | kind_of(RECEIVES, receive));
    set_send(made, send);
    set_receive(made, receive);
    pse_trace_put_start(made, time);
}

void pse_trace_request_starts(MPI_Request handle, uint64_t time)
{
    struct trace_request *request = request_of(handle);
    if (request)
        pse_trace_put_start(request, time);
}

void pse_trace_requests_start(int count, const MPI_Request handles[], uint64_t time)
{
    for (int i = 0; i < count; i++)
        pse_trace_request_starts(handles[i], time);
}

/* The receiver can't have the whole message before: that is when it is sent. */
void pse_trace_partitions_ready(int count, MPI_Request handle, uint64_t time)
{
    struct trace_request *request = request_of(handle);
    if (!request || !(request->kind & SENDS))
        return;
    request->ready += (uint32_t)count;
    if (request->ready == request->partitions)
        put_send(request, time);
}

void pse_trace_request_cancelled(MPI_Request handle)
{
    struct trace_request *request = request_of(handle);
    if (!request)
        return;
    request->cancelled = true;
    pse_trace_put(pse_trace_now, PSE_EVENT_MPI_REQUEST_CANCEL, 0, 0, 0, at(request));
}

void pse_trace_request_forgotten(MPI_Request handle)
{
    pse_trace_end_entry(&request_entries, pse_handle_take(&requests, PSE_HANDLE(handle)));
}

/* The number of a request; 0 of what is complete.  Only operations that are complete share a handle: whose
 * entry this is does not matter. */
static uint32_t number_of(MPI_Request handle)
{
    const struct trace_request *request =
        handle == MPI_REQUEST_NULL ? NULL : pse_handle_find(&requests, PSE_HANDLE(handle));
    return request ? request->number : 0;
}

/* Requests that are started together have consecutive numbers: the ends of their range say enough. */
PSE_TRACE_HOT_CALL void pse_trace_put_awaits_requests(uint16_t kind, int count, const MPI_Request handles[])
{
    uint32_t least = UINT32_MAX, greatest = 0, awaited = 0;
    for (int i = 0; i < count; i++) {
        const uint32_t number = number_of(handles[i]);
        awaited += number > 0;
        least = number - 1 < least - 1 ? number : least; /* 0 is never the least. */
        greatest = number > greatest ? number : greatest;
    }
    if (awaited)
        pse_trace_put_provisional(pse_trace_now, PSE_EVENT_MPI_AWAIT, kind, awaited,
                                  pse_pair(least, greatest), 0);
}

/* Completions. */

static void communicator_done(struct trace_request *request)
{
    PMPI_Wait(&request->told, MPI_STATUS_IGNORE);
    struct trace_communicator *made = pse_trace_number_communicator(*request->made, request->made_number);
    memcpy(made->identity, request->identity, sizeof made->identity);
    if (made->flags & PSE_COMMUNICATOR_TWO_GROUPS && !(made->flags & PSE_COMMUNICATOR_OTHER_JOB))
        pse_trace_order_groups(made, request->is_of_second_group);
    pse_trace_know_communicator(*request->made, made);
    pse_trace_put_communicator(*request->made, request->parent, made);
}

/* MPICH up to 5.0 does not set the status of MPI_Isendrecv: what was asked for is true in any case. */
static MPI_Status status_of_receive(const struct trace_request *request, const MPI_Status *status)
{
    MPI_Status found = *status;
    const bool source =
        request->from == PSE_NONE || request->from == request->first_partner + (uint32_t)status->MPI_SOURCE;
    const bool tag = request->receive_tag == PSE_NONE || request->receive_tag == (uint32_t)status->MPI_TAG;
    if (!(request->kind & SENDS) || (source && tag))
        return found;
    if (request->from != PSE_NONE)
        found.MPI_SOURCE = (int)(request->from - request->first_partner);
    if (request->receive_tag != PSE_NONE)
        found.MPI_TAG = (int)request->receive_tag;
    PMPI_Status_set_elements_x(&found, MPI_BYTE, (MPI_Count)request->room);
    return found;
}

PSE_TRACE_HOT_CALL static void put_completion(struct trace_request *request, const MPI_Status *status,
                                              int error)
{
    int undone = !pse_message_came(error);
    if (undone && request->kind & SENDS)
        pse_trace_put(pse_trace_now, PSE_EVENT_MPI_REQUEST_CANCEL, 0, 0, 0, at(request));
    if (request->cancelled && !undone)
        PMPI_Test_cancelled(status, &undone);
    if (undone)
        return;
    if (request->kind & SENDS)
        pse_trace_put(pse_trace_now, PSE_EVENT_MPI_SEND_COMPLETE, 0, 0, 0, at(request));
    if (request->kind & RECEIVES) {
        const MPI_Status found = status_of_receive(request, status);
        put_found(PSE_EVENT_MPI_RECEIVE, mode_of_receive(request), at(request), request->first_partner,
                  &found);
    }
    if (request->kind & COLLECTS)
        pse_trace_put(pse_trace_now, PSE_EVENT_MPI_COLLECTIVE_END, request->mode, request->bytes,
                      request->room, at(request));
    if (request->kind & MAKES_COMMUNICATOR)
        communicator_done(request);
}

PSE_TRACE_HOT_CALL void pse_trace_completed(MPI_Request handle, const MPI_Status *status, int error)
{
    struct trace_request *request = handle == MPI_REQUEST_NULL ? NULL : request_of(handle);
    if (!request || (request->persistent && !request->number))
        return;
    put_completion(request, status, error);
    if (request->persistent)
        request->number = 0;
    else
        pse_trace_request_forgotten(handle);
}

void pse_trace_not_completed(int count, const MPI_Request handles[])
{
    for (int i = 0; i < count; i++) {
        struct trace_request *request = handles[i] == MPI_REQUEST_NULL ? NULL : request_of(handles[i]);
        if (request && request->number)
            pse_trace_put(pse_trace_now, PSE_EVENT_MPI_REQUEST_TEST, 0, 0, 0, at(request));
    }
}

void pse_trace_all_completed(int count, const struct pse_request_snapshot *snapshot, int returned)
{
    int error;
    for (int i = 0; i < count; i++)
        if (pse_snapshot_ended(returned, &snapshot->statuses[i], &error))
            pse_trace_completed(snapshot->requests[i], &snapshot->statuses[i], error);
}

void pse_trace_some_completed(int count, const int indices[], const struct pse_request_snapshot *snapshot,
                              int returned)
{
    int error;
    for (int i = 0; i < count; i++)
        if (pse_snapshot_ended(returned, &snapshot->statuses[i], &error))
            pse_trace_completed(snapshot->requests[indices[i]], &snapshot->statuses[i], error);
}
