/* Waits and tests of requests, of the tool's, of MPI's, and of both at once. */
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "communicators.h"
#include "layer.h"
#include "notes.h"
#include "operations.h"
#include "tool.h"

enum { FEW = 32 };

/* The requests of a call: the tool's active ones, and a copy with MPI's, where all others are null. */
struct view {
    int count, own, foreign, inactive; /* inactive: null, or persistent and not started */
    struct pse_bcs_operation *few_operations[FEW], **operations;
    int few_places[FEW], *places; /* of the tool's */
    MPI_Request few_requests[FEW], *requests;
};

static void look_at(struct view *view, int count, const MPI_Request requests[])
{
    const bool fits = count <= FEW;
    *view = (struct view){.count = count};
    view->operations = fits ? view->few_operations : pse_bcs_memory((size_t)count * sizeof *view->operations);
    view->places = fits ? view->few_places : pse_bcs_memory((size_t)count * sizeof *view->places);
    view->requests = fits ? view->few_requests : pse_bcs_memory((size_t)count * sizeof *view->requests);
    for (int i = 0; i < count; i++) {
        struct pse_bcs_operation *one = pse_bcs_operation_of(requests[i]);
        view->requests[i] = one ? MPI_REQUEST_NULL : requests[i];
        if (one && pse_bcs_is_active(one)) {
            view->places[view->own] = i;
            view->operations[view->own++] = one;
        } else if (one || requests[i] == MPI_REQUEST_NULL) {
            view->inactive++;
        } else {
            view->foreign++;
        }
    }
}

static void look_away(struct view *view)
{
    if (view->operations == view->few_operations)
        return;
    free(view->operations), free(view->places), free(view->requests);
}

/* MPI has changed its requests. */
static void give_back(const struct view *view, MPI_Request requests[])
{
    for (int i = 0; i < view->count; i++)
        if (!pse_bcs_operation_of(requests[i]))
            requests[i] = view->requests[i];
}

static MPI_Status *status_at(MPI_Status *statuses, int place)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[place];
}

/* The errors of a list of operations: each is in its status, and they are raised once. */
struct errors {
    struct pse_bcs_comm *comm; /* of the first one */
};

static void end_listed(struct pse_bcs_operation *one, MPI_Request *request, MPI_Status *status,
                       struct errors *errors)
{
    struct pse_bcs_comm *comm = one->comm;
    comm->references++;
    const int error = pse_bcs_complete(one, request, status);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = error;
    if (error && !errors->comm)
        errors->comm = comm;
    else
        pse_bcs_comm_release(comm);
}

static int raise(const struct errors *errors)
{
    if (!errors->comm)
        return MPI_SUCCESS;
    const int error = pse_bcs_raise(errors->comm, MPI_ERR_IN_STATUS);
    pse_bcs_comm_release(errors->comm);
    return error;
}

static int end_all(const struct view *view, MPI_Request requests[], MPI_Status statuses[])
{
    struct errors errors = {NULL};
    for (int i = 0; i < view->own; i++) {
        const int place = view->places[i];
        end_listed(view->operations[i], &requests[place], status_at(statuses, place), &errors);
    }
    return raise(&errors);
}

/* One request */

static int end_one(struct pse_bcs_operation *one, MPI_Request *request, MPI_Status *status)
{
    struct pse_bcs_comm *comm = one->comm;
    comm->references++;
    const int error = pse_bcs_raise(comm, pse_bcs_complete(one, request, status));
    pse_bcs_comm_release(comm);
    return error;
}

TOOL_PUBLIC int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    PSE_BCS_NOTE("Wait", true);
    struct pse_bcs_operation *one = pse_bcs_operation_of(*request);
    if (!one && *request == MPI_REQUEST_NULL)
        return PMPI_Wait(request, status);
    if (!one)
        PSE_BCS_AWAY(PMPI_Wait(request, status));
    if (!pse_bcs_is_active(one)) {
        pse_bcs_set_empty_status(status);
        return MPI_SUCCESS;
    }
    pse_bcs_wait(&one, 1, PSE_BCS_FOR_ALL);
    return end_one(one, request, status);
}

