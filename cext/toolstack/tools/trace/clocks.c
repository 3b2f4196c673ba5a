/* Round trips between the first ranks of hosts. */
#define _GNU_SOURCE
#include "clocks.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi_environment.h"
#include "communicators.h"
#include "tool.h"
#include "tool_memory.h"
#include "writer.h"

enum { ROUND_TRIPS = 10 };

/* What a rank tells of where it is: numbers that differ where these do. */
struct where {
    uint64_t metahost, host, clock;
};

/* A host, and with whom it compares its clock. */
struct host {
    uint64_t number;
    int first, reference; /* ranks */
    bool has_clock_of_reference;
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

static uint64_t add_file(uint64_t number, const char *path)
{
    char text[256];
    FILE *file = fopen(path, "re");
    const size_t size = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    return pse_hash(number, text, size);
}

/* Hosts of one kernel, as containers and emulated nodes are, have one clock but for what a namespace adds. */
static uint64_t clock_number(uint64_t host)
{
    const uint64_t booted = add_file(PSE_HASH, "/proc/sys/kernel/random/boot_id");
    return booted == PSE_HASH ? host : add_file(booted, "/proc/self/timens_offsets");
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

static void ask_time(int reference, bool may_be_same_clock)
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
    if (may_be_same_clock && (uint64_t)llabs((int64_t)offset) <= (best + 1) / 2)
        offset = 0; /* What was measured is how uneven the two ways were. */
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
            ask_time(host->reference, host->has_clock_of_reference);
}

/* The first rank of a rank's metahost, or rank 0 if that is on the same host. */
static int reference_of(const struct where *ranks, int rank)
{
    int first = 0;
    while (ranks[first].metahost != ranks[rank].metahost)
        first++;
    return ranks[first].host == ranks[rank].host ? 0 : first;
}

void pse_trace_find_hosts(int ranks)
{
    const uint64_t metahost = metahost_number(), host = host_number(metahost);
    const struct where own = {metahost, host, clock_number(host)};
    struct where *all = pse_tool_memory((size_t)ranks * sizeof *all);
    hosts = pse_tool_memory((size_t)ranks * sizeof *hosts);
    PMPI_Allgather(&own, 3, MPI_UINT64_T, all, 3, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int rank = 0; rank < ranks; rank++) {
        const int reference = reference_of(all, rank);
        int known = 0;
        while (known < host_count && hosts[known].number != all[rank].host)
            known++;
        if (known == host_count)
            hosts[host_count++] =
                (struct host){all[rank].host, rank, reference, all[rank].clock == all[reference].clock};
    }
    free(all);
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
