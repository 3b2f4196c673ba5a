/* Messages and requests as `check` follows them.
 *
 * A blocking call is made as a non-blocking one that is waited for, so that letters are read meanwhile.  A
 * receive is only completed when its message's letter has been compared: after that MPI may end the job for
 * its own reasons.  A send is only complete when its receive is known, since MPI may make it wait for that.
 *
 * May touch: nothing but letters.
 */
#ifndef PSE_CHECK_REQUESTS_H
#define PSE_CHECK_REQUESTS_H

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
    char routine[40], where[SITE_TEXT];
};

static struct handles requests, probed_messages;
static struct operation *sends; /* that wait for their match */
static uint64_t send_count;
static int receives_from_any; /* posted and not yet complete */

#define EACH_OF(table, type, entry)                                                                          \
    for (size_t i_ = 0; i_ < (table).size; i_++)                                                             \
        for (type *entry = (type *)(table).slots[i_].first; entry; entry = (type *)entry->node.next)

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
    if (made->comm && to >= 0 && to < made->comm->size) {
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
    mail_send(made->comm->ranks[made->to], &letter);
}

static void start(struct operation *made)
{
    made->active = true;
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
 * hear. */
static bool is_complete(const struct operation *made, MPI_Request handle, MPI_Status *status)
{
    int complete = 0;
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

/* Whether a request may be completed. */
static bool is_ready(struct operation *made, MPI_Request handle)
{
    MPI_Status status;
    if (handle == MPI_REQUEST_NULL || (made && made->persistent && !made->active))
        return true;
    if (made && made->receive && !made->receive->from_any && !made->cancelled && !made->receive->matched)
        return false;
    if (!is_complete(made, handle, &status))
        return false;
    if (!made)
        return true;
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

/* Blocking calls. */

struct wait {
    struct operation **operations;
    const MPI_Request *handles;
    int count;
};

static bool all_ready(void *data)
{
    const struct wait *wait = data;
    bool all = true;
    state.releasable = false;
    for (int i = 0; i < wait->count; i++)
        all = is_ready(wait->operations[i], wait->handles[i]) && all;
    return all;
}

/* One that can complete, or nothing to wait for. */
static bool any_ready(void *data)
{
    const struct wait *wait = data;
    bool active = false;
    state.releasable = false;
    for (int i = 0; i < wait->count; i++) {
        const struct operation *made = wait->operations[i];
        if (wait->handles[i] == MPI_REQUEST_NULL || (made && made->persistent && !made->active))
            continue;
        active = true;
        if (is_ready(wait->operations[i], wait->handles[i]))
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

#if MPI_VERSION >= 4
typedef MPI_Count call_count;
#define NONBLOCKING(name) PMPI_##name##_c
#else
typedef int call_count;
#define NONBLOCKING(name) PMPI_##name
#endif

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
        error = NONBLOCKING(Issend)(buffer, (call_count)count, datatype, to, tag, comm, &handle);
    else if (mode == BUFFERED)
        error = NONBLOCKING(Ibsend)(buffer, (call_count)count, datatype, to, tag, comm, &handle);
    else if (mode == READY)
        error = NONBLOCKING(Irsend)(buffer, (call_count)count, datatype, to, tag, comm, &handle);
    else
        error = NONBLOCKING(Isend)(buffer, (call_count)count, datatype, to, tag, comm, &handle);
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
    int error = NONBLOCKING(Irecv)(buffer, (call_count)count, datatype, source, tag, comm, &handle);
    if (error == MPI_SUCCESS) {
        start(&made);
        error = finish(&made, &handle, status);
    }
    unlock();
    return error;
}

#if MPI_VERSION >= 4
static int checked_sendrecv(const void *out, MPI_Count out_count, MPI_Datatype out_type, int to, int tag,
                            void *in, MPI_Count in_count, MPI_Datatype in_type, int source, int receive_tag,
                            MPI_Comm comm, MPI_Status *status, const char *routine)
{
    struct operation made;
    MPI_Request handle;
    int error;
    lock();
    init_operation(&made, comm, routine);
    set_send(&made, STANDARD, out_count, out_type, to, tag);
    set_receive(&made, in_count, in_type, source, receive_tag);
    if (out)
        error = PMPI_Isendrecv_c(out, out_count, out_type, to, tag, in, in_count, in_type, source,
                                 receive_tag, comm, &handle);
    else
        error = PMPI_Isendrecv_replace_c(in, in_count, in_type, to, tag, source, receive_tag, comm, &handle);
    if (error == MPI_SUCCESS) {
        start(&made);
        error = finish(&made, &handle, status);
    }
    unlock();
    return error;
}
#endif

/* Non-blocking calls. */

static struct operation *enter_request(MPI_Comm comm, MPI_Request handle, const char *routine)
{
    struct operation *made = malloc(sizeof *made), *same = handles_find(&requests, PSE_HANDLE(handle));
    init_operation(made, comm, routine);
    if (same)
        same->shared = made->shared = true; /* Complete since its start. */
    if (made->comm)
        made->comm->users++;
    handles_add(&requests, PSE_HANDLE(handle), made);
    return made;
}

static struct operation *request_of(MPI_Request handle)
{
    return handle == MPI_REQUEST_NULL ? NULL : handles_find(&requests, PSE_HANDLE(handle));
}

static void drop_request(MPI_Request handle)
{
    struct operation *gone = handles_take(&requests, PSE_HANDLE(handle));
    if (gone->comm) {
        gone->comm->users--;
        communicator_unused(gone->comm);
    }
    free(gone);
}

static void started(MPI_Request handle)
{
    struct operation *made = request_of(handle);
    if (made)
        start(made);
}

static void request_done(MPI_Request handle, const MPI_Status *status)
{
    struct operation *done = request_of(handle);
    if (!done)
        return;
    settle(done, status);
    if (!done->persistent)
        drop_request(handle);
}

static void all_done(int count, const struct kept *kept)
{
    for (int i = 0; i < count; i++)
        request_done(kept->requests[i], &kept->statuses[i]);
}

static void some_done(int count, const int indices[], const struct kept *kept)
{
    for (int i = 0; i < count; i++)
        request_done(kept->requests[indices[i]], &kept->statuses[i]);
}

static void request_freed(MPI_Request handle)
{
    struct operation *gone = request_of(handle);
    if (!gone)
        return;
    if (gone->active)
        end(gone);
    drop_request(handle);
}

static void request_cancelled(MPI_Request handle)
{
    struct operation *made = request_of(handle);
    if (made)
        made->cancelled = true;
}

/* Wait until all, or one, of some requests may be completed. */
static void wait_for(int count, const MPI_Request handles[], bool (*ready)(void *), const char *routine)
{
    char where[SITE_TEXT], text[120] = "";
    struct operation **made = malloc(sizeof(*made) * (size_t)(count + 1));
    struct wait wait = {made, handles, count};
    for (int i = 0; i < count; i++) {
        made[i] = request_of(handles[i]);
        if (made[i] && made[i]->active && !text[0]) {
            snprintf(text, sizeof text, " for %s", made[i]->routine);
            describe(made[i], text + strlen(text), sizeof text - strlen(text));
        }
    }
    site_pack(where);
    wait_until(ready, &wait, routine, where, text);
    free(made);
}

/* Before a test: compare what is complete, before MPI completes it. */
static void look_at(int count, const MPI_Request handles[])
{
    attend();
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        struct operation *made = request_of(handles[i]);
        if (!made || !made->receive || made->receive->matched || made->cancelled)
            continue;
        if (is_complete(made, handles[i], &status)) {
            struct deadline deadline = {made->receive, now_ms() + PATIENCE_MS};
            resolve_receive(made->receive, &status);
            wait_until(is_matched_or_late, &deadline, made->routine, made->where, "");
        }
    }
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
