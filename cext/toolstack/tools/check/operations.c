/* Sends and receives, and whether they may be completed. */
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadlock.h"
#include "notices.h"
#include "pse_tools.h"
#include "report.h"
#include "type_signature.h"

struct pse_handle_table pse_check_requests;
static struct check_operation *sends; /* that wait for their match */
static uint64_t send_count;
static int receives_from_any; /* posted and not yet complete */

struct check_operation *pse_check_request_of(MPI_Request handle)
{
    return handle == MPI_REQUEST_NULL ? NULL : pse_handle_find(&pse_check_requests, PSE_HANDLE(handle));
}

/* Starts. */

void pse_check_init_operation(struct check_operation *made, MPI_Comm comm, const char *routine)
{
    *made = (struct check_operation){.comm = pse_check_communicator_of(comm)};
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    pse_check_pack_site(made->where);
}

void pse_check_set_send(struct check_operation *made, enum send_mode mode, MPI_Count count,
                        MPI_Datatype datatype, int to, int tag)
{
    made->mode = mode;
    made->to = to;
    made->tag = tag;
    if (made->comm && to >= 0 && to < made->comm->peer_count) {
        made->kind |= SENDS;
        made->sent = pse_check_signature_of(count, datatype);
    }
}

void pse_check_set_receive(struct check_operation *made, MPI_Count count, MPI_Datatype datatype, int source,
                           int tag)
{
    made->source = source;
    made->receive_tag = tag;
    made->count = count;
    made->datatype = datatype;
    if (made->comm && source != MPI_PROC_NULL)
        made->kind |= RECEIVES;
}

static void announce_send(struct check_operation *made)
{
    struct check_notice notice = {.kind = NOTICE_SEND,
                                  .from = made->comm->rank,
                                  .tag = made->tag,
                                  .sequence = ++send_count,
                                  .signature = made->sent};
    memcpy(notice.communicator, made->comm->id, sizeof notice.communicator);
    memcpy(notice.routine, made->routine, sizeof notice.routine);
    memcpy(notice.where, made->where, sizeof notice.where);
    made->sequence = send_count;
    made->matched = false;
    made->next_sent = sends;
    sends = made;
    pse_check_notify(made->comm->peers[made->to], &notice);
}

void pse_check_start(struct check_operation *made)
{
    made->active = true;
    made->told = false;
    if (made->kind & SENDS)
        announce_send(made);
    if (made->kind & RECEIVES) {
        made->receive =
            pse_check_new_receive(made->comm, made->source, made->receive_tag, made->routine, made->where);
        pse_check_set_buffer(made->receive, made->count, made->datatype);
        receives_from_any += made->receive->from_any;
        pse_check_post_receive(made->receive);
    }
}

static void forget_send(struct check_operation *gone)
{
    struct check_operation **at = &sends;
    while (*at && *at != gone)
        at = &(*at)->next_sent;
    if (*at)
        *at = gone->next_sent;
}

void pse_check_send_matched(uint64_t sequence)
{
    struct check_operation *at = sends;
    while (at && at->sequence != sequence)
        at = at->next_sent;
    if (!at)
        return;
    at->matched = true;
    forget_send(at);
}

void pse_check_end(struct check_operation *done)
{
    forget_send(done);
    if (done->receive && !done->receive->matched) {
        pse_check_withdraw_receive(done->receive);
        if (!done->cancelled)
            done->comm->checked = false;
    }
    receives_from_any -= done->receive && done->receive->from_any;
    free(done->receive);
    done->receive = NULL;
    done->active = false;
}

static bool is_matched(void *receive)
{
    return ((struct check_receive *)receive)->matched;
}

bool pse_check_is_matched_or_late(void *data)
{
    struct match_deadline *deadline = data;
    return is_matched(deadline->receive) || now_ms() > deadline->until;
}

void pse_check_settle(struct check_operation *done, const MPI_Status *status)
{
    int undone = 0;
    if (!done->active)
        return;
    if (done->cancelled)
        PMPI_Test_cancelled(status, &undone);
    if (done->receive && !undone) {
        struct match_deadline deadline = {done->receive, now_ms() + PATIENCE_MS};
        pse_check_resolve_receive(done->receive, status);
        pse_check_wait_until(pse_check_is_matched_or_late, &deadline, done->routine, done->where, "");
    }
    done->cancelled = undone;
    pse_check_end(done);
}

