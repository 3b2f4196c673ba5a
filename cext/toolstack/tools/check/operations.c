/* Sends and receives, and whether they may be completed. */
#define _GNU_SOURCE
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "deadlock.h"
#include "notices.h"
#include "pse_tools.h"
#include "report.h"
#include "tool.h"
#include "type_signature.h"

struct pse_handle_table pse_check_requests;
static struct check_operation *sends; /* that wait for their match */
static uint64_t send_count;
static int receives_from_any; /* posted and not yet complete */

struct check_operation *pse_check_request_of(MPI_Request handle)
{
    return handle == MPI_REQUEST_NULL ? NULL : pse_handle_find_own(&pse_check_requests, PSE_HANDLE(handle));
}

/* Buffers. */

enum { PART = 16384 }; /* of a longer buffer its two ends are compared, each of this size */

static struct check_buffer buffer_of(const void *address, MPI_Count count, MPI_Datatype datatype)
{
    MPI_Count size = 0, begin = 0, length = 0, lower = 0, extent = 0;
    if (count <= 0 || datatype == MPI_DATATYPE_NULL)
        return (struct check_buffer){0};
    PMPI_Type_size_x(datatype, &size);
    PMPI_Type_get_true_extent_x(datatype, &begin, &length);
    PMPI_Type_get_extent_x(datatype, &lower, &extent);
    const bool dense = size > 0 && length == size && (count == 1 || extent == size);
    return (struct check_buffer){(uintptr_t)address + (uintptr_t)begin, dense ? (size_t)(count * size) : 0,
                                 0};
}

/* What can't be read, memory of a GPU say, counts as unchanged. */
static uint64_t hash_part(uint64_t hash, uintptr_t begin, size_t bytes)
{
    char copy[PART];
    const struct iovec here = {copy, bytes}, there = {(void *)begin, bytes};
    const ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    return got == (ssize_t)bytes ? pse_hash(hash, copy, bytes) : hash;
}

static uint64_t hash_of(const struct check_buffer *buffer)
{
    const size_t first = buffer->bytes < PART ? buffer->bytes : PART, left = buffer->bytes - first,
                 last = left < PART ? left : PART;
    const uint64_t hash = hash_part(PSE_HASH, buffer->begin, first);
    return last ? hash_part(hash, buffer->begin + buffer->bytes - last, last) : hash;
}

static bool overlap(const struct check_buffer *a, const struct check_buffer *b)
{
    return a->bytes && b->bytes && a->begin < b->begin + b->bytes && b->begin < a->begin + a->bytes;
}

/* Starts. */

void pse_check_init_operation(struct check_operation *made, MPI_Comm comm, const char *routine)
{
    *made = (struct check_operation){.comm = pse_check_communicator_of(comm)};
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    pse_check_pack_site(made->where);
}

void pse_check_set_send(struct check_operation *made, enum send_mode mode, const void *buffer,
                        MPI_Count count, MPI_Datatype datatype, int to, int tag)
{
    made->mode = mode;
    made->to = to;
    made->tag = tag;
    if (made->comm && to >= 0 && to < made->comm->peer_count) {
        made->kind |= SENDS;
        made->sent = pse_check_signature_of(count, datatype);
        if (made->sent.given)
            made->from = buffer_of(buffer, count, datatype);
    }
}

