/* Messages as `check` follows them, from start to end.
 *
 * A receive is only completed when its message's letter has been compared: after that MPI may end the job for
 * its own reasons.  A send is only complete when its receive is known, since MPI may make it wait for that.
 *
 * May touch: nothing but letters.
 */
#ifndef PSE_CHECK_OPERATIONS_H
#define PSE_CHECK_OPERATIONS_H

#include "check_match.h"
#include "check_wait.h"
#include "kept.h"

enum { SENDS = 1, RECEIVES = 2 };
enum mode { STANDARD, SYNCHRONOUS, BUFFERED, READY };

struct operation {
    struct handle_node node;
    struct operation *next_sent;
    int kind;
    bool persistent, active, shared, cancelled, matched;
    enum mode mode;
    struct communicator *comm;
    int to, tag, source, receive_tag;
    uint64_t sequence;
    struct signature sent;
    MPI_Count count; /* of the receive's buffer */
    MPI_Datatype datatype;
    struct receive *receive;
    struct coming *coming; /* MPI_Comm_idup */
    bool told;             /* complete, as MPI has said of a persistent one */
    MPI_Status status;
    char routine[40], where[SITE_TEXT];
};

static struct handles requests, probed_messages;
static struct operation *sends; /* that wait for their match */
static uint64_t send_count;
static int receives_from_any; /* posted and not yet complete */

#define EACH_OF(table, type, entry)                                                                          \
    for (size_t i_ = 0; i_ < (table).size; i_++)                                                             \
        for (type *entry = (type *)(table).slots[i_].first; entry; entry = (type *)entry->node.next)

static struct operation *request_of(MPI_Request handle)
{
    return handle == MPI_REQUEST_NULL ? NULL : handles_find(&requests, PSE_HANDLE(handle));
}

/* Starts. */

static void init_operation(struct operation *made, MPI_Comm comm, const char *routine)
{
    *made = (struct operation){.comm = communicator_of(comm)};
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    site_pack(made->where);
}

static void set_send(struct operation *made, enum mode mode, MPI_Count count, MPI_Datatype datatype, int to,
                     int tag)
{
    made->mode = mode;
    made->to = to;
    made->tag = tag;
    if (made->comm && to >= 0 && to < made->comm->peer_count) {
        made->kind |= SENDS;
        made->sent = signature_of(count, datatype);
    }
}

static void set_receive(struct operation *made, MPI_Count count, MPI_Datatype datatype, int source, int tag)
{
    made->source = source;
    made->receive_tag = tag;
    made->count = count;
    made->datatype = datatype;
    if (made->comm && source != MPI_PROC_NULL)
        made->kind |= RECEIVES;
}

static void announce_send(struct operation *made)
{
    struct letter letter = {.kind = LETTER_SEND,
                            .from = made->comm->rank,
                            .tag = made->tag,
                            .sequence = ++send_count,
                            .signature = made->sent};
    memcpy(letter.communicator, made->comm->id, sizeof letter.communicator);
    memcpy(letter.routine, made->routine, sizeof letter.routine);
    memcpy(letter.where, made->where, sizeof letter.where);
    made->sequence = send_count;
    made->matched = false;
    made->next_sent = sends;
    sends = made;
    mail_send(made->comm->peers[made->to], &letter);
}

static void start(struct operation *made)
{
    made->active = true;
    made->told = false;
    if (made->kind & SENDS)
        announce_send(made);
    if (made->kind & RECEIVES) {
        made->receive = new_receive(made->comm, made->source, made->receive_tag, made->routine, made->where);
        set_buffer(made->receive, made->count, made->datatype);
        receives_from_any += made->receive->from_any;
        post_receive(made->receive);
    }
}

static void forget_send(struct operation *gone)
{
    struct operation **at = &sends;
    while (*at && *at != gone)
        at = &(*at)->next_sent;
    if (*at)
        *at = gone->next_sent;
}

