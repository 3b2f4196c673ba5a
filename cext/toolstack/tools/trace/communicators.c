/* Numbering communicators, and writing down who is who in them. */
#include "communicators.h"

#include <stdlib.h>

#include "writer.h"

struct pse_handle_table pse_trace_communicators;
uint32_t pse_trace_job_rank;
MPI_Group pse_trace_job_group = MPI_GROUP_NULL;

static uint32_t communicator_count;

uint32_t pse_trace_next_communicator(void)
{
    return ++communicator_count;
}

static void put_ranks(MPI_Comm comm, const struct trace_communicator *made)
{
    MPI_Group group;
    PMPI_Comm_group(comm, &group);
    for (int first = 0; first < made->size; first += 4) {
        int members[4], ranks[4], n = made->size - first < 4 ? made->size - first : 4;
        uint32_t row[4] = {PSE_NONE, PSE_NONE, PSE_NONE, PSE_NONE};
        for (int i = 0; i < n; i++)
            members[i] = first + i;
        PMPI_Group_translate_ranks(group, n, members, pse_trace_job_group, ranks);
        for (int i = 0; i < n; i++)
            row[i] = ranks[i] < 0 ? PSE_NONE : (uint32_t)ranks[i];
        pse_trace_put(pse_clock(), PSE_EVENT_MPI_COMMUNICATOR_RANKS, 0,
                      pse_pair(made->number, (uint32_t)first), pse_pair(row[0], row[1]),
                      pse_pair(row[2], row[3]));
    }
    PMPI_Group_free(&group);
}

static uint32_t parent_number(MPI_Comm parent)
{
    const struct trace_communicator *found =
        parent == MPI_COMM_NULL ? NULL : pse_handle_find(&pse_trace_communicators, PSE_HANDLE(parent));
    return found ? found->number : 0;
}

void pse_trace_put_communicator(MPI_Comm comm, MPI_Comm parent, const struct trace_communicator *made)
{
    pse_trace_put(pse_clock(), PSE_EVENT_MPI_COMMUNICATOR, 0, pse_pair(made->number, parent_number(parent)),
                  pse_pair(made->identity[0], made->identity[1]),
                  pse_pair((uint32_t)made->size, (uint32_t)made->rank));
    if (made->rank == 0)
        put_ranks(comm, made);
}

struct trace_communicator *pse_trace_number_communicator(MPI_Comm comm, uint32_t number)
{
    struct trace_communicator *made = calloc(1, sizeof *made);
    int inter = 0;
    made->number = number;
    PMPI_Comm_rank(comm, &made->rank);
    PMPI_Comm_size(comm, &made->size);
    PMPI_Comm_test_inter(comm, &inter);
    made->partners = made->size;
    made->root_here = inter ? MPI_ROOT : made->rank;
    if (inter)
        PMPI_Comm_remote_size(comm, &made->partners);
    made->identity[0] = pse_trace_job_rank;
    made->identity[1] = number;
    pse_handle_add(&pse_trace_communicators, PSE_HANDLE(comm), made);
    return made;
}

void pse_trace_communicator_made(MPI_Comm comm, MPI_Comm parent)
{
    if (comm == MPI_COMM_NULL)
        return;
    struct trace_communicator *made = pse_trace_number_communicator(comm, ++communicator_count);
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    if (!inter && made->size > 1)
        PMPI_Bcast(made->identity, 2, MPI_UINT32_T, 0, comm);
    pse_trace_put_communicator(comm, parent, made);
}

struct trace_communicator *pse_trace_unseen_communicator(MPI_Comm comm)
{
    struct trace_communicator *made = pse_trace_number_communicator(comm, ++communicator_count);
    pse_trace_put_communicator(comm, MPI_COMM_NULL, made);
    return made;
}

void pse_trace_communicator_named(MPI_Comm comm, const char *name)
{
    uint32_t number = pse_trace_communicator_of(comm)->number;
    if (*name)
        pse_recorder_text(pse_trace_recorder, PSE_TEXT_COMMUNICATOR, number, name);
}

void pse_trace_communicator_freed(MPI_Comm comm)
{
    struct trace_communicator *gone = pse_handle_take(&pse_trace_communicators, PSE_HANDLE(comm));
    if (gone)
        pse_trace_put(pse_clock(), PSE_EVENT_MPI_COMMUNICATOR_FREE, 0, pse_pair(gone->number, 0), 0, 0);
    free(gone);
}

void pse_trace_first_communicators(void)
{
    PMPI_Comm_group(MPI_COMM_WORLD, &pse_trace_job_group);
    pse_trace_communicator_made(MPI_COMM_WORLD, MPI_COMM_NULL);
    pse_trace_communicator_made(MPI_COMM_SELF, MPI_COMM_NULL);
    pse_trace_communicator_named(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    pse_trace_communicator_named(MPI_COMM_SELF, "MPI_COMM_SELF");
}
