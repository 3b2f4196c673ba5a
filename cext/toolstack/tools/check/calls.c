/* What wrappers call for the program's requests, and for blocking calls: each of these is made as a
 * non-blocking one that is waited for, so that notices are read meanwhile.
 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "communicators.h"
#include "deadlock.h"
#include "handle_table.h"
#include "matching.h"
#include "operations.h"
#include "packed_copy.h"
#include "pse_tools.h"
#include "report.h"
#include "tool_memory.h"
#include "type_signature.h"

/* The program's requests, from the call that makes them to their end. */

struct check_operation *pse_check_enter_request(MPI_Comm comm, MPI_Request handle, const char *routine)
{
    struct check_operation *made = pse_tool_memory(sizeof *made),
                           *same = pse_handle_find(&pse_check_requests, PSE_HANDLE(handle));
    pse_check_init_operation(made, comm, routine);
    if (same)
        same->shared = made->shared = true; /* Complete since its start. */
    if (made->comm)
        made->comm->users++;
    pse_handle_add(&pse_check_requests, PSE_HANDLE(handle), made);
    return made;
}

void pse_check_idup_starts(MPI_Comm *newcomm, MPI_Comm comm, MPI_Request handle, const char *routine)
{
    struct check_operation *made = pse_check_enter_request(comm, handle, routine);
    made->active = true;
    if (made->comm && !made->comm->inter)
        made->coming = pse_check_communicator_comes(newcomm, comm);
}

/* It is in the table no longer. */
static void drop_request(struct check_operation *gone)
{
    if (gone->comm) {
        gone->comm->users--;
        pse_check_communicator_unused(gone->comm);
    }
    free(gone);
}

void pse_check_started(MPI_Request handle)
{
    struct check_operation *made = pse_check_request_of(handle);
    if (made)
        pse_check_start(made);
}

void pse_check_request_done(MPI_Request handle, MPI_Status *status)
{
    struct check_operation *done = pse_check_request_of(handle);
    if (!done)
        return;
    if (!done->persistent)
        pse_handle_take(&pse_check_requests, PSE_HANDLE(handle));
    if (done->told)
        *status = done->status;
    done->told = false;
    pse_check_settle(done, status);
    if (done->coming)
        pse_check_communicator_came(done->coming, done->routine, done->where);
    if (!done->persistent)
        drop_request(done);
}

int pse_check_first_told(int count, const MPI_Request handles[])
{
    for (int i = 0; i < count; i++) {
        const struct check_operation *made = pse_check_request_of(handles[i]);
        if (made && made->told)
            return i;
    }
    return -1;
}

void pse_check_all_done(int returned, int count, const struct pse_request_snapshot *snapshot)
{
    int error;
    for (int i = 0; i < count; i++)
        if (pse_snapshot_ended(returned, &snapshot->statuses[i], &error))
            pse_check_request_done(snapshot->requests[i], &snapshot->statuses[i]);
}

void pse_check_some_done(int returned, int count, const int indices[],
                         const struct pse_request_snapshot *snapshot)
{
    int error;
    for (int i = 0; i < count; i++)
        if (pse_snapshot_ended(returned, &snapshot->statuses[i], &error))
            pse_check_request_done(snapshot->requests[indices[i]], &snapshot->statuses[i]);
}

void pse_check_request_freed(MPI_Request handle)
{
    MPI_Status status;
    struct check_operation *gone = pse_check_request_of(handle);
    if (!gone)
        return;
    pse_handle_take(&pse_check_requests, PSE_HANDLE(handle));
    if (gone->active && gone->cancelled && pse_check_is_complete(gone, handle, &status))
        pse_check_settle(gone, &status);
    else if (gone->active)
        pse_check_end(gone);
    drop_request(gone);
}

void pse_check_request_cancelled(MPI_Request handle)
{
    struct check_operation *made = pse_check_request_of(handle);
    if (made)
        made->cancelled = true;
}

void pse_check_wait_for(int count, const MPI_Request handles[], bool (*ready)(void *), const char *routine)
{
    char where[PSE_CALL_SITE_TEXT], text[120] = "";
    struct request_wait wait = {NULL, handles, count};
    for (int i = 0; i < count && !text[0]; i++) {
        const struct check_operation *made = pse_check_request_of(handles[i]);
        if (made && made->active) {
            snprintf(text, sizeof text, " for %s", made->routine);
            pse_check_describe(made, text + strlen(text), sizeof text - strlen(text));
        }
    }
    pse_check_pack_site(where);
    pse_check_wait_until(ready, &wait, routine, where, text);
}

