/* Round trips between the first ranks of hosts. */
#define _GNU_SOURCE
#include "clocks.h"

#include <mpi.h>
#include <unistd.h>

#include "abi_environment.h"
#include "communicators.h"
#include "tool.h"
#include "tool_memory.h"
#include "writer.h"

enum { ROUND_TRIPS = 10 };

/* A host, and with whom it compares its clock. */
struct host {
    uint64_t number;
    int first, reference; /* ranks */
};

static MPI_Comm clocks = MPI_COMM_NULL; /* of all ranks, where there are several hosts */
static struct host *hosts;
static int host_count;

static uint64_t metahost_number(void)
{
    const char *name = getenv(PSE_METAHOST_VARIABLE);
    return name ? pse_hash(PSE_HASH, name, strlen(name)) : PSE_HASH;
}

static uint64_t host_number(uint64_t metahost)
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return pse_hash(metahost, name, strlen(name));
}

/* A rank tells the time to one other. */
static void tell_time(int other)
{
    uint64_t time = 0;
    PMPI_Send(&time, 1, MPI_UINT64_T, other, 0, clocks);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        PMPI_Recv(NULL, 0, MPI_UINT64_T, other, 0, clocks, MPI_STATUS_IGNORE);
        time = pse_clock();
        PMPI_Send(&time, 1, MPI_UINT64_T, other, 0, clocks);
    }
}

static void ask_time(int reference)
{
    uint64_t there, best = UINT64_MAX, time = 0, offset = 0;
    PMPI_Recv(&there, 1, MPI_UINT64_T, reference, 0, clocks, MPI_STATUS_IGNORE); /* It is our turn. */
    for (int i = 0; i < ROUND_TRIPS; i++) {
        const uint64_t sent = pse_clock();
        PMPI_Send(NULL, 0, MPI_UINT64_T, reference, 0, clocks);
        PMPI_Recv(&there, 1, MPI_UINT64_T, reference, 0, clocks, MPI_STATUS_IGNORE);
        const uint64_t trip = pse_clock() - sent;
        if (trip < best) {
            best = trip;
            time = sent + trip / 2;
            offset = there - time;
        }
    }
    if (pse_trace_recorder)
        pse_trace_put(time, PSE_EVENT_CLOCK_SYNC, 0, offset, (best + 1) / 2, (uint32_t)reference);
}

void pse_trace_compare_clocks(void)
{
    if (clocks == MPI_COMM_NULL)
        return;
    for (struct host *host = hosts + 1; host < hosts + host_count; host++)
        if ((int)pse_trace_job_rank == host->reference)
            tell_time(host->first);
        else if ((int)pse_trace_job_rank == host->first)
            ask_time(host->reference);
}

/* The first rank of a rank's metahost, or rank 0 if that is on the same host. */
static int reference_of(const uint64_t (*numbers)[2], int rank)
{
    int first = 0;
    while (numbers[first][0] != numbers[rank][0])
        first++;
    return numbers[first][1] == numbers[rank][1] ? 0 : first;
}

void pse_trace_find_hosts(int ranks)
{
    const uint64_t metahost = metahost_number(), own[2] = {metahost, host_number(metahost)};
    uint64_t (*numbers)[2] = pse_tool_memory((size_t)ranks * sizeof *numbers);
    hosts = pse_tool_memory((size_t)ranks * sizeof *hosts);
    PMPI_Allgather(own, 2, MPI_UINT64_T, numbers, 2, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int rank = 0; rank < ranks; rank++) {
        int known = 0;
        while (known < host_count && hosts[known].number != numbers[rank][1])
            known++;
        if (known == host_count)
            hosts[host_count++] = (struct host){numbers[rank][1], rank, reference_of(numbers, rank)};
    }
    free(numbers);
    if (host_count > 1)
        PMPI_Comm_dup(MPI_COMM_WORLD, &clocks);
}

void pse_trace_end_clocks(void)
{
    pse_trace_compare_clocks();
    if (clocks != MPI_COMM_NULL)
        PMPI_Comm_free(&clocks);
    free(hosts);
    hosts = NULL;
}