static void send_matched(uint64_t sequence)
{
    struct operation *at = sends;
    while (at && at->sequence != sequence)
        at = at->next_sent;
    if (!at)
        return;
    at->matched = true;
    forget_send(at);
}

/* Ends.  A receive whose message isn't known can't be followed, nor can what comes after it. */
static void end(struct operation *done)
{
    forget_send(done);
    if (done->receive && !done->receive->matched) {
        withdraw_receive(done->receive);
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
    return ((struct receive *)receive)->matched;
}

struct deadline {
    struct receive *receive;
    uint64_t until;
};

static bool is_matched_or_late(void *data)
{
    struct deadline *deadline = data;
    return is_matched(deadline->receive) || now_ms() > deadline->until;
}

/* MPI has completed it: its letter is here, or will be soon. */
static void settle(struct operation *done, const MPI_Status *status)
{
    int undone = 0;
    if (!done->active)
        return;
    if (done->cancelled)
        PMPI_Test_cancelled(status, &undone);
    if (done->receive && !undone) {
        struct deadline deadline = {done->receive, now_ms() + PATIENCE_MS};
        resolve_receive(done->receive, status);
        wait_until(is_matched_or_late, &deadline, done->routine, done->where, "");
    }
    done->cancelled = undone;
    end(done);
}

/* Ask without ending the job: what MPI says of a message that is too long is for the program's own call to
 * hear.  MPICH makes a persistent request inactive when it is asked, so its status is kept. */
static bool is_complete(struct operation *made, MPI_Request handle, MPI_Status *status)
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

/* Receives from anybody that are complete: their messages' senders may be waiting to hear of it. */
static void resolve_waiting_receives(void)
{
    MPI_Status status;
    if (!receives_from_any)
        return;
    EACH_OF(requests, struct operation, made)
    if (made->active && made->receive && made->receive->source == MPI_ANY_SOURCE &&
        is_complete(made, (MPI_Request)requests.slots[i_].key, &status))
        resolve_receive(made->receive, &status);
}

/* Both sides are known, so it will be complete soon, and MPI need not be asked. */
static bool is_persistent_and_matched(const struct operation *made)
{
    return made && made->persistent && made->kind && !(made->kind & SENDS && !made->matched) &&
           !(made->kind & RECEIVES && !made->receive->matched);
}

/* Whether a request may be completed. */
static bool is_ready(struct operation *made, MPI_Request handle)
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
    if (!is_complete(made, handle, &status))
        return false;
    if (made->receive && !made->receive->matched && !made->cancelled) {
        resolve_receive(made->receive, &status);
        return made->receive->matched;
    }
    if (made->kind & SENDS && !made->matched && made->mode != BUFFERED && !made->shared && !made->cancelled &&
        !released && !state.impatient) {
        state.releasable = true;
        return false;
    }
    return true;
}

/* What is waited for. */

struct wait {
    struct operation **operations; /* NULL: what is known of the handles, looked up each time */
    const MPI_Request *handles;
    int count;
};

/* Another thread may have completed an operation that had the same handle, and is gone then. */
static struct operation *waited_for(const struct wait *wait, int i)
{
    return wait->operations ? wait->operations[i] : request_of(wait->handles[i]);
}

static bool all_ready(void *data)
{
    const struct wait *wait = data;
    bool all = true;
    state.releasable = false;
    for (int i = 0; i < wait->count; i++)
        all = is_ready(waited_for(wait, i), wait->handles[i]) && all;
    return all;
}

/* One that can complete, or nothing to wait for. */
static bool any_ready(void *data)
{
    const struct wait *wait = data;
    bool active = false;
    state.releasable = false;
    for (int i = 0; i < wait->count; i++) {
        struct operation *made = waited_for(wait, i);
        if (wait->handles[i] == MPI_REQUEST_NULL || (made && made->persistent && !made->active))
            continue;
        active = true;
        if (is_ready(made, wait->handles[i]))
            return true;
    }
    return !active;
}

static void describe(const struct operation *made, char *text, size_t room)
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
        snprintf(text + length, room - length, " of %s", communicator_name(made->comm));
}

#endif
