/* Numbering communicators, and writing down who is who in them. */
#include "communicators.h"

#include <stdlib.h>

#include "bytes.h"
#include "entries.h"
#include "tool_memory.h"
#include "writer.h"

enum { SLOTS = 32 }; /* at first */
PSE_TRACE_HOT_TABLE static struct pse_handle_slot slots[SLOTS];
PSE_TRACE_HOT_DATA struct pse_handle_table pse_trace_communicators = {slots, SLOTS, 0, false};
PSE_TRACE_ENTRIES(entries, struct trace_communicator, 8);
PSE_TRACE_HOT_DATA struct trace_communicator *pse_trace_latest_communicator;
PSE_TRACE_HOT_DATA MPI_Comm pse_trace_latest_handle;
uint32_t pse_trace_job_rank;
MPI_Group pse_trace_job_group = MPI_GROUP_NULL;

static uint32_t communicator_count;

uint32_t pse_trace_next_communicator(void)
{
    return ++communicator_count;
}

/* The ranks of the job that are in a group; false if some of its processes are of another job. */
static bool job_ranks(MPI_Group group, int size, int *ranks)
{
    bool all = true;
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    PMPI_Group_translate_ranks(group, size, ranks, pse_trace_job_group, ranks + size);
    for (int i = 0; i < size; i++) {
        ranks[i] = ranks[size + i];
        all &= ranks[i] >= 0;
    }
    PMPI_Group_free(&group);
    return all;
}

/* All members, as many as `members`: of two groups those of this rank's own, then the others. */
static bool find_members(MPI_Comm comm, const struct trace_communicator *made, int *ranks)
{
    MPI_Group own, other;
    const bool two = made->flags & PSE_COMMUNICATOR_TWO_GROUPS;
    PMPI_Comm_group(comm, &own);
    bool all = job_ranks(own, made->size, ranks);
    if (!two)
        return all;
    PMPI_Comm_remote_group(comm, &other);
    return job_ranks(other, made->partners, ranks + made->size) && all;
}

/* Four ranks in each event. */
static void put_rows(uint16_t type, uint16_t flags, uint32_t number, const int *ranks, int count)
{
    for (int first = 0; first < count; first += 4) {
        uint32_t row[4] = {PSE_NONE, PSE_NONE, PSE_NONE, PSE_NONE};
        for (int i = first; i < count && i < first + 4; i++)
            row[i - first] = pse_trace_or_none(ranks[i]);
        pse_trace_put(pse_trace_now, type, flags, pse_pair(number, (uint32_t)first), pse_pair(row[0], row[1]),
                      pse_pair(row[2], row[3]));
    }
}

static void put_ranks(MPI_Comm comm, const struct trace_communicator *made)
{
    int *ranks = pse_tool_memory(2 * sizeof *ranks * (size_t)made->members);
    find_members(comm, made, ranks);
    put_rows(PSE_EVENT_MPI_COMMUNICATOR_RANKS, 0, made->number, ranks, made->members);
    free(ranks);
}

static void put_neighbors(MPI_Comm comm, const struct trace_communicator *made)
{
    const int count = made->flags & PSE_COMMUNICATOR_TWO_GROUPS ? 0 : pse_trace_degree(comm, 1);
    int *ranks = pse_tool_memory(sizeof *ranks * (size_t)count);
    pse_trace_neighbors(comm, count, ranks);
    put_rows(PSE_EVENT_MPI_NEIGHBORS, (uint16_t)count, made->number, ranks, count);
    free(ranks);
}

static uint32_t parent_number(MPI_Comm parent)
{
    const struct trace_communicator *found =
        parent == MPI_COMM_NULL ? NULL : pse_handle_find(&pse_trace_communicators, PSE_HANDLE(parent));
    return found ? found->number : 0;
}

void pse_trace_put_communicator(MPI_Comm comm, MPI_Comm parent, const struct trace_communicator *made)
{
    pse_trace_put(pse_trace_now, PSE_EVENT_MPI_COMMUNICATOR, made->flags,
                  pse_pair(made->number, parent_number(parent)),
                  pse_pair(made->identity[0], made->identity[1]),
                  pse_pair((uint32_t)made->members, (uint32_t)made->place));
    if (made->place == 0 && !(made->flags & PSE_COMMUNICATOR_OTHER_JOB))
        put_ranks(comm, made);
    put_neighbors(comm, made);
}

struct trace_communicator *pse_trace_number_communicator(MPI_Comm comm, uint32_t number)
{
    struct trace_communicator *made = pse_trace_new_entry(&entries);
    int inter = 0;
    made->number = number;
    PMPI_Comm_rank(comm, &made->rank);
    PMPI_Comm_size(comm, &made->size);
    PMPI_Comm_test_inter(comm, &inter);
    made->partners = made->members = made->size;
    made->place = made->rank;
    made->root_here = inter ? MPI_ROOT : made->rank;
    if (inter) {
        PMPI_Comm_remote_size(comm, &made->partners);
        made->members += made->partners;
        made->flags = PSE_COMMUNICATOR_TWO_GROUPS;
    }
    int *ranks = pse_tool_memory(2 * sizeof *ranks * (size_t)made->members);
    if (!find_members(comm, made, ranks))
        made->flags |= PSE_COMMUNICATOR_OTHER_JOB;
    free(ranks);
    made->identity[0] = pse_trace_job_rank;
    made->identity[1] = number;
    return made;
}

