/* Blocking calls: each is made as a non-blocking one that is waited for, so that letters are read meanwhile.
 *
 * May touch: nothing but letters.
 */
#ifndef PSE_CHECK_BLOCKING_H
#define PSE_CHECK_BLOCKING_H

#include "blocking.h"
#include "check_operations.h"

/* Wait for a blocking call that was started as `handle`, and complete it. */
static int finish(struct operation *made, MPI_Request *handle, MPI_Status *status)
{
    char text[120];
    MPI_Status own;
    struct wait wait = {&made, handle, 1};
    describe(made, text, sizeof text);
    wait_until(all_ready, &wait, made->routine, made->where, text);
    unlock();
    int error = PMPI_Wait(handle, status == MPI_STATUS_IGNORE ? &own : status);
    lock();
    settle(made, status == MPI_STATUS_IGNORE ? &own : status);
    return error;
}

#define NONBLOCKING(name) PACKED_FORM(PMPI_##name)

static int checked_send(enum mode mode, const void *buffer, MPI_Count count, MPI_Datatype datatype, int to,
                        int tag, MPI_Comm comm, const char *routine)
{
    struct operation made;
    MPI_Request handle;
    int error;
    lock();
    init_operation(&made, comm, routine);
    set_send(&made, mode, count, datatype, to, tag);
    start(&made);
    if (mode == SYNCHRONOUS)
        error = NONBLOCKING(Issend)(buffer, (packed_count)count, datatype, to, tag, comm, &handle);
    else if (mode == BUFFERED)
        error = NONBLOCKING(Ibsend)(buffer, (packed_count)count, datatype, to, tag, comm, &handle);
    else if (mode == READY)
        error = NONBLOCKING(Irsend)(buffer, (packed_count)count, datatype, to, tag, comm, &handle);
    else
        error = NONBLOCKING(Isend)(buffer, (packed_count)count, datatype, to, tag, comm, &handle);
    error = error == MPI_SUCCESS ? finish(&made, &handle, MPI_STATUS_IGNORE) : error;
    unlock();
    return error;
}

static int checked_receive(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                           MPI_Comm comm, MPI_Status *status, const char *routine)
{
    struct operation made;
    MPI_Request handle;
    lock();
    init_operation(&made, comm, routine);
    set_receive(&made, count, datatype, source, tag);
    int error = NONBLOCKING(Irecv)(buffer, (packed_count)count, datatype, source, tag, comm, &handle);
    if (error == MPI_SUCCESS) {
        start(&made);
        error = finish(&made, &handle, status);
        nobody_status(source, comm, status);
    }
    unlock();
    return error;
}

/* Wait for both ways of MPI_Sendrecv: one operation for the words, since it is one call. */
static int finish_both(struct operation *out, struct operation *in, MPI_Request handles[2],
                       MPI_Status *status)
{
    char text[120];
    MPI_Status own, *told = status == MPI_STATUS_IGNORE ? &own : status;
    struct operation *made[] = {out, in}, both = *out;
    struct wait wait = {made, handles, 2};
    both.kind |= in->kind;
    both.source = in->source;
    both.receive_tag = in->receive_tag;
    describe(&both, text, sizeof text);
    wait_until(all_ready, &wait, out->routine, out->where, text);
    unlock();
    int error = PMPI_Wait(&handles[1], told), other = PMPI_Wait(&handles[0], MPI_STATUS_IGNORE);
    lock();
    settle(in, told);
    end(out);
    return error == MPI_SUCCESS ? other : error;
}

