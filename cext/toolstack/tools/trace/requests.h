/* Messages and requests of a trace, from start to completion.
 *
 * Every start has a number of its own.  MPI sets a request to null when it completes, so the wrappers of
 * waits and tests keep a snapshot of what they were given, and have statuses of their own where the program
 * wants none.
 *
 * The lock is held and the recorder is there whenever these functions are called, but for `pse_trace_sent`,
 * `pse_trace_awaits`, `pse_trace_awaits_requests` and `pse_trace_message_taken` where nothing is recorded.
 */
#ifndef PSE_TRACE_REQUESTS_H
#define PSE_TRACE_REQUESTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "bytes.h"
#include "handle_table.h"
#include "recorder.h"
#include "request_snapshot.h"
#include "writer.h"

enum { /* kinds of requests */ SENDS = 1, RECEIVES = 2, COLLECTS = 4, MAKES_COMMUNICATOR = 8 };

struct trace_request {
    struct pse_handle_node node;
    uint32_t number, communicator;
    uint32_t first_partner; /* of the communicator */
    int kind;
    bool persistent, cancelled;
    uint16_t mode; /* of sending, or the collective */
    uint32_t partner, tag, from, receive_tag, root;
    uint64_t bytes, room;   /* sent; received, or the buffer's */
    uint32_t partitions;    /* of a message that is sent when all of them are ready; 0 of others */
    uint32_t ready;         /* since it was started */
    uint32_t channel;       /* of such a message: how many of its kind were made before it */
    MPI_Comm *made, parent; /* MPI_Comm_idup */
    uint32_t made_number;
    bool is_of_second_group;
    MPI_Request told; /* the broadcast of a new communicator's identity */
    uint32_t identity[2];
};

/* One end of a message: what a call gives for it. */
struct trace_end {
    MPI_Comm comm;
    uint16_t mode;
    int partner, tag;
    uint64_t bytes;
};

#define SEND_OF(mode)                                                                                        \
    (struct trace_end)                                                                                       \
    {                                                                                                        \
        comm, PSE_SEND_MODE_##mode, dest, tag, pse_trace_bytes_of(count, datatype)                           \
    }
#define SENDRECV_SEND                                                                                        \
    (struct trace_end)                                                                                       \
    {                                                                                                        \
        comm, PSE_SEND_MODE_STANDARD, dest, sendtag, pse_trace_bytes_of(sendcount, sendtype)                 \
    }
#define REPLACE_SEND                                                                                         \
    (struct trace_end)                                                                                       \
    {                                                                                                        \
        comm, PSE_SEND_MODE_STANDARD, dest, sendtag, pse_trace_bytes_of(count, datatype)                     \
    }
#define RECEIVE_OF                                                                                           \
    (struct trace_end)                                                                                       \
    {                                                                                                        \
        comm, 0, source, tag, pse_trace_bytes_of(count, datatype)                                            \
    }
#define SENDRECV_RECEIVE                                                                                     \
    (struct trace_end)                                                                                       \
    {                                                                                                        \
        comm, 0, source, recvtag, pse_trace_bytes_of(recvcount, recvtype)                                    \
    }
#define REPLACE_RECEIVE                                                                                      \
    (struct trace_end)                                                                                       \
    {                                                                                                        \
        comm, 0, source, recvtag, pse_trace_bytes_of(count, datatype)                                        \
    }
#define PARTS_OF(partner)                                                                                    \
    (struct trace_end)                                                                                       \
    {                                                                                                        \
        comm, PSE_SEND_MODE_PARTITIONED, partner, tag,                                                       \
            (uint64_t)partitions *pse_trace_bytes_of(count, datatype)                                        \
    }

/* Blocking calls. */
void pse_trace_put_send(MPI_Comm comm, uint16_t mode, int partner, int tag, uint64_t bytes);
/* A blocking send that was written before its call returned an error. */
void pse_trace_send_failed(MPI_Comm comm, int partner, int tag);
void pse_trace_received(MPI_Comm comm, const MPI_Status *status);
void pse_trace_probe_ended(MPI_Comm comm, const MPI_Status *status);
/* Probed messages remember their communicator. */
void pse_trace_probed(MPI_Message handle, MPI_Comm comm);
MPI_Comm pse_trace_message_taken(MPI_Message handle);
/* What a call that may wait is about to wait for, told in case it never ends. */
void pse_trace_put_awaits(MPI_Comm comm, int partner, int tag);
void pse_trace_put_awaits_requests(uint16_t kind, int count, const MPI_Request handles[]);
/* Requests: made, started, cancelled, freed. */
struct trace_request *pse_trace_new_request(MPI_Comm comm, MPI_Request handle, int kind);
void pse_trace_put_start(struct trace_request *request, uint64_t time);
struct trace_request *pse_trace_send_made(struct trace_end send, MPI_Request handle);
void pse_trace_send_starts(struct trace_end send, uint64_t time, MPI_Request handle);
void pse_trace_parts_sent_made(struct trace_end send, int partitions, MPI_Request handle);
void pse_trace_parts_received_made(struct trace_end receive, MPI_Request handle);
struct trace_request *pse_trace_receive_made(struct trace_end receive, MPI_Request handle);
void pse_trace_receive_starts(struct trace_end receive, uint64_t time, MPI_Request handle);
void pse_trace_exchange_starts(struct trace_end send, struct trace_end receive, uint64_t time,
                               MPI_Request handle);
void pse_trace_request_starts(MPI_Request handle, uint64_t time);
void pse_trace_requests_start(int count, const MPI_Request handles[], uint64_t time);
void pse_trace_partitions_ready(int count, MPI_Request handle, uint64_t time);
void pse_trace_request_cancelled(MPI_Request handle);
void pse_trace_request_forgotten(MPI_Request handle);
/* What waits and tests have found. */
void pse_trace_completed(MPI_Request handle, const MPI_Status *status, int error);
void pse_trace_not_completed(int count, const MPI_Request handles[]);
void pse_trace_all_completed(int count, const struct pse_request_snapshot *snapshot, int returned);
void pse_trace_some_completed(int count, const int indices[], const struct pse_request_snapshot *snapshot,
                              int returned);

/* A blocking send is about to be made. */
static inline void pse_trace_sent(struct trace_end send)
{
    if (pse_trace_is_writing() && send.partner != MPI_PROC_NULL)
        pse_trace_put_send(send.comm, send.mode, send.partner, send.tag, send.bytes);
}

/* A blocking receive or probe is about to be made. */
static inline void pse_trace_awaits(MPI_Comm comm, int partner, int tag)
{
    if (pse_trace_is_writing())
        pse_trace_put_awaits(comm, partner, tag);
}

/* A wait for requests is about to be made. */
static inline void pse_trace_awaits_requests(uint16_t kind, int count, const MPI_Request handles[])
{
    if (pse_trace_is_writing())
        pse_trace_put_awaits_requests(kind, count, handles);
}

#endif
