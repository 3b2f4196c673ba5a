/* The program's requests, from the call that makes them to their end.
 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadlock.h"
#include "pse_tools.h"
#include "report.h"

struct check_operation *pse_check_enter_request(MPI_Comm comm, MPI_Request handle, const char *routine)
{
    struct check_operation *made = malloc(sizeof *made),
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

void pse_check_all_done(int count, const struct pse_request_snapshot *snapshot)
{
    for (int i = 0; i < count; i++)
        pse_check_request_done(snapshot->requests[i], &snapshot->statuses[i]);
}

void pse_check_some_done(int count, const int indices[], const struct pse_request_snapshot *snapshot)
{
    for (int i = 0; i < count; i++)
        pse_check_request_done(snapshot->requests[indices[i]], &snapshot->statuses[i]);
}

void pse_check_request_freed(MPI_Request handle)
{
    struct check_operation *gone = pse_check_request_of(handle);
    if (!gone)
        return;
    pse_handle_take(&pse_check_requests, PSE_HANDLE(handle));
    if (gone->active)
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
