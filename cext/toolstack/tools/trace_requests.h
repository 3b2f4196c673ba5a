/* Messages and requests of a trace, from start to completion.
 *
 * Every start has a number of its own.  MPI sets a request to null when it completes, so the wrappers of
 * waits and tests keep a copy of what they were given (`kept`), and have statuses of their own where the
 * program wants none.
 *
 * Functions here expect the lock to be held and the recorder to be there, but for `sent`, which is called
 * before MPI is.
 *
 * May touch: the recorder.
 */
#ifndef PSE_TRACE_REQUESTS_H
#define PSE_TRACE_REQUESTS_H

#include "kept.h"
#include "trace_bytes.h"
#include "trace_communicators.h"

enum { SENDS = 1, RECEIVES = 2, COLLECTS = 4, MAKES_COMMUNICATOR = 8 };

struct request {
    struct handle_node node;
    uint32_t number, communicator;
    int kind;
    bool persistent, cancelled;
    uint16_t mode; /* of sending, or the collective */
    uint32_t partner, tag, from, receive_tag, root;
    uint64_t bytes, room;   /* sent; received, or the buffer's */
    MPI_Comm *made, parent; /* MPI_Comm_idup */
    uint32_t made_number;
    MPI_Request told; /* the broadcast of a new communicator's identity */
    uint32_t identity[2];
};

static struct handles requests, messages;
static uint32_t request_count;

struct message {
    struct handle_node node;
    MPI_Comm comm;
};

struct send {
    MPI_Comm comm;
    uint16_t mode;
    int partner, tag;
    uint64_t bytes;
};

#define SEND_OF(mode)                                                                                        \
    (struct send)                                                                                            \
    {                                                                                                        \
        comm, PSE_SEND_MODE_##mode, dest, tag, bytes_of(count, datatype)                                     \
    }
#define SENDRECV_SEND                                                                                        \
    (struct send)                                                                                            \
    {                                                                                                        \
        comm, PSE_SEND_MODE_STANDARD, dest, sendtag, bytes_of(sendcount, sendtype)                           \
    }
#define REPLACE_SEND                                                                                         \
    (struct send)                                                                                            \
    {                                                                                                        \
        comm, PSE_SEND_MODE_STANDARD, dest, sendtag, bytes_of(count, datatype)                               \
    }
#define RECEIVE_OF                                                                                           \
    (struct send)                                                                                            \
    {                                                                                                        \
        comm, 0, source, tag, bytes_of(count, datatype)                                                      \
    }
#define SENDRECV_RECEIVE                                                                                     \
    (struct send)                                                                                            \
    {                                                                                                        \
        comm, 0, source, recvtag, bytes_of(recvcount, recvtype)                                              \
    }
#define REPLACE_RECEIVE                                                                                      \
    (struct send)                                                                                            \
    {                                                                                                        \
        comm, 0, source, recvtag, bytes_of(count, datatype)                                                  \
    }
#define PARTS_OF(partner)                                                                                    \
    (struct send)                                                                                            \
    {                                                                                                        \
        comm, PSE_SEND_MODE_STANDARD, partner, tag, (uint64_t)partitions *bytes_of(count, datatype)          \
    }

static inline uint32_t or_any(int number)
{
    return number < 0 ? PSE_NONE : (uint32_t)number;
}

static void put_send(uint64_t time, struct send send, uint32_t request)
{
    put(time, PSE_EVENT_MPI_SEND, send.mode, send.bytes, pse_pair((uint32_t)send.partner, (uint32_t)send.tag),
        pse_pair(communicator_of(send.comm)->number, request));
}

static void sent(struct send send, uint32_t request)
{
    if (!recorder || send.partner == MPI_PROC_NULL)
        return;
    lock();
    put_send(pse_clock(), send, request);
    unlock();
}

static void put_receive(uint32_t communicator, uint32_t request, const MPI_Status *status)
{
    MPI_Count bytes = 0;
    if (status->MPI_SOURCE == MPI_PROC_NULL)
        return;
#if MPI_VERSION >= 4
    PMPI_Get_count_c(status, MPI_BYTE, &bytes);
#else
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
#endif
    put(pse_clock(), PSE_EVENT_MPI_RECEIVE, 0, bytes < 0 ? 0 : (uint64_t)bytes,
        pse_pair((uint32_t)status->MPI_SOURCE, (uint32_t)status->MPI_TAG), pse_pair(communicator, request));
}

static void received(MPI_Comm comm, const MPI_Status *status)
{
    if (status->MPI_SOURCE != MPI_PROC_NULL)
        put_receive(communicator_of(comm)->number, 0, status);
}

/* Probed messages remember their communicator. */

static void probed(MPI_Message handle, MPI_Comm comm)
{
    struct message *message = handle == MPI_MESSAGE_NO_PROC ? NULL : calloc(1, sizeof *message);
    if (!message)
        return;
    message->comm = comm;
    handles_add(&messages, PSE_HANDLE(handle), message);
}

static MPI_Comm message_taken(MPI_Message handle)
{
    lock();
    struct message *message = handles_take(&messages, PSE_HANDLE(handle));
    MPI_Comm comm = message ? message->comm : MPI_COMM_WORLD;
    free(message);
    unlock();
    return comm;
}

/* Starts. */

static struct request *new_request(MPI_Comm comm, MPI_Request handle, int kind)
{
    struct request *made = calloc(1, sizeof *made);
    made->kind = kind;
    made->communicator = communicator_of(comm)->number;
    made->told = MPI_REQUEST_NULL;
    handles_add(&requests, PSE_HANDLE(handle), made);
    return made;
}