void pse_check_look_at(int count, const MPI_Request handles[])
{
    pse_check_attend();
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        struct check_operation *made = pse_check_request_of(handles[i]);
        if (!made || !made->receive || made->receive->matched || made->cancelled)
            continue;
        if (pse_check_is_complete(made, handles[i], &status)) {
            struct match_deadline deadline = {made->receive, now_ms() + PATIENCE_MS};
            pse_check_resolve_receive(made->receive, &status);
            pse_check_wait_until(pse_check_is_matched_or_late, &deadline, made->routine, made->where, "");
        }
    }
}

/* Blocking calls. */

static struct pse_handle_table probed_messages;

/* Wait for a blocking call that was started as `handle`, and complete it. */
static int finish(struct check_operation *made, MPI_Request *handle, MPI_Status *status)
{
    char text[120];
    MPI_Status own;
    struct request_wait wait = {&made, handle, 1};
    pse_check_describe(made, text, sizeof text);
    pse_check_wait_until(pse_check_all_ready, &wait, made->routine, made->where, text);
    pse_check_unlock();
    int error = PMPI_Wait(handle, status == MPI_STATUS_IGNORE ? &own : status);
    pse_check_lock();
    pse_check_settle(made, status == MPI_STATUS_IGNORE ? &own : status);
    return error;
}

#define NONBLOCKING(name) PSE_PACKED_FORM(PMPI_##name)

int pse_check_send(enum send_mode mode, const void *buffer, MPI_Count count, MPI_Datatype datatype, int to,
                   int tag, MPI_Comm comm, const char *routine)
{
    struct check_operation made;
    MPI_Request handle;
    int error;
    pse_check_lock();
    pse_check_init_operation(&made, comm, routine);
    pse_check_set_send(&made, mode, buffer, count, datatype, to, tag);
    pse_check_start(&made);
    if (mode == SYNCHRONOUS)
        error = NONBLOCKING(Issend)(buffer, (pse_packed_count)count, datatype, to, tag, comm, &handle);
    else if (mode == BUFFERED)
        error = NONBLOCKING(Ibsend)(buffer, (pse_packed_count)count, datatype, to, tag, comm, &handle);
    else if (mode == READY)
        error = NONBLOCKING(Irsend)(buffer, (pse_packed_count)count, datatype, to, tag, comm, &handle);
    else
        error = NONBLOCKING(Isend)(buffer, (pse_packed_count)count, datatype, to, tag, comm, &handle);
    error = error == MPI_SUCCESS ? finish(&made, &handle, MPI_STATUS_IGNORE) : error;
    pse_check_unlock();
    return error;
}

int pse_check_receive(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                      MPI_Comm comm, MPI_Status *status, const char *routine)
{
    struct check_operation made;
    MPI_Request handle;
    pse_check_lock();
    pse_check_init_operation(&made, comm, routine);
    pse_check_set_receive(&made, buffer, count, datatype, source, tag);
    int error = NONBLOCKING(Irecv)(buffer, (pse_packed_count)count, datatype, source, tag, comm, &handle);
    if (error == MPI_SUCCESS) {
        pse_check_start(&made);
        error = finish(&made, &handle, status);
        pse_tool_set_null_status(source, comm, status);
    }
    pse_check_unlock();
    return error;
}

/* Wait for both ways of MPI_Sendrecv: one operation for the words, since it is one call. */
static int finish_both(struct check_operation *out, struct check_operation *in, MPI_Request handles[2],
                       MPI_Status *status)
{
    char text[120];
    MPI_Status own, *told = status == MPI_STATUS_IGNORE ? &own : status;
    struct check_operation *made[] = {out, in}, both = *out;
    struct request_wait wait = {made, handles, 2};
    both.kind |= in->kind;
    both.source = in->source;
    both.receive_tag = in->receive_tag;
    pse_check_describe(&both, text, sizeof text);
    pse_check_wait_until(pse_check_all_ready, &wait, out->routine, out->where, text);
    pse_check_unlock();
    int error = PMPI_Wait(&handles[1], told), other = PMPI_Wait(&handles[0], MPI_STATUS_IGNORE);
    pse_check_lock();
    pse_check_settle(in, told);
    pse_check_end(out);
    return error == MPI_SUCCESS ? other : error;
}

