/* Comparing the clocks of hosts, at the beginning and at the end of a run, so that times can be compared.
 *
 * The first rank of each host asks rank 0 what time it is, some times, and keeps the answer that came
 * soonest: half of that round trip is what the comparison may be wrong by.  Readers interpolate between the
 * two.  One host alone has nothing to compare, and a run under `pse run --trace` compares the clocks itself.
 *
 * May touch: the recorder; a communicator of its own.
 */
#ifndef PSE_TRACE_CLOCKS_H
#define PSE_TRACE_CLOCKS_H

#include <unistd.h>

#include "trace_communicators.h"

enum { ROUND_TRIPS = 10 };

static MPI_Comm clocks = MPI_COMM_NULL; /* of all ranks, where there are several hosts */
static int *first_of_hosts, host_count; /* their first ranks */

static uint64_t host_number(void)
{
    char name[256] = "";
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    gethostname(name, sizeof name - 1);
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    return hash;
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
    if (recorder)
        put(time, PSE_EVENT_CLOCK_SYNC, 0, offset, (best + 1) / 2, 0);
}

static void compare_clocks(void)
{
    if (clocks == MPI_COMM_NULL)
        return;
    for (int host = 1; host < host_count; host++)
        if (job_rank == 0)
            tell_time(first_of_hosts[host]);
        else if ((int)job_rank == first_of_hosts[host])
            ask_time();
}

/* All ranks find the hosts' first ranks. */
static void find_hosts(int ranks)
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

static void end_clocks(void)
{
    compare_clocks();
    if (clocks != MPI_COMM_NULL)
        PMPI_Comm_free(&clocks);
    free(first_of_hosts);
    first_of_hosts = NULL;
}

#endif
