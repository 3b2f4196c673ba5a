/* What is left at MPI_Finalize: requests, communicators and datatypes that were not given back, messages that
 * nobody received, windows.  Rank 0 tells what all ranks have found, what is alike once.
 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "communicators.h"
#include "deadlock.h"
#include "handle_table.h"
#include "notices.h"
#include "operations.h"
#include "pse_tools.h"
#include "report.h"
#include "tool_memory.h"
#include "type_signature.h"

struct known_window {
    struct pse_handle_node node;
    int locks; /* held */
    char routine[40], where[PSE_CALL_SITE_TEXT];
};

static struct pse_handle_table windows;

void pse_check_window_made(MPI_Win handle, const char *routine)
{
    struct known_window *made = pse_tool_memory(sizeof *made);
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    pse_check_pack_site(made->where);
    pse_handle_add(&windows, PSE_HANDLE(handle), made);
}

void pse_check_window_locked(MPI_Win handle, int change)
{
    struct known_window *window = pse_handle_find(&windows, PSE_HANDLE(handle));
    if (window)
        window->locks += change;
}

void pse_check_window_freed(MPI_Win handle)
{
    free(pse_handle_take(&windows, PSE_HANDLE(handle)));
}

enum { MOST_LEAKS = 64 }; /* of a rank */

struct leak {
    int rank; /* whose fault it is */
    char what[48], routine[40], details[160], where[PSE_CALL_SITE_TEXT], right[96];
};

static struct leak leaks[MOST_LEAKS];
static int leaks_found;

static void report_left(int rank, const char *what, const char *routine, const char *details,
                        const char *where, const char *right)
{
    if (pse_check_was_reported(what, routine, where) || leaks_found == MOST_LEAKS)
        return;
    struct leak *leak = &leaks[leaks_found++];
    memset(leak, 0, sizeof *leak);
    leak->rank = rank;
    snprintf(leak->what, sizeof leak->what, "%s", what);
    snprintf(leak->routine, sizeof leak->routine, "%s", routine);
    snprintf(leak->details, sizeof leak->details, "%s", details);
    snprintf(leak->where, sizeof leak->where, "%s", where);
    snprintf(leak->right, sizeof leak->right, "%s", right);
}

static bool is_alike(const struct leak *a, const struct leak *b)
{
    return strcmp(a->what, b->what) == 0 && strcmp(a->routine, b->routine) == 0 &&
           strcmp(a->where, b->where) == 0;
}

/* The first of its kind, and who else; these are marked as told. */
static void tell_leak(struct leak *first, struct leak *end)
{
    struct check_report report = {.length = 0};
    char others[256] = "";
    int more = 0;
    pse_check_report_add(&report, "pse check: %s\n", first->what);
    pse_check_report_place(&report, first->rank, first->routine, first->details, first->where);
    for (struct leak *at = first + 1; at < end; at++)
        if (is_alike(at, first)) {
            const size_t length = strlen(others);
            if (more++ < SHOWN_RANKS)
                snprintf(others + length, sizeof others - length, "%s%d", more > 1 ? ", " : "", at->rank);
            at->rank = -1;
        }
    if (more)
        pse_check_report_add(&report, "  the same at this place: rank%s %s%s\n", more > 1 ? "s" : "", others,
                             more > SHOWN_RANKS ? " and more" : "");
    pse_check_report_print(&report, first->right);
}

static void tell_leaks(void)
{
    const int bytes = leaks_found * (int)sizeof *leaks;
    int *sizes = pse_tool_memory(2 * (size_t)pse_check_ranks * sizeof *sizes),
        *places = sizes + pse_check_ranks, sum = 0;
    PMPI_Gather(&bytes, 1, MPI_INT, sizes, 1, MPI_INT, 0, pse_check_comm);
    for (int rank = 0; rank < pse_check_ranks; sum += sizes[rank++])
        places[rank] = sum;
    struct leak *all = pse_tool_memory((size_t)sum), *end = all + sum / (int)sizeof *all;
    PMPI_Gatherv(leaks, bytes, MPI_BYTE, all, sizes, places, MPI_BYTE, 0, pse_check_comm);
    for (struct leak *leak = all; leak < end; leak++)
        if (leak->rank >= 0)
            tell_leak(leak, end);
    free(all);
    free(sizes);
}

static void report_request(const struct check_operation *left)
{
    char details[160];
    pse_check_describe(left, details, sizeof details);
    if (left->persistent)
        report_left(pse_check_rank, "a persistent request was never freed", left->routine, details,
                    left->where, "MPI_Request_free (mpi4py: request.Free()) before MPI_Finalize");
    else
        report_left(pse_check_rank, "a request was never completed", left->routine, details, left->where,
                    "MPI_Wait or MPI_Test until it is complete, before MPI_Finalize");
}

static void report_unreceived(const struct check_communicator *comm, const struct check_notice *notice)
{
    char details[160];
    snprintf(details, sizeof details, " to rank %d, tag %d of %.60s", comm->rank, notice->tag,
             pse_check_communicator_name(comm));
    report_left(comm->peers[notice->from], "a message was never received", notice->routine, details,
                notice->where, "each message is received before MPI_Finalize");
}

void pse_check_report_leaks(void)
{
    PSE_HANDLE_EACH(&pse_check_requests, struct check_operation, left)
    report_request(left);
    for (struct check_communicator *left = pse_check_communicators; left; left = left->next)
        if (!left->predefined && !left->freed)
            report_left(pse_check_rank, "a communicator was never freed", left->routine, "", left->where,
                        "MPI_Comm_free (mpi4py: comm.Free()) before MPI_Finalize");
    PSE_HANDLE_EACH(&windows, struct known_window, left)
    report_left(pse_check_rank, "a window was never freed", left->routine,
                left->locks ? ", with a lock that was never unlocked" : "", left->where,
                "MPI_Win_free (mpi4py: window.Free()) before MPI_Finalize");
    PSE_HANDLE_EACH(&pse_check_types, struct known_type, left)
    if (left->routine[0])
        report_left(pse_check_rank, "a datatype was never freed", left->routine, "", left->where,
                    "MPI_Type_free (mpi4py: datatype.Free()) before MPI_Finalize");
    for (struct check_communicator *comm = pse_check_communicators; comm; comm = comm->next)
        for (struct pending_notice *at = comm->checked ? comm->arrived : NULL; at; at = at->next)
            report_unreceived(comm, &at->notice);
    tell_leaks();
}