void pse_check_set_receive(struct check_operation *made, const void *buffer, MPI_Count count,
                           MPI_Datatype datatype, int source, int tag)
{
    made->source = source;
    made->receive_tag = tag;
    made->buffer = pse_check_signature_of(count, datatype);
    made->item = pse_check_signature_of(1, datatype);
    if (!made->comm || source == MPI_PROC_NULL)
        return;
    made->kind |= RECEIVES;
    if (made->buffer.given)
        made->into = buffer_of(buffer, count, datatype);
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

static void announce_cancelled(const struct check_operation *gone)
{
    struct check_notice notice = {
        .kind = NOTICE_WITHDRAWN, .from = gone->comm->rank, .sequence = gone->sequence};
    memcpy(notice.communicator, gone->comm->id, sizeof notice.communicator);
    pse_check_notify(gone->comm->peers[gone->to], &notice);
}

/* Buffers of operations under way. */

static void report_overlap(const struct check_operation *made, const struct check_operation *other,
                           const char *what)
{
    struct check_report report = {.length = 0};
    char details[160];
    if (pse_check_was_reported(what, made->where, other->where))
        return;
    pse_check_report_add(&report, "pse check: %s\n", what);
    pse_check_describe(other, details, sizeof details);
    pse_check_report_place(&report, pse_check_rank, other->routine, details, other->where);
    pse_check_describe(made, details, sizeof details);
    pse_check_report_place(&report, pse_check_rank, made->routine, details, made->where);
    pse_check_report_print(&report, "MPI_Wait for the first one before the second begins, or another buffer");
}

static void compare(const struct check_operation *made, const struct check_operation *other)
{
    const bool written = other->kind & RECEIVES && !other->cancelled;
    if (written && made->kind & RECEIVES && overlap(&made->into, &other->into))
        report_overlap(made, other, "two receives that are under way write into the same memory");
    if (written && made->kind & SENDS && overlap(&made->from, &other->into))
        report_overlap(made, other, "a buffer is sent while a receive writes into it");
    if (other->kind & SENDS && made->kind & RECEIVES && overlap(&made->into, &other->from))
        report_overlap(made, other, "a receive writes into a buffer that is still being sent");
}

static void begin_buffers(struct check_operation *made)
{
    PSE_HANDLE_EACH(&pse_check_requests, struct check_operation, other)
    if (other != made && other->active && !other->shared)
        compare(made, other);
    if (made->from.bytes)
        made->from.hash = hash_of(&made->from);
}

void pse_check_start(struct check_operation *made)
{
    made->active = true;
    made->told = made->failed = false;
    begin_buffers(made);
    if (made->kind & SENDS)
        announce_send(made);
    if (made->kind & RECEIVES) {
        made->receive =
            pse_check_new_receive(made->comm, made->source, made->receive_tag, made->routine, made->where);
        pse_check_set_buffer(made->receive, made->buffer, made->item);
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

static void end_buffers(const struct check_operation *done)
{
    static const char what[] = "a buffer was changed while it was being sent";
    struct check_report report = {.length = 0};
    char details[160];
    /* Of operations with one handle, it may be another that is complete. */
    if (!(done->kind & SENDS) || done->shared || !done->from.bytes ||
        hash_of(&done->from) == done->from.hash || pse_check_was_reported(what, done->where, ""))
        return;
    pse_check_report_add(&report, "pse check: %s\n", what);
    pse_check_describe(done, details, sizeof details);
    pse_check_report_place(&report, pse_check_rank, done->routine, details, done->where);
    pse_check_report_print(&report, "MPI_Wait, or MPI_Test that says it is complete, before the buffer is "
                                    "written to again");
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
        pse_check_look_for_rivals(done->receive);
    }
    done->cancelled = undone;
    if (!undone)
        end_buffers(done);
    else if (done->kind & SENDS)
        announce_cancelled(done);
    pse_check_end(done);
}

/* Errors of a request that is only looked at: they come back instead of ending the job. */

static bool self_has_handler;

void pse_check_handler_set(MPI_Comm comm)
{
    self_has_handler |= comm == MPI_COMM_SELF;
}

struct handlers {
    MPI_Comm comms[3];
    MPI_Errhandler of[3];
    int count;
};

static void take_errors_of(MPI_Comm comm, struct handlers *before)
{
    before->comms[before->count] = comm;
    PMPI_Comm_get_errhandler(comm, &before->of[before->count++]);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

/* MPICH asks MPI_COMM_SELF, or MPI_COMM_WORLD as long as that has no handler of its own: it would have one
 * for ever once this is over.
 */
static void take_errors(const struct check_operation *made, struct handlers *before)
{
    before->count = 0;
    take_errors_of(MPI_COMM_WORLD, before);
#ifdef OPEN_MPI
    take_errors_of(MPI_COMM_SELF, before);
    if (made && made->comm)
        take_errors_of(made->comm->handle, before);
#else
    (void)made;
    if (self_has_handler)
        take_errors_of(MPI_COMM_SELF, before);
#endif
}

static void give_errors_back(struct handlers *before)
{
    while (before->count-- > 0) {
        PMPI_Comm_set_errhandler(before->comms[before->count], before->of[before->count]);
        PMPI_Errhandler_free(&before->of[before->count]);
    }
}

bool pse_check_is_complete(struct check_operation *made, MPI_Request handle, MPI_Status *status)
{
    int complete = 0;
    if (made && (made->told || made->failed)) {
        *status = made->status;
        return true;
    }
    struct handlers before;
    take_errors(made, &before);
    int error = PMPI_Request_get_status(handle, &complete, status);
    give_errors_back(&before);
    if (made) {
        made->told = complete && made->persistent;
        made->failed = error != MPI_SUCCESS;
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
        pse_check_state.receiver = made->comm->peers[made->to];
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
