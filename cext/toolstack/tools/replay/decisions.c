/* Following the decisions of a rank's file. */
#include "decisions.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "abort_job.h"
#include "call_site.h"
#include "decision_log.h"
#include "tool.h"

static struct pse_decision *entries;
static struct pse_decision_header header;
static size_t place;      /* of the next entry */
static uint32_t repeated; /* times that it was followed already */
static uint64_t calls;    /* followed so far */
bool pse_replay_following;
static MPI_Comm nobody = MPI_COMM_NULL; /* for receives that never got a message */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Divergence. */

_Noreturn static void __attribute__((format(printf, 1, 2))) diverge(const char *format, ...)
{
    struct pse_call_site site;
    char where[PATH_MAX], what[256];
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    pse_call_site_take(&site);
    pse_call_site_text(&site, where, sizeof where);
    pse_tool_warn("at call %llu of the record: %s, at %s; the program, its input or its number of threads is "
                  "not that of the "
                  "recorded run",
                  (unsigned long long)calls + 1, what, where);
    pse_tool_abort_job(1);
}

/* The next entry, which must be this call. */
static struct pse_decision next(unsigned call, int asked_tag, int requests)
{
    if (place == header.entries)
        diverge("the record ends, but the program calls %s", pse_decision_call_name(call));
    struct pse_decision entry = entries[place];
    if (entry.call != call)
        diverge("%s was recorded, but the program calls %s", pse_decision_call_name(entry.call),
                pse_decision_call_name(call));
    if (entry.asked_tag != asked_tag)
        diverge("%s was recorded with tag %d, but the program asks for tag %d", pse_decision_call_name(call),
                entry.asked_tag, asked_tag);
    if (entry.requests != (uint32_t)requests)
        diverge("%s was recorded with %u requests, but the program gives %d", pse_decision_call_name(call),
                entry.requests, requests);
    calls++;
    if (++repeated == entry.repeat) {
        repeated = 0;
        place++;
    }
    return entry;
}

bool pse_replay_active(void)
{
    if (pse_replay_following && header.aborted && place == header.entries) {
        pse_tool_warn("the record ends here, since the recorded run was aborted or killed: from here on "
                      "nothing is replayed");
        pse_replay_following = false;
    }
    return pse_replay_following;
}

/* Receives and probes. */

void pse_replay_direct(unsigned call, int *source, int *tag, MPI_Comm *comm)
{
    if (*source != MPI_ANY_SOURCE || !pse_replay_active())
        return;
    pse_call_site_lock(&mutex);
    struct pse_decision entry = next(call, *tag, 0);
    pthread_mutex_unlock(&mutex);
    bool never = entry.source == DECIDED_NONE;
    if (never && header.aborted)
        return; /* It waited for a message when the recorded run ended. */
    *source = never ? 0 : entry.source;
    *tag = never ? 0 : entry.tag;
    *comm = never ? nobody : *comm;
}

int pse_replay_iprobe(int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct pse_decision entry = next(DECIDED_IPROBE, tag, 0);
    *flag = entry.flag;
    return entry.flag ? PMPI_Probe(entry.source, entry.tag, comm, status) : MPI_SUCCESS;
}

int pse_replay_improbe(int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    struct pse_decision entry = next(DECIDED_IMPROBE, tag, 0);
    *flag = entry.flag;
    return entry.flag ? PMPI_Mprobe(entry.source, entry.tag, comm, message, status) : MPI_SUCCESS;
}

/* Tests and waits. */

int pse_replay_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    *flag = next(DECIDED_TEST, 0, 1).flag;
    return *flag ? PMPI_Wait(request, status) : MPI_SUCCESS;
}

int pse_replay_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    int error = MPI_SUCCESS, wanted = next(DECIDED_GET_STATUS, 0, 1).flag;
    *flag = 0;
    while (wanted && !*flag && error == MPI_SUCCESS)
        error = PMPI_Request_get_status(request, flag, status);
    return error;
}

int pse_replay_testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    *flag = next(DECIDED_TESTALL, 0, n).flag;
    return *flag ? PMPI_Waitall(n, requests, statuses) : MPI_SUCCESS;
}

int pse_replay_any(unsigned call, int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    struct pse_decision entry = next(call, 0, n);
    if (flag)
        *flag = entry.flag;
    *index = MPI_UNDEFINED;
    if (!entry.flag)
        return MPI_SUCCESS;
    if (entry.index == DECIDED_NONE)
        return PMPI_Waitany(n, requests, index, status);
    *index = entry.index;
    return PMPI_Wait(&requests[entry.index], status);
}

int pse_replay_some(unsigned call, int n, MPI_Request requests[], int *found, int indices[],
                    MPI_Status statuses[])
{
    struct pse_decision entry = next(call, 0, n);
    *found = entry.count == DECIDED_NONE ? MPI_UNDEFINED : entry.count;
    for (int i = 0; i < entry.count; i++) {
        indices[i] = next(DECIDED_COMPLETED, 0, 0).index;
        calls--; /* Not a call of its own. */
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        int error = PMPI_Wait(&requests[indices[i]], status);
        if (error != MPI_SUCCESS)
            return error;
    }
    return MPI_SUCCESS;
}

/* Start and end. */

/* Say what is wrong with this rank's file; 0 if it can be followed. */
static int load(int rank, int ranks)
{
    char path[4096];
    const char *problem = NULL;
    pse_decision_path(path, sizeof path, pse_tool_argument("directory"), rank);
    entries = pse_decision_log_read(path, rank, ranks, &header, &problem);
    uint64_t first_run = header.run;
    PMPI_Bcast(&first_run, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!problem && first_run && header.run != first_run)
        problem = "it belongs to another run than the file of rank 0";
    if (problem)
        pse_tool_warn("%s can't be replayed: %s; record this run anew, and replay that", path, problem);
    return problem != NULL;
}

void pse_replay_open(int returned)
{
    int rank, ranks, failed, any;
    if (pse_replay_following || returned != MPI_SUCCESS || !pse_tool_argument("directory") ||
        pse_tool_was_spawned())
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    failed = load(rank, ranks);
    PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any) {
        PMPI_Barrier(MPI_COMM_WORLD); /* All have said what they have to say. */
        if (rank == 0)
            pse_tool_abort_job(2);
        PMPI_Barrier(MPI_COMM_WORLD); /* Until the job has ended. */
    }
    PMPI_Comm_dup(MPI_COMM_SELF, &nobody);
    pse_replay_following = true;
}

void pse_replay_close(void)
{
    if (pse_replay_active() && place < header.entries)
        diverge("%s was recorded, but the program ends", pse_decision_call_name(entries[place].call));
    pse_replay_following = false;
    if (nobody != MPI_COMM_NULL)
        PMPI_Comm_free(&nobody);
    free(entries);
    entries = NULL;
}
