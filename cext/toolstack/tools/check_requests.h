/* The program's requests, from the call that makes them to their end.
 *
 * May touch: nothing but letters.
 */
#ifndef PSE_CHECK_REQUESTS_H
#define PSE_CHECK_REQUESTS_H

#include "check_operations.h"

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

/* MPI_Comm_idup has been called. */
static void idup_starts(MPI_Comm *newcomm, MPI_Comm comm, MPI_Request handle, const char *routine)
{
    struct operation *made = enter_request(comm, handle, routine);
    made->active = true;
    if (made->comm && !made->comm->inter)
        made->coming = communicator_comes(newcomm, comm);
}

/* It is in the table no longer. */
static void drop_request(struct operation *gone)
{
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

/* The handle may be another thread's already. */
static void request_done(MPI_Request handle, MPI_Status *status)
{
    struct operation *done = request_of(handle);
    if (!done)
        return;
    if (!done->persistent)
        handles_take(&requests, PSE_HANDLE(handle));
    if (done->told)
        *status = done->status;
    done->told = false;
    settle(done, status);
    if (done->coming)
        communicator_came(done->coming, done->routine, done->where);
    if (!done->persistent)
        drop_request(done);
}

/* The first request that MPI takes for inactive, because it has told of its completion already; -1 if there
 * is none. */
static int first_told(int count, const MPI_Request handles[])
{
    for (int i = 0; i < count; i++) {
        const struct operation *made = request_of(handles[i]);
        if (made && made->told)
            return i;
    }
    return -1;
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
    handles_take(&requests, PSE_HANDLE(handle));
    if (gone->active)
        end(gone);
    drop_request(gone);
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
    struct wait wait = {NULL, handles, count};
    for (int i = 0; i < count && !text[0]; i++) {
        const struct operation *made = request_of(handles[i]);
        if (made && made->active) {
            snprintf(text, sizeof text, " for %s", made->routine);
            describe(made, text + strlen(text), sizeof text - strlen(text));
        }
    }
    site_pack(where);
    wait_until(ready, &wait, routine, where, text);
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

#endif
