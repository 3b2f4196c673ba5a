/* A tool with Lamport's clock, which travels with messages; what was sent and what was received is written
 * down.
 *
 * A line: L (sent) or A (received), the message's number, the sender's clock, own clock, partner, tag.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pse_tools.h"

struct ticket {
    uint64_t number, clock;
};

static uint64_t now, sent;
static int rank;
static FILE *file;

static int is_wanted(void *context, uintptr_t comm)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    (void)context;
    PMPI_Comm_get_name((MPI_Comm)comm, name, &length);
    return strcmp(name, "quiet") != 0;
}

static void fill(void *context, const struct pse_message_envelope *message, void *bytes)
{
    struct ticket ticket = {(uint64_t)rank << 32 | sent++, ++now};
    (void)context;
    memcpy(bytes, &ticket, sizeof ticket);
    fprintf(file, "L %lu %lu %lu %d %d\n", ticket.number, ticket.clock, now, message->partner, message->tag);
}

static void read_header(void *context, const struct pse_message_envelope *message, const void *bytes)
{
    struct ticket ticket;
    (void)context;
    memcpy(&ticket, bytes, sizeof ticket);
    now = 1 + (now > ticket.clock ? now : ticket.clock);
    fprintf(file, "A %lu %lu %lu %d %d\n", ticket.number, ticket.clock, now, message->partner, message->tag);
}

int pse_tool_start(const struct pse_tools *tools)
{
    const struct pse_piggyback_header header = {sizeof(struct ticket), NULL, is_wanted, fill, read_header};
    pse_piggyback_register *add =
        (pse_piggyback_register *)tools->subscribe(tools->self, PSE_PIGGYBACK, PSE_PIGGYBACK_SIGNATURE);
    char path[4096];
    snprintf(path, sizeof path, "%s/clock-%s", getenv("TALLY_DIRECTORY"), getenv(RANK_VARIABLE));
    rank = atoi(getenv(RANK_VARIABLE));
    file = fopen(path, "w");
    return !file || !add || add(&header);
}

void pse_tool_end(void)
{
    fclose(file);
}