static void set_send(struct request *request, struct send send)
{
    request->mode = send.mode;
    request->partner = (uint32_t)send.partner;
    request->tag = (uint32_t)send.tag;
    request->bytes = send.bytes;
}

static void set_receive(struct request *request, struct send receive)
{
    request->from = or_any(receive.partner);
    request->receive_tag = or_any(receive.tag);
    request->room = receive.bytes;
}

static uint64_t at(const struct request *request)
{
    return pse_pair(request->communicator, request->number);
}

static void put_start(struct request *request, uint64_t time)
{
    request->number = ++request_count;
    request->cancelled = false;
    if (request->kind & SENDS)
        put(time, PSE_EVENT_MPI_SEND, request->mode, request->bytes, pse_pair(request->partner, request->tag),
            at(request));
    if (request->kind & RECEIVES)
        put(time, PSE_EVENT_MPI_RECEIVE_POST, 0, request->room, pse_pair(request->from, request->receive_tag),
            at(request));
    if (request->kind & COLLECTS)
        put(time, PSE_EVENT_MPI_COLLECTIVE_BEGIN, request->mode, request->root, 0, at(request));
}

/* Operations with MPI_PROC_NULL are requests too, but no messages. */
static int kind_of(int kind, struct send end)
{
    return end.partner == MPI_PROC_NULL ? 0 : kind;
}

static struct request *send_made(struct send send, MPI_Request handle)
{
    struct request *made = new_request(send.comm, handle, kind_of(SENDS, send));
    made->persistent = true;
    set_send(made, send);
    return made;
}

static void send_starts(struct send send, uint64_t time, MPI_Request handle)
{
    struct request *made = send_made(send, handle);
    made->persistent = false;
    put_start(made, time);
}

static struct request *receive_made(struct send receive, MPI_Request handle)
{
    struct request *made = new_request(receive.comm, handle, kind_of(RECEIVES, receive));
    made->persistent = true;
    set_receive(made, receive);
    return made;
}

static void receive_starts(struct send receive, uint64_t time, MPI_Request handle)
{
    struct request *made = receive_made(receive, handle);
    made->persistent = false;
    put_start(made, time);
}

static void exchange_starts(struct send send, struct send receive, uint64_t time, MPI_Request handle)
{
    struct request *made = new_request(send.comm, handle, kind_of(SENDS, send) | kind_of(RECEIVES, receive));
    set_send(made, send);
    set_receive(made, receive);
    put_start(made, time);
}

static void request_starts(MPI_Request handle, uint64_t time)
{
    struct request *request = handles_find(&requests, PSE_HANDLE(handle));
    if (request)
        put_start(request, time);
}

static void requests_start(int count, const MPI_Request handles[], uint64_t time)
{
    for (int i = 0; i < count; i++)
        request_starts(handles[i], time);
}

static void request_cancelled(MPI_Request handle)
{
    struct request *request = handles_find(&requests, PSE_HANDLE(handle));
    if (!request)
        return;
    request->cancelled = true;
    put(pse_clock(), PSE_EVENT_MPI_REQUEST_CANCEL, 0, 0, 0, at(request));
}

static void request_forgotten(MPI_Request handle)
{
    free(handles_take(&requests, PSE_HANDLE(handle)));
}

/* Completions. */

static void communicator_done(struct request *request)
{
    PMPI_Wait(&request->told, MPI_STATUS_IGNORE);
    struct communicator *made = number_communicator(*request->made, request->made_number);
    memcpy(made->identity, request->identity, sizeof made->identity);
    put_communicator(*request->made, request->parent, made);
}

static void put_completion(struct request *request, const MPI_Status *status)
{
    int undone = 0;
    if (request->cancelled)
        PMPI_Test_cancelled(status, &undone);
    if (undone)
        return;
    if (request->kind & SENDS)
        put(pse_clock(), PSE_EVENT_MPI_SEND_COMPLETE, 0, 0, 0, at(request));
    if (request->kind & RECEIVES)
        put_receive(request->communicator, request->number, status);
    if (request->kind & COLLECTS)
        put(pse_clock(), PSE_EVENT_MPI_COLLECTIVE_END, request->mode, request->bytes, request->room,
            at(request));
    if (request->kind & MAKES_COMMUNICATOR)
        communicator_done(request);
}

static void completed(MPI_Request handle, const MPI_Status *status)
{
    struct request *request = handle == MPI_REQUEST_NULL ? NULL : handles_find(&requests, PSE_HANDLE(handle));
    if (!request || (request->persistent && !request->number))
        return;
    put_completion(request, status);
    if (request->persistent)
        request->number = 0;
    else
        request_forgotten(handle);
}

static void not_completed(int count, const MPI_Request handles[])
{
    for (int i = 0; i < count; i++) {
        struct request *request =
            handles[i] == MPI_REQUEST_NULL ? NULL : handles_find(&requests, PSE_HANDLE(handles[i]));
        if (request && request->number)
            put(pse_clock(), PSE_EVENT_MPI_REQUEST_TEST, 0, 0, 0, at(request));
    }
}

static void all_completed(int count, const struct kept *kept)
{
    for (int i = 0; i < count; i++)
        completed(kept->requests[i], &kept->statuses[i]);
}

static void some_completed(int count, const int indices[], const struct kept *kept)
{
    for (int i = 0; i < count; i++)
        completed(kept->requests[indices[i]], &kept->statuses[i]);
}

#endif
