/* What is left at MPI_Finalize: requests, communicators and datatypes that were not given back, messages that
 * nobody received, windows.  Rank 0 tells what all ranks have found, what is alike once.
 *
 * May touch: nothing but letters' communicator.
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

enum { MOST_LEAKS = 64 }; /* of a rank */

struct leak {
    int rank; /* whose fault it is */
    char what[48], routine[40], details[160], where[SITE_TEXT], right[96];
};

static struct leak leaks[MOST_LEAKS];
static int leaks_found;

static void report_left(int rank, const char *what, const char *routine, const char *details,
                        const char *where, const char *right)
{
    if (told_before(what, routine, where) || leaks_found == MOST_LEAKS)
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
    struct report report = {.length = 0};
    char others[256] = "";
    int more = 0;
    add(&report, "pse check: %s\n", first->what);
    add_place(&report, first->rank, first->routine, first->details, first->where);
    for (struct leak *at = first + 1; at < end; at++)
        if (is_alike(at, first)) {
            const size_t length = strlen(others);
            if (more++ < SHOWN_RANKS)
                snprintf(others + length, sizeof others - length, "%s%d", more > 1 ? ", " : "", at->rank);
            at->rank = -1;
        }
    if (more)
        add(&report, "  the same, there: rank%s %s%s\n", more > 1 ? "s" : "", others,
            more > SHOWN_RANKS ? " and more" : "");
    tell(&report, first->right);
}

static void tell_leaks(void)
{
    const int bytes = leaks_found * (int)sizeof *leaks;
    int *sizes = calloc(2 * (size_t)job_ranks, sizeof *sizes), *places = sizes + job_ranks, sum = 0;
    PMPI_Gather(&bytes, 1, MPI_INT, sizes, 1, MPI_INT, 0, mail);
    for (int rank = 0; rank < job_ranks; sum += sizes[rank++])
        places[rank] = sum;
    struct leak *all = malloc((size_t)sum + 1), *end = all + sum / (int)sizeof *all;
    PMPI_Gatherv(leaks, bytes, MPI_BYTE, all, sizes, places, MPI_BYTE, 0, mail);
    for (struct leak *leak = all; leak < end; leak++)
        if (leak->rank >= 0)
            tell_leak(leak, end);
    free(all);
    free(sizes);
}

static void report_request(const struct operation *left)
{
    char details[160];
    describe(left, details, sizeof details);
    if (left->persistent)
        report_left(job_rank, "a persistent request was never freed", left->routine, details, left->where,
                    "MPI_Request_free (mpi4py: request.Free()) before MPI_Finalize");
    else
        report_left(job_rank, "a request was never completed", left->routine, details, left->where,
                    "MPI_Wait or MPI_Test until it is complete, before MPI_Finalize");
}

static void report_unreceived(const struct communicator *comm, const struct letter *letter)
{
    char details[160];
    snprintf(details, sizeof details, " to rank %d, tag %d of %.60s", comm->rank, letter->tag,
             communicator_name(comm));
    report_left(comm->peers[letter->from], "a message was never received", letter->routine, details,
                letter->where, "each message is received before MPI_Finalize");
}

static void report_leaks(void)
{
    EACH_OF(requests, struct operation, left)
    report_request(left);
    for (struct communicator *left = all_communicators; left; left = left->next)
        if (!left->predefined && !left->freed)
            report_left(job_rank, "a communicator was never freed", left->routine, "", left->where,
                        "MPI_Comm_free (mpi4py: comm.Free()) before MPI_Finalize");
    EACH_OF(windows, struct window, left)
    report_left(job_rank, "a window was never freed", left->routine,
                left->locks ? ", with a lock that was never unlocked" : "", left->where,
                "MPI_Win_free (mpi4py: window.Free()) before MPI_Finalize");
    EACH_OF(types, struct type, left)
    if (left->routine[0])
        report_left(job_rank, "a datatype was never freed", left->routine, "", left->where,
                    "MPI_Type_free (mpi4py: datatype.Free()) before MPI_Finalize");
    for (struct communicator *comm = all_communicators; comm; comm = comm->next)
        for (struct waiting_letter *at = comm->checked ? comm->arrived : NULL; at; at = at->next)
            report_unreceived(comm, &at->letter);
    tell_leaks();
}

#endif
