/* What is left at MPI_Finalize: requests, communicators and datatypes that were not given back, messages that
 * nobody received, windows.
 *
 * May touch: nothing.
 */
#ifndef PSE_CHECK_LEAKS_H
#define PSE_CHECK_LEAKS_H

#include "check_requests.h"
#include "check_windows.h"

static void type_made(MPI_Datatype datatype, const char *routine)
{
    free(handles_take(&types, PSE_HANDLE(datatype))); /* A handle that is used again. */
    struct type *made = calloc(1, sizeof *made);
    made->one = compute_signature(datatype);
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    site_pack(made->where);
    handles_add(&types, PSE_HANDLE(datatype), made);
}

static void type_gone(MPI_Datatype datatype)
{
    free(handles_take(&types, PSE_HANDLE(datatype)));
}

static void report_left(const char *what, const char *routine, const char *details, const char *where,
                        const char *right)
{
    struct report report = {.length = 0};
    if (told_before(what, routine, where))
        return;
    add(&report, "pse check: %s\n", what);
    add_place(&report, job_rank, routine, details, where);
    tell(&report, right);
}

static void report_request(const struct operation *left)
{
    char details[160];
    describe(left, details, sizeof details);
    if (left->persistent)
        report_left("a persistent request was never freed", left->routine, details, left->where,
                    "MPI_Request_free (mpi4py: request.Free()) before MPI_Finalize");
    else
        report_left("a request was never completed", left->routine, details, left->where,
                    "MPI_Wait or MPI_Test until it is complete, before MPI_Finalize");
}

static void report_unreceived(const struct communicator *comm, const struct letter *letter)
{
    struct report report = {.length = 0};
    char details[160];
    if (told_before("unreceived", letter->routine, letter->where))
        return;
    snprintf(details, sizeof details, " to rank %d, tag %d of %.60s", comm->rank, letter->tag,
             communicator_name(comm));
    add(&report, "pse check: a message was never received\n");
    add_place(&report, comm->peers[letter->from], letter->routine, details, letter->where);
    tell(&report, "each message is received before MPI_Finalize");
}

static void report_leaks(void)
{
    EACH_OF(requests, struct operation, left)
    report_request(left);
    for (struct communicator *left = all_communicators; left; left = left->next)
        if (!left->predefined && !left->freed)
            report_left("a communicator was never freed", left->routine, "", left->where,
                        "MPI_Comm_free (mpi4py: comm.Free()) before MPI_Finalize");
    EACH_OF(windows, struct window, left)
    report_left("a window was never freed", left->routine,
                left->locks ? ", with a lock that was never unlocked" : "", left->where,
                "MPI_Win_free (mpi4py: window.Free()) before MPI_Finalize");
    EACH_OF(types, struct type, left)
    if (left->routine[0])
        report_left("a datatype was never freed", left->routine, "", left->where,
                    "MPI_Type_free (mpi4py: datatype.Free()) before MPI_Finalize");
    for (struct communicator *comm = all_communicators; comm; comm = comm->next)
        for (struct waiting_letter *at = comm->checked ? comm->arrived : NULL; at; at = at->next)
            report_unreceived(comm, &at->letter);
}

#endif