int pse_check_sendrecv(const void *out, MPI_Count out_count, MPI_Datatype out_type, int to, int tag, void *in,
                       MPI_Count in_count, MPI_Datatype in_type, int source, int receive_tag, MPI_Comm comm,
                       MPI_Status *status, const char *routine)
{
    struct check_operation sent, got;
    MPI_Request handles[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    pse_packed_count bytes;
    int error = MPI_SUCCESS;
    void *copy = out ? NULL : pse_tool_packed_copy(in, in_count, in_type, comm, &bytes, &error);
    pse_check_lock();
    pse_check_init_operation(&sent, comm, routine);
    pse_check_init_operation(&got, comm, routine);
    pse_check_set_send(&sent, STANDARD, out, out_count, out_type, to, tag);
    pse_check_set_receive(&got, in, in_count, in_type, source, receive_tag);
    if (error == MPI_SUCCESS)
        error = NONBLOCKING(Irecv)(in, (pse_packed_count)in_count, in_type, source, receive_tag, comm,
                                   &handles[1]);
    if (error == MPI_SUCCESS)
        error =
            copy ? NONBLOCKING(Isend)(copy, bytes, MPI_PACKED, to, tag, comm, &handles[0])
                 : NONBLOCKING(Isend)(out, (pse_packed_count)out_count, out_type, to, tag, comm, &handles[0]);
    if (error == MPI_SUCCESS) {
        pse_check_start(&got);
        pse_check_start(&sent);
        error = finish_both(&sent, &got, handles, status);
        pse_tool_set_null_status(source, comm, status);
    } else if (handles[1] != MPI_REQUEST_NULL) {
        PMPI_Cancel(&handles[1]);
        PMPI_Wait(&handles[1], MPI_STATUS_IGNORE);
    }
    pse_check_unlock();
    free(copy);
    return error;
}

/* Probes. */

struct awaited_probe {
    int source, tag, found, error;
    MPI_Comm comm;
    MPI_Message *message; /* NULL: MPI_Probe */
    MPI_Status *status;
};

static bool probe_found(void *data)
{
    struct awaited_probe *probe = data;
    if (!probe->found)
        probe->error = probe->message ? PMPI_Improbe(probe->source, probe->tag, probe->comm, &probe->found,
                                                     probe->message, probe->status)
                                      : PMPI_Iprobe(probe->source, probe->tag, probe->comm, &probe->found,
                                                    probe->status);
    return probe->found || probe->error != MPI_SUCCESS;
}

void pse_check_message_probed(MPI_Message handle, MPI_Comm comm, const MPI_Status *status,
                              const char *routine)
{
    char where[PSE_CALL_SITE_TEXT];
    struct check_communicator *known = pse_check_communicator_of(comm);
    struct check_operation *made;
    if (!known || status->MPI_SOURCE < 0)
        return;
    made = pse_tool_memory(sizeof *made);
    pse_check_pack_site(where);
    made->comm = known;
    made->receive = pse_check_new_receive(known, status->MPI_SOURCE, status->MPI_TAG, routine, where);
    pse_handle_add(&probed_messages, PSE_HANDLE(handle), made);
    pse_check_post_receive(made->receive);
}

int pse_check_probe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status,
                    const char *routine)
{
    char where[PSE_CALL_SITE_TEXT], text[120];
    struct check_operation made = {
        .comm = pse_check_communicator_of(comm), .kind = RECEIVES, .source = source, .receive_tag = tag};
    MPI_Status own;
    struct awaited_probe probe = {
        source, tag, 0, MPI_SUCCESS, comm, message, status == MPI_STATUS_IGNORE ? &own : status};
    pse_check_lock();
    pse_check_pack_site(where);
    pse_check_describe(&made, text, sizeof text);
    pse_check_wait_until(probe_found, &probe, routine, where, text);
    if (message && probe.error == MPI_SUCCESS)
        pse_check_message_probed(*message, comm, probe.status, routine);
    pse_check_unlock();
    return probe.error;
}

struct check_receive *pse_check_message_received(MPI_Message handle, MPI_Count count, MPI_Datatype datatype,
                                                 const char *routine)
{
    struct check_operation *made = pse_handle_take(&probed_messages, PSE_HANDLE(handle));
    if (!made)
        return NULL;
    struct check_receive *receive = made->receive;
    struct match_deadline deadline = {receive, now_ms() + PATIENCE_MS};
    free(made);
    snprintf(receive->routine, sizeof receive->routine, "%s", routine);
    pse_check_pack_site(receive->where);
    pse_check_set_buffer(receive, pse_check_signature_of(count, datatype),
                         pse_check_signature_of(1, datatype));
    if (receive->matched)
        pse_check_compare_message(receive);
    pse_check_wait_until(pse_check_is_matched_or_late, &deadline, routine, receive->where, "");
    if (!receive->matched)
        pse_check_withdraw_receive(receive);
    return receive;
}