TOOL_PUBLIC int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    PSE_BCS_NOTE("Test", true);
    struct pse_bcs_operation *one = pse_bcs_operation_of(*request);
    if (!one && *request == MPI_REQUEST_NULL)
        return PMPI_Test(request, flag, status);
    if (!one)
        PSE_BCS_AWAY(PMPI_Test(request, flag, status));
    *flag = true;
    if (!pse_bcs_is_active(one)) {
        pse_bcs_set_empty_status(status);
        return MPI_SUCCESS;
    }
    *flag = pse_bcs_wait(&one, 1, PSE_BCS_FOR_NONE);
    return *flag ? end_one(one, request, status) : MPI_SUCCESS;
}

TOOL_PUBLIC int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    PSE_BCS_NOTE("Request_get_status", true);
    struct pse_bcs_operation *one = pse_bcs_operation_of(request);
    if (!one)
        PSE_BCS_AWAY(PMPI_Request_get_status(request, flag, status));
    *flag = !pse_bcs_is_active(one) || pse_bcs_wait(&one, 1, PSE_BCS_FOR_NONE);
    if (*flag)
        pse_bcs_peek(one, status);
    return MPI_SUCCESS;
}

/* MPI takes its requests: others take this rank for blocked while it waits there.  Without any, MPI only says
 * so of those that are null. */
static void go_to_mpi(const struct view *view)
{
    if (view->foreign)
        pse_bcs_go_away();
}

static void come_from_mpi(const struct view *view)
{
    if (view->foreign)
        pse_bcs_come_back();
}

/* All of several */

TOOL_PUBLIC int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    PSE_BCS_NOTE("Waitall", true);
    struct view view;
    int error = MPI_SUCCESS;
    look_at(&view, count, requests);
    pse_bcs_wait(view.operations, (size_t)view.own, PSE_BCS_FOR_ALL);
    if (view.own < count) {
        go_to_mpi(&view);
        error = PMPI_Waitall(count, view.requests, statuses);
        come_from_mpi(&view);
        give_back(&view, requests);
    }
    const int own_error = end_all(&view, requests, statuses);
    look_away(&view);
    return error ? error : own_error;
}

TOOL_PUBLIC int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    PSE_BCS_NOTE("Testall", true);
    struct view view;
    int error = MPI_SUCCESS;
    look_at(&view, count, requests);
    *flag = pse_bcs_wait(view.operations, (size_t)view.own, PSE_BCS_FOR_NONE);
    if (*flag && view.own < count) {
        go_to_mpi(&view);
        error = PMPI_Testall(count, view.requests, flag, statuses);
        come_from_mpi(&view);
        give_back(&view, requests);
    }
    const int own_error = *flag ? end_all(&view, requests, statuses) : MPI_SUCCESS;
    look_away(&view);
    return error ? error : own_error;
}

/* One or some of several */

static int find_done(const struct view *view)
{
    for (int i = 0; i < view->own; i++)
        if (pse_bcs_is_done(view->operations[i]))
            return i;
    return -1;
}

/* Where MPI has requests too, both are looked at in turn: then timing decides. */
static int wait_for_any(struct view *view, int *index, MPI_Status *status, int *error)
{
    pse_backoff wait = {0};
    int found, flag = false;
    pse_bcs_go_away();
    while ((found = find_done(view)) < 0 && !flag) {
        *error = PMPI_Testany(view->count, view->requests, index, &flag, status);
        if (*error)
            break;
        pse_backoff_pause(&wait);
    }
    pse_bcs_come_back();
    return found;
}

