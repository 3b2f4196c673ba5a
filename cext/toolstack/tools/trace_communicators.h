/* The communicators of a trace: numbers of this rank's own, and who is who on all ranks.
 *
 * A communicator's rank 0 tells the others its number, by a broadcast on the communicator itself when it is
 * made; all members are there then.  MPI_Comm_idup must not wait, so its broadcast is started with it, on the
 * parent, which has the same members.  An intercommunicator's identity is each rank's own.
 *
 * May touch: the recorder; talks on the communicators that the program makes, when it makes them.
 */
#ifndef PSE_TRACE_COMMUNICATORS_H
#define PSE_TRACE_COMMUNICATORS_H

#include "handles.h"
#include "recorder.h"

struct communicator {
    struct handle_node node;
    uint32_t number;
    int rank, size;
    int partners;  /* the other group's size if there are two */
    int root_here; /* what `root` is where this rank is the root */
    uint32_t identity[2];
};

static struct handles communicators;
static uint32_t communicator_count;
static uint32_t job_rank; /* in MPI_COMM_WORLD */
static MPI_Group job_group = MPI_GROUP_NULL;

static void put_ranks(MPI_Comm comm, const struct communicator *made)
{
    MPI_Group group;
    PMPI_Comm_group(comm, &group);
    for (int first = 0; first < made->size; first += 4) {
        int members[4], ranks[4], n = made->size - first < 4 ? made->size - first : 4;
        uint32_t row[4] = {PSE_NONE, PSE_NONE, PSE_NONE, PSE_NONE};
        for (int i = 0; i < n; i++)
            members[i] = first + i;
        PMPI_Group_translate_ranks(group, n, members, job_group, ranks);
        for (int i = 0; i < n; i++)
            row[i] = ranks[i] < 0 ? PSE_NONE : (uint32_t)ranks[i];
        put(pse_clock(), PSE_EVENT_MPI_COMMUNICATOR_RANKS, 0, pse_pair(made->number, (uint32_t)first),
            pse_pair(row[0], row[1]), pse_pair(row[2], row[3]));
    }
    PMPI_Group_free(&group);
}

static uint32_t parent_number(MPI_Comm parent)
{
    const struct communicator *found =
        parent == MPI_COMM_NULL ? NULL : handles_find(&communicators, PSE_HANDLE(parent));
    return found ? found->number : 0;
}

static void put_communicator(MPI_Comm comm, MPI_Comm parent, const struct communicator *made)
{
    put(pse_clock(), PSE_EVENT_MPI_COMMUNICATOR, 0, pse_pair(made->number, parent_number(parent)),
        pse_pair(made->identity[0], made->identity[1]), pse_pair((uint32_t)made->size, (uint32_t)made->rank));
    if (made->rank == 0)
        put_ranks(comm, made);
}

/* A new entry; what is known without the others. */
static struct communicator *number_communicator(MPI_Comm comm, uint32_t number)
{
    struct communicator *made = calloc(1, sizeof *made);
    int inter = 0;
    made->number = number;
    PMPI_Comm_rank(comm, &made->rank);
    PMPI_Comm_size(comm, &made->size);
    PMPI_Comm_test_inter(comm, &inter);
    made->partners = made->size;
    made->root_here = inter ? MPI_ROOT : made->rank;
    if (inter)
        PMPI_Comm_remote_size(comm, &made->partners);
    made->identity[0] = job_rank;
    made->identity[1] = number;
    handles_add(&communicators, PSE_HANDLE(comm), made);
    return made;
}

static void communicator_made(MPI_Comm comm, MPI_Comm parent)
{
    if (comm == MPI_COMM_NULL)
        return;
    struct communicator *made = number_communicator(comm, ++communicator_count);
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    if (!inter && made->size > 1)
        PMPI_Bcast(made->identity, 2, MPI_UINT32_T, 0, comm);
    put_communicator(comm, parent, made);
}

/* The communicator of a call; one that was never seen being made gets its number here. */
static struct communicator *communicator_of(MPI_Comm comm)
{
    struct communicator *found = handles_find(&communicators, PSE_HANDLE(comm));
    if (!found) {
        found = number_communicator(comm, ++communicator_count);
        put_communicator(comm, MPI_COMM_NULL, found);
    }
    return found;
}

static void communicator_named(MPI_Comm comm, const char *name)
{
    uint32_t number = communicator_of(comm)->number;
    if (*name)
        pse_recorder_text(recorder, PSE_TEXT_COMMUNICATOR, number, name);
}

static void communicator_gone(MPI_Comm comm)
{
    struct communicator *gone = handles_take(&communicators, PSE_HANDLE(comm));
    if (gone)
        put(pse_clock(), PSE_EVENT_MPI_COMMUNICATOR_FREE, 0, pse_pair(gone->number, 0), 0, 0);
    free(gone);
}

static void put_first_communicators(void)
{
    PMPI_Comm_group(MPI_COMM_WORLD, &job_group);
    communicator_made(MPI_COMM_WORLD, MPI_COMM_NULL);
    communicator_made(MPI_COMM_SELF, MPI_COMM_NULL);
    communicator_named(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    communicator_named(MPI_COMM_SELF, "MPI_COMM_SELF");
}

#endif