bool pse_check_is_complete(struct check_operation *made, MPI_Request handle, MPI_Status *status)
{
    int complete = 0;
    if (made && made->told) {
        *status = made->status;
        return true;
    }
    MPI_Comm asked[] = {MPI_COMM_WORLD, MPI_COMM_SELF,
                        made && made->comm ? made->comm->handle : MPI_COMM_SELF};
    MPI_Errhandler before[3];
    for (int i = 0; i < 3; i++) {
        PMPI_Comm_get_errhandler(asked[i], &before[i]);
        PMPI_Comm_set_errhandler(asked[i], MPI_ERRORS_RETURN);
    }
    int error = PMPI_Request_get_status(handle, &complete, status);
    for (int i = 2; i >= 0; i--) {
        PMPI_Comm_set_errhandler(asked[i], before[i]);
        PMPI_Errhandler_free(&before[i]);
    }
    if (complete && made && made->persistent) {
        made->told = true;
        made->status = *status;
    }
    return complete || error != MPI_SUCCESS;
}

void pse_check_resolve_waiting_receives(void)
{
    MPI_Status status;
    if (!receives_from_any)
        return;
    PSE_HANDLE_EACH(&pse_check_requests, struct check_operation, made)
    if (made->active && made->receive && made->receive->source == MPI_ANY_SOURCE &&
        pse_check_is_complete(made, (MPI_Request)pse_check_requests.slots[i_].key, &status))
        pse_check_resolve_receive(made->receive, &status);
}

/* Both sides are known, so it will be complete soon, and MPI need not be asked. */
static bool is_persistent_and_matched(const struct check_operation *made)
{
    return made && made->persistent && made->kind && !(made->kind & SENDS && !made->matched) &&
           !(made->kind & RECEIVES && !made->receive->matched);
}

/* Whether a request may be completed. */
static bool is_ready(struct check_operation *made, MPI_Request handle)
{
    MPI_Status status;
    if (handle == MPI_REQUEST_NULL || (made && made->persistent && !made->active))
        return true;
    if (made && made->receive && !made->receive->from_any && !made->cancelled && !made->receive->matched)
        return false;
    if (is_persistent_and_matched(made))
        return true;
    if (!made)
        return true; /* Of a file, say: MPICH may fail when it is asked, and tested after that. */
    if (!pse_check_is_complete(made, handle, &status))
        return false;
    if (made->receive && !made->receive->matched && !made->cancelled) {
        pse_check_resolve_receive(made->receive, &status);
        return made->receive->matched;
    }
    if (made->kind & SENDS && !made->matched && made->mode != BUFFERED && !made->shared && !made->cancelled &&
        !pse_check_released && !pse_check_state.impatient) {
        pse_check_state.releasable = true;
        return false;
    }
    return true;
}

/* What is waited for. */

/* Another thread may have completed an operation that had the same handle, and is gone then. */
static struct check_operation *waited_for(const struct request_wait *wait, int i)
{
    return wait->operations ? wait->operations[i] : pse_check_request_of(wait->handles[i]);
}

bool pse_check_all_ready(void *data)
{
    const struct request_wait *wait = data;
    bool all = true;
    pse_check_state.releasable = false;
    for (int i = 0; i < wait->count; i++)
        all = is_ready(waited_for(wait, i), wait->handles[i]) && all;
    return all;
}

bool pse_check_any_ready(void *data)
{
    const struct request_wait *wait = data;
    bool active = false;
    pse_check_state.releasable = false;
    for (int i = 0; i < wait->count; i++) {
        struct check_operation *made = waited_for(wait, i);
        if (wait->handles[i] == MPI_REQUEST_NULL || (made && made->persistent && !made->active))
            continue;
        active = true;
        if (is_ready(made, wait->handles[i]))
            return true;
    }
    return !active;
}

void pse_check_describe(const struct check_operation *made, char *text, size_t room)
{
    char from[40] = "any rank", tag[40] = "any tag";
    size_t length = 0;
    text[0] = '\0';
    if (!made->comm)
        return;
    if (made->kind & SENDS)
        length = (size_t)snprintf(text, room, " to rank %d, tag %d", made->to, made->tag);
    if (made->source >= 0)
        snprintf(from, sizeof from, "rank %d", made->source);
    if (made->receive_tag >= 0)
        snprintf(tag, sizeof tag, "tag %d", made->receive_tag);
    if (made->kind & RECEIVES && length < room)
        length += (size_t)snprintf(text + length, room - length, " from %s, %s", from, tag);
    if (length < room)
        snprintf(text + length, room - length, " of %s", pse_check_communicator_name(made->comm));
}