TOOL_PUBLIC int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    PSE_BCS_NOTE("Waitany", true);
    struct view view;
    int error = MPI_SUCCESS, found = -1;
    look_at(&view, count, requests);
    if (view.foreign && view.own)
        found = wait_for_any(&view, index, status, &error);
    else if (view.own)
        found = (int)pse_bcs_wait_for_one(view.operations, (size_t)view.own);
    else {
        go_to_mpi(&view);
        error = PMPI_Waitany(count, view.requests, index, status);
        come_from_mpi(&view);
    }
    give_back(&view, requests);
    if (found >= 0) {
        *index = view.places[found];
        error = end_one(view.operations[found], &requests[*index], status);
    }
    look_away(&view);
    return error;
}

/* The place among the tool's requests of one that has come, or -1. */
static int find_come(const struct view *view)
{
    for (int i = 0; i < view->own; i++)
        if (pse_bcs_wait(&view->operations[i], 1, PSE_BCS_FOR_NONE))
            return i;
    return -1;
}

/* MPI says that no request is active, where only its own are not. */
static void correct_flag(const struct view *view, int index, int *flag)
{
    if (view->own && index == MPI_UNDEFINED)
        *flag = false;
}

TOOL_PUBLIC int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    PSE_BCS_NOTE("Testany", true);
    struct view view;
    int error = MPI_SUCCESS;
    look_at(&view, count, requests);
    const int found = find_come(&view);
    *flag = found >= 0;
    *index = *flag ? view.places[found] : MPI_UNDEFINED;
    if (*flag) {
        error = end_one(view.operations[found], &requests[*index], status);
    } else if (view.foreign || !view.own) {
        go_to_mpi(&view);
        error = PMPI_Testany(count, view.requests, index, flag, status);
        come_from_mpi(&view);
        give_back(&view, requests);
        correct_flag(&view, *index, flag);
    }
    look_away(&view);
    return error;
}

/* Some of the tool's requests; gives how many. */
static int test_own(const struct view *view, MPI_Request requests[], int indices[], MPI_Status statuses[],
                    struct errors *errors)
{
    int found = 0;
    for (int i = 0; i < view->own; i++) {
        if (!pse_bcs_wait(&view->operations[i], 1, PSE_BCS_FOR_NONE))
            continue;
        const int place = indices[found] = view->places[i];
        end_listed(view->operations[i], &requests[place], status_at(statuses, found++), errors);
    }
    return found;
}

TOOL_PUBLIC int MPI_Testsome(int count, MPI_Request requests[], int *completed, int indices[],
                             MPI_Status statuses[])
{
    PSE_BCS_NOTE("Testsome", true);
    struct view view;
    struct errors errors = {NULL};
    int error = MPI_SUCCESS, more = 0;
    look_at(&view, count, requests);
    const int own = test_own(&view, requests, indices, statuses, &errors);
    if (view.foreign || !view.own) {
        go_to_mpi(&view);
        error = PMPI_Testsome(count, view.requests, &more, indices + own,
                              statuses == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : statuses + own);
        come_from_mpi(&view);
        give_back(&view, requests);
    }
    *completed = view.own && more == MPI_UNDEFINED ? own : own + more;
    if (!view.own)
        *completed = more;
    look_away(&view);
    const int own_error = raise(&errors);
    return error ? error : own_error;
}

/* One as by MPI_Waitany; of the others what has come by then, as by MPI_Testsome. */
TOOL_PUBLIC int MPI_Waitsome(int count, MPI_Request requests[], int *completed, int indices[],
                             MPI_Status statuses[])
{
    PSE_BCS_NOTE("Waitsome", true);
    MPI_Status status;
    const bool tells = statuses != MPI_STATUSES_IGNORE;
    int more = 0, error = MPI_Waitany(count, requests, &indices[0], &status);
    *completed = indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
    if (*completed == 1 && tells) {
        statuses[0] = status;
        statuses[0].MPI_ERROR = error;
    }
    if (*completed == 1 && count > 1)
        error |= MPI_Testsome(count, requests, &more, indices + 1, tells ? statuses + 1 : statuses);
    if (*completed == 1 && more != MPI_UNDEFINED)
        *completed += more;
    return error ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

/* Looks at several, which stay */

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)

