/* Communicators from their making until nothing needs them. */
#include "communicators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pse_tools.h"
#include "tool_memory.h"

struct check_communicator *pse_check_communicators;

/* MPI_Comm_idup: what is known of the new communicator until it is there. */
struct coming_communicator {
    MPI_Comm *made;
    MPI_Request told; /* of the identity */
    uint32_t id[2];
};

static struct pse_handle_table communicators;
static struct pending_notice *postponed_notices; /* for communicators that this rank hasn't finished making */
static uint32_t communicator_count;

void pse_check_append_notice(struct pending_notice **list, const struct check_notice *notice)
{
    struct pending_notice *one = pse_tool_memory(sizeof *one);
    one->notice = *notice;
    one->next = NULL;
    while (*list)
        list = &(*list)->next;
    *list = one;
}

void pse_check_drop_notice(struct pending_notice **at)
{
    struct pending_notice *one = *at;
    *at = one->next;
    free(one);
}

static bool same_id(const uint32_t a[2], const uint32_t b[2])
{
    return a[0] == b[0] && a[1] == b[1];
}

struct check_communicator *pse_check_communicator_by_id(const uint32_t id[2])
{
    struct check_communicator *found = pse_check_communicators;
    while (found && !same_id(found->id, id))
        found = found->next;
    return found;
}

struct check_communicator *pse_check_communicator_of(MPI_Comm comm)
{
    struct check_communicator *found =
        comm == MPI_COMM_NULL ? NULL : pse_handle_find(&communicators, PSE_HANDLE(comm));
    return found && found->checked ? found : NULL;
}

/* The ranks in the job of a group's members; false if one isn't in it. */
static bool find_ranks(MPI_Group group, int size, int **ranks)
{
    MPI_Group all;
    int *here = pse_tool_memory(sizeof *here * (size_t)size);
    bool found = true;
    *ranks = pse_tool_memory(sizeof *here * (size_t)size);
    PMPI_Comm_group(pse_check_comm, &all);
    for (int i = 0; i < size; i++)
        here[i] = i;
    PMPI_Group_translate_ranks(group, size, here, all, *ranks);
    for (int i = 0; i < size; i++)
        found = found && (*ranks)[i] >= 0;
    PMPI_Group_free(&all);
    PMPI_Group_free(&group);
    free(here);
    return found;
}

/* Both groups' members; false if one isn't in the job. */
static bool find_members(MPI_Comm comm, struct check_communicator *made)
{
    MPI_Group group;
    PMPI_Comm_group(comm, &group);
    const bool found = find_ranks(group, made->size, &made->ranks);
    made->peers = made->ranks;
    made->peer_count = made->size;
    if (!made->inter)
        return found;
    PMPI_Comm_remote_size(comm, &made->peer_count);
    PMPI_Comm_remote_group(comm, &group);
    return find_ranks(group, made->peer_count, &made->peers) && found;
}

void pse_check_postpone_notice(const struct check_notice *notice)
{
    pse_check_append_notice(&postponed_notices, notice);
}

/* Notices that came before their communicator was known here. */
static void deliver_postponed(const struct check_communicator *made)
{
    for (struct pending_notice **at = &postponed_notices; *at;) {
        struct check_notice notice = (*at)->notice;
        if (same_id(notice.communicator, made->id)) {
            pse_check_drop_notice(at);
            pse_check_deliver_notice(&notice, -1);
        } else {
            at = &(*at)->next;
        }
    }
}

static struct check_communicator *enter_communicator(MPI_Comm comm, const char *routine, const char *where)
{
    struct check_communicator *made = pse_tool_memory(sizeof *made);
    int inter = 0, length;
    made->handle = comm;
    PMPI_Comm_test_inter(comm, &inter);
    made->inter = inter;
    PMPI_Comm_rank(comm, &made->rank);
    PMPI_Comm_size(comm, &made->size);
    PMPI_Comm_get_name(comm, made->name, &length);
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    snprintf(made->where, sizeof made->where, "%s", where);
    made->checked = find_members(comm, made);
    made->id[0] = (uint32_t)pse_check_rank;
    made->id[1] = ++communicator_count;
    made->next = pse_check_communicators;
    pse_check_communicators = made;
    pse_handle_add(&communicators, PSE_HANDLE(comm), made);
    return made;
}

void pse_check_communicator_made(MPI_Comm comm, const char *routine, const char *where)
{
    if (comm == MPI_COMM_NULL)
        return;
    struct check_communicator *made = enter_communicator(comm, routine, where);
    MPI_Comm all = comm;
    if (made->checked && made->inter)
        PMPI_Intercomm_merge(comm, 0, &all);
    if (made->checked)
        PMPI_Bcast(made->id, 2, MPI_UINT32_T, 0, all);
    if (all != comm)
        PMPI_Comm_free(&all);
    deliver_postponed(made);
}

struct coming_communicator *pse_check_communicator_comes(MPI_Comm *made, MPI_Comm parent)
{
    struct coming_communicator *coming = pse_tool_memory(sizeof *coming);
    *coming =
        (struct coming_communicator){.made = made, .id = {(uint32_t)pse_check_rank, ++communicator_count}};
    PMPI_Ibcast(coming->id, 2, MPI_UINT32_T, 0, parent, &coming->told);
    return coming;
}

void pse_check_communicator_came(struct coming_communicator *coming, const char *routine, const char *where)
{
    struct check_communicator *made = enter_communicator(*coming->made, routine, where);
    PMPI_Wait(&coming->told, MPI_STATUS_IGNORE);
    memcpy(made->id, coming->id, sizeof made->id);
    free(coming);
    deliver_postponed(made);
}

void pse_check_communicator_unused(struct check_communicator *gone)
{
    struct check_communicator **at = &pse_check_communicators;
    if (!gone || !gone->freed || gone->users)
        return;
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    while (gone->arrived)
        pse_check_drop_notice(&gone->arrived);
    if (gone->peers != gone->ranks)
        free(gone->peers);
    free(gone->ranks);
    free(gone);
}

void pse_check_communicator_freed(MPI_Comm comm)
{
    struct check_communicator *gone = pse_handle_take(&communicators, PSE_HANDLE(comm));
    if (!gone)
        return;
    gone->freed = true;
    gone->handle = MPI_COMM_SELF;
    pse_check_communicator_unused(gone);
}

const char *pse_check_communicator_name(const struct check_communicator *comm)
{
    static _Thread_local char own[80];
    if (comm->name[0])
        return comm->name;
    snprintf(own, sizeof own, "communicator %u.%u (%s)", comm->id[0], comm->id[1], comm->routine);
    return own;
}

void pse_check_communicator_named(MPI_Comm handle, const char *name)
{
    struct check_communicator *comm = pse_handle_find(&communicators, PSE_HANDLE(handle));
    if (comm)
        snprintf(comm->name, sizeof comm->name, "%s", name);
}