static int checked_sendrecv(const void *out, MPI_Count out_count, MPI_Datatype out_type, int to, int tag,
                            void *in, MPI_Count in_count, MPI_Datatype in_type, int source, int receive_tag,
                            MPI_Comm comm, MPI_Status *status, const char *routine)
{
    struct operation sent, got;
    MPI_Request handles[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    packed_count bytes;
    int error = MPI_SUCCESS;
    void *copy = out ? NULL : packed_copy(in, in_count, in_type, comm, &bytes, &error);
    lock();
    init_operation(&sent, comm, routine);
    init_operation(&got, comm, routine);
    set_send(&sent, STANDARD, out_count, out_type, to, tag);
    set_receive(&got, in_count, in_type, source, receive_tag);
    if (error == MPI_SUCCESS)
        error =
            NONBLOCKING(Irecv)(in, (packed_count)in_count, in_type, source, receive_tag, comm, &handles[1]);
    if (error == MPI_SUCCESS)
        error = copy ? NONBLOCKING(Isend)(copy, bytes, MPI_PACKED, to, tag, comm, &handles[0])
                     : NONBLOCKING(Isend)(out, (packed_count)out_count, out_type, to, tag, comm, &handles[0]);
    if (error == MPI_SUCCESS) {
        start(&got);
        start(&sent);
        error = finish_both(&sent, &got, handles, status);
        nobody_status(source, comm, status);
    } else if (handles[1] != MPI_REQUEST_NULL) {
        PMPI_Cancel(&handles[1]);
        PMPI_Wait(&handles[1], MPI_STATUS_IGNORE);
    }
    unlock();
    free(copy);
    return error;
}

/* Probes. */

struct probe {
    int source, tag, found, error;
    MPI_Comm comm;
    MPI_Message *message; /* NULL: MPI_Probe */
    MPI_Status *status;
};

static bool probe_found(void *data)
{
    struct probe *probe = data;
    if (!probe->found)
        probe->error = probe->message ? PMPI_Improbe(probe->source, probe->tag, probe->comm, &probe->found,
                                                     probe->message, probe->status)
                                      : PMPI_Iprobe(probe->source, probe->tag, probe->comm, &probe->found,
                                                    probe->status);
    return probe->found || probe->error != MPI_SUCCESS;
}

/* A probed message has its receive from then on; its buffer comes with MPI_Mrecv. */
static void message_probed(MPI_Message handle, MPI_Comm comm, const MPI_Status *status, const char *routine)
{
    char where[SITE_TEXT];
    struct communicator *known = communicator_of(comm);
    struct operation *made;
    if (!known || status->MPI_SOURCE < 0)
        return;
    made = calloc(1, sizeof *made);
    site_pack(where);
    made->comm = known;
    made->receive = new_receive(known, status->MPI_SOURCE, status->MPI_TAG, routine, where);
    handles_add(&probed_messages, PSE_HANDLE(handle), made);
    post_receive(made->receive);
}

static int checked_probe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status,
                         const char *routine)
{
    char where[SITE_TEXT], text[120];
    struct operation made = {
        .comm = communicator_of(comm), .kind = RECEIVES, .source = source, .receive_tag = tag};
    MPI_Status own;
    struct probe probe = {
        source, tag, 0, MPI_SUCCESS, comm, message, status == MPI_STATUS_IGNORE ? &own : status};
    lock();
    site_pack(where);
    describe(&made, text, sizeof text);
    wait_until(probe_found, &probe, routine, where, text);
    if (message && probe.error == MPI_SUCCESS)
        message_probed(*message, comm, probe.status, routine);
    unlock();
    return probe.error;
}

/* MPI_Mrecv: the letter is compared before MPI writes the buffer. */
static struct receive *message_received(MPI_Message handle, MPI_Count count, MPI_Datatype datatype,
                                        const char *routine)
{
    struct operation *made = handles_take(&probed_messages, PSE_HANDLE(handle));
    if (!made)
        return NULL;
    struct receive *receive = made->receive;
    struct deadline deadline = {receive, now_ms() + PATIENCE_MS};
    free(made);
    snprintf(receive->routine, sizeof receive->routine, "%s", routine);
    site_pack(receive->where);
    set_buffer(receive, count, datatype);
    if (receive->matched)
        compare_message(receive);
    wait_until(is_matched_or_late, &deadline, routine, receive->where, "");
    if (!receive->matched)
        withdraw_receive(receive);
    return receive;
}

#endif