/* Requests that stay as they are: the standard and MPICH say const, Intel's MPI does not. */
typedef __typeof__(_Generic(&MPI_Request_get_status_all,
                       int (*)(int, MPI_Request *, int *, MPI_Status *): (MPI_Request *)NULL,
                       default: (const MPI_Request *)NULL)) kept_requests;

TOOL_PUBLIC int MPI_Request_get_status_all(int count, kept_requests requests, int *flag,
                                           MPI_Status statuses[])
{
    PSE_BCS_NOTE("Request_get_status_all", true);
    int error = MPI_SUCCESS;
    *flag = true;
    for (int i = 0; i < count && *flag && !error; i++)
        error = MPI_Request_get_status(requests[i], flag, status_at(statuses, i));
    return error;
}

TOOL_PUBLIC int MPI_Request_get_status_any(int count, kept_requests requests, int *index, int *flag,
                                           MPI_Status *status)
{
    PSE_BCS_NOTE("Request_get_status_any", true);
    struct view view;
    int error = MPI_SUCCESS;
    look_at(&view, count, requests);
    const int found = find_come(&view);
    *flag = found >= 0;
    *index = *flag ? view.places[found] : MPI_UNDEFINED;
    if (*flag) {
        pse_bcs_peek(view.operations[found], status);
    } else if (view.foreign || !view.own) {
        go_to_mpi(&view);
        error = PMPI_Request_get_status_any(count, view.requests, index, flag, status);
        come_from_mpi(&view);
        correct_flag(&view, *index, flag);
    }
    look_away(&view);
    return error;
}

TOOL_PUBLIC int MPI_Request_get_status_some(int count, kept_requests requests, int *completed, int indices[],
                                            MPI_Status statuses[])
{
    PSE_BCS_NOTE("Request_get_status_some", true);
    struct view view;
    int own = 0, more = 0, error = MPI_SUCCESS;
    look_at(&view, count, requests);
    for (int i = 0; i < view.own; i++) {
        if (!pse_bcs_wait(&view.operations[i], 1, PSE_BCS_FOR_NONE))
            continue;
        indices[own] = view.places[i];
        pse_bcs_peek(view.operations[i], status_at(statuses, own++));
    }
    if (view.foreign || !view.own) {
        go_to_mpi(&view);
        error = PMPI_Request_get_status_some(count, view.requests, &more, indices + own,
                                             statuses == MPI_STATUSES_IGNORE ? statuses : statuses + own);
        come_from_mpi(&view);
    }
    *completed = view.own && more == MPI_UNDEFINED ? own : own + more;
    if (!view.own)
        *completed = more;
    look_away(&view);
    return error;
}

#endif

/* The rest of a request's life */

TOOL_PUBLIC int MPI_Start(MPI_Request *request)
{
    PSE_BCS_NOTE("Start", false);
    struct pse_bcs_operation *one = pse_bcs_operation_of(*request);
    if (!one)
        return PMPI_Start(request);
    pse_bcs_start_again(one);
    return MPI_SUCCESS;
}

TOOL_PUBLIC int MPI_Startall(int count, MPI_Request requests[])
{
    PSE_BCS_NOTE("Startall", false);
    int error = MPI_SUCCESS;
    for (int i = 0; i < count && !error; i++)
        error = MPI_Start(&requests[i]);
    return error;
}

TOOL_PUBLIC int MPI_Request_free(MPI_Request *request)
{
    struct pse_bcs_operation *one = pse_bcs_operation_of(*request);
    if (!one)
        return PMPI_Request_free(request);
    pse_bcs_abandon(one);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

TOOL_PUBLIC int MPI_Cancel(MPI_Request *request)
{
    struct pse_bcs_operation *one = pse_bcs_operation_of(*request);
    if (!one)
        return PMPI_Cancel(request);
    pse_bcs_cancel(one);
    return MPI_SUCCESS;
}
