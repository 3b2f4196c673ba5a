/* Round trips between rank 0 and the first rank of each other host. */
#define _GNU_SOURCE
#include "clocks.h"

#include <mpi.h>
#include <unistd.h>

#include "communicators.h"
#include "tool.h"
#include "writer.h"

enum { ROUND_TRIPS = 10 };

static MPI_Comm clocks = MPI_COMM_NULL; /* of all ranks, where there are several hosts */
static int *first_of_hosts, host_count; /* their first ranks */

static uint64_t host_number(void)
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return pse_hash(PSE_HASH, name, strlen(name));
}

/* Rank 0 tells the time to one other. */
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

static void ask_time(void)
{
    uint64_t there, best = UINT64_MAX, time = 0, offset = 0;
    PMPI_Recv(&there, 1, MPI_UINT64_T, 0, 0, clocks, MPI_STATUS_IGNORE); /* It is our turn. */
    for (int i = 0; i < ROUND_TRIPS; i++) {
        const uint64_t sent = pse_clock();
        PMPI_Send(NULL, 0, MPI_UINT64_T, 0, 0, clocks);
        PMPI_Recv(&there, 1, MPI_UINT64_T, 0, 0, clocks, MPI_STATUS_IGNORE);
        const uint64_t trip = pse_clock() - sent;
        if (trip < best) {
            best = trip;
            time = sent + trip / 2;
            offset = there - time;
        }
    }
    if (pse_trace_recorder)
        pse_trace_put(time, PSE_EVENT_CLOCK_SYNC, 0, offset, (best + 1) / 2, 0);
}

void pse_trace_compare_clocks(void)
{
    if (clocks == MPI_COMM_NULL)
        return;
    for (int host = 1; host < host_count; host++)
        if (pse_trace_job_rank == 0)
            tell_time(first_of_hosts[host]);
        else if ((int)pse_trace_job_rank == first_of_hosts[host])
            ask_time();
}

void pse_trace_find_hosts(int ranks)
{
    const uint64_t own = host_number();
    uint64_t *hosts = malloc((size_t)ranks * sizeof *hosts);
    first_of_hosts = malloc((size_t)ranks * sizeof *first_of_hosts);
    PMPI_Allgather(&own, 1, MPI_UINT64_T, hosts, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int rank = 0; rank < ranks; rank++) {
        int other = 0;
        while (hosts[other] != hosts[rank])
            other++;
        if (other == rank)
            first_of_hosts[host_count++] = rank;
    }
    free(hosts);
    if (host_count > 1)
        PMPI_Comm_dup(MPI_COMM_WORLD, &clocks);
}

void pse_trace_end_clocks(void)
{
    pse_trace_compare_clocks();
    if (clocks != MPI_COMM_NULL)
        PMPI_Comm_free(&clocks);
    free(first_of_hosts);
    first_of_hosts = NULL;
}