void pse_trace_know_communicator(MPI_Comm comm, struct trace_communicator *made)
{
    pse_handle_add(&pse_trace_communicators, PSE_HANDLE(comm), made);
}

void pse_trace_order_groups(struct trace_communicator *made, bool is_second)
{
    made->first_partner = is_second ? 0 : made->size;
    if (!is_second)
        return;
    made->flags |= PSE_COMMUNICATOR_SECOND_GROUP;
    made->place += made->partners;
}

/* Each rank 0 tells the other group who it is, and hears from there what that group has heard.  The numbers
 * are signed: MPICH 4.0 orders unsigned ones as if they were. */
static void agree_between_groups(MPI_Comm comm, struct trace_communicator *made)
{
    const int64_t here = (int64_t)made->identity[0] << 32 | made->identity[1];
    int64_t told = made->rank == 0 ? here : INT64_MAX, theirs, ours;
    PMPI_Allreduce(&told, &theirs, 1, MPI_INT64_T, MPI_MIN, comm);
    PMPI_Allreduce(&theirs, &ours, 1, MPI_INT64_T, MPI_MIN, comm);
    const int64_t first = ours < theirs ? ours : theirs;
    made->identity[0] = (uint32_t)(first >> 32);
    made->identity[1] = (uint32_t)first;
    pse_trace_order_groups(made, theirs < ours);
}

/* Without the lock: another thread may make a communicator that another rank comes to first. */
static void agree(MPI_Comm comm, struct trace_communicator *made)
{
    if (made->flags & PSE_COMMUNICATOR_OTHER_JOB)
        return;
    if (made->flags & PSE_COMMUNICATOR_TWO_GROUPS)
        agree_between_groups(comm, made);
    else if (made->size > 1)
        PMPI_Bcast(made->identity, 2, MPI_UINT32_T, 0, comm);
}

/* The call that makes a communicator, as an operation on it. */
static void put_meeting(uint16_t type, uint64_t time, const struct trace_communicator *made)
{
    const uint64_t root = type == PSE_EVENT_MPI_COLLECTIVE_BEGIN ? PSE_NONE : 0;
    pse_trace_put(time, type, PSE_COLLECTIVE_CREATE_COMMUNICATOR, root, 0, pse_pair(made->number, 0));
}

void pse_trace_communicator_made(MPI_Comm comm, MPI_Comm parent)
{
    pse_trace_communicator_met(comm, parent, 0);
}

void pse_trace_communicator_met(MPI_Comm comm, MPI_Comm parent, uint64_t time)
{
    pse_trace_let_go();
    if (comm == MPI_COMM_NULL || !pse_trace_begin_records())
        return;
    struct trace_communicator *made = pse_trace_number_communicator(comm, ++communicator_count);
    pse_trace_unlock();
    agree(comm, made);
    if (!pse_trace_begin_records())
        return;
    pse_trace_know_communicator(comm, made);
    if (time) /* At first: with several threads times of a file never go back. */
        put_meeting(PSE_EVENT_MPI_COLLECTIVE_BEGIN, time, made);
    pse_trace_put_communicator(comm, parent, made);
    if (time)
        put_meeting(PSE_EVENT_MPI_COLLECTIVE_END, pse_trace_now, made);
    pse_trace_unlock();
}

struct trace_communicator *pse_trace_unseen_communicator(MPI_Comm comm)
{
    struct trace_communicator *made = pse_trace_number_communicator(comm, ++communicator_count);
    if (made->flags & PSE_COMMUNICATOR_TWO_GROUPS)
        made->flags |= PSE_COMMUNICATOR_OTHER_JOB; /* Who else is in it can't be asked now. */
    pse_trace_know_communicator(comm, made);
    pse_trace_put_communicator(comm, MPI_COMM_NULL, made);
    return made;
}

const struct trace_communicator *pse_trace_with_neighbors(MPI_Comm comm, struct trace_communicator *known)
{
    if (!known->knows_neighbors) {
        known->sources = pse_trace_degree(comm, 0);
        known->targets = pse_trace_degree(comm, 1);
        known->knows_neighbors = true;
    }
    return known;
}

void pse_trace_communicator_named(MPI_Comm comm, const char *name)
{
    uint32_t number = pse_trace_communicator_of(comm)->number;
    if (*name)
        pse_recorder_text_at(pse_trace_recorder, pse_trace_now, PSE_TEXT_COMMUNICATOR, number, name);
}

void pse_trace_communicator_freed(MPI_Comm comm)
{
    struct trace_communicator *gone = pse_handle_take(&pse_trace_communicators, PSE_HANDLE(comm));
    if (gone)
        pse_trace_put(pse_trace_now, PSE_EVENT_MPI_COMMUNICATOR_FREE, 0, pse_pair(gone->number, 0), 0, 0);
    pse_trace_latest_communicator = NULL;
    pse_trace_end_entry(&entries, gone);
}

void pse_trace_first_communicators(void)
{
    PMPI_Comm_group(MPI_COMM_WORLD, &pse_trace_job_group);
    pse_trace_communicator_made(MPI_COMM_WORLD, MPI_COMM_NULL);
    pse_trace_communicator_made(MPI_COMM_SELF, MPI_COMM_NULL);
    pse_trace_communicator_named(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    pse_trace_communicator_named(MPI_COMM_SELF, "MPI_COMM_SELF");
}
