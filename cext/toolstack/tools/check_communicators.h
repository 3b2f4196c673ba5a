/* The communicators that are checked: those all of whose members are in MPI_COMM_WORLD.
 *
 * All members know a communicator by its rank 0: that rank of the job, and its number there.  Rank 0 tells
 * the number by a broadcast when the communicator is made; of MPI_Comm_idup, which must not wait, by one that
 * is started with it.  Of two groups, the first rank of the union is that.
 *
 * May touch: talks on the communicators that the program makes, when it makes them.
 */
#ifndef PSE_CHECK_COMMUNICATORS_H
#define PSE_CHECK_COMMUNICATORS_H

#include "check_mail.h"
#include "handles.h"

/* A letter that can't be used yet. */
struct waiting_letter {
    struct waiting_letter *next;
    struct letter letter;
};

struct receive;

struct communicator {
    struct handle_node node;
    struct communicator *next; /* of all */
    MPI_Comm handle;
    uint32_t id[2];
    int rank, size, peer_count;
    int *ranks; /* in the job, by rank here */
    int *peers; /* the same of those who get and send messages: the other group, or the only one */
    char name[MPI_MAX_OBJECT_NAME];
    char where[SITE_TEXT], routine[40]; /* that made it */
    bool checked, predefined, inter;
    bool freed;                         /* by the program; kept until its requests are done */
    int users;                          /* requests on it */
    uint64_t operations, gone_ahead;    /* collective operations begun here, and known to fit */
    struct waiting_letter *collectives; /* rank 0: of operations that not all have begun */
    struct waiting_letter *arrived;     /* of messages without a receive, in the order of arrival */
    struct receive *posted;             /* receives without a message, in the order of posting */
};

static struct handles communicators;
static struct communicator *all_communicators;
static struct waiting_letter *early; /* for communicators that this rank hasn't finished making */
static uint32_t communicator_count;

static void append_letter(struct waiting_letter **list, const struct letter *letter)
{
    struct waiting_letter *one = malloc(sizeof *one);
    one->letter = *letter;
    one->next = NULL;
    while (*list)
        list = &(*list)->next;
    *list = one;
}

/* Take one out of its list. */
static void drop_letter(struct waiting_letter **at)
{
    struct waiting_letter *one = *at;
    *at = one->next;
    free(one);
}

static bool same_id(const uint32_t a[2], const uint32_t b[2])
{
    return a[0] == b[0] && a[1] == b[1];
}

static struct communicator *communicator_by_id(const uint32_t id[2])
{
    struct communicator *found = all_communicators;
    while (found && !same_id(found->id, id))
        found = found->next;
    return found;
}

/* NULL: not checked. */
static struct communicator *communicator_of(MPI_Comm comm)
{
    struct communicator *found =
        comm == MPI_COMM_NULL ? NULL : handles_find(&communicators, PSE_HANDLE(comm));
    return found && found->checked ? found : NULL;
}

/* The ranks in the job of a group's members; false if one isn't in it. */
static bool find_ranks(MPI_Group group, int size, int **ranks)
{
    MPI_Group all;
    int *here = malloc(sizeof *here * (size_t)size);
    bool found = true;
    *ranks = malloc(sizeof *here * (size_t)size);
    PMPI_Comm_group(mail, &all);
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
static bool find_members(MPI_Comm comm, struct communicator *made)
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

/* Letters that came before their communicator was known here. */
static void handle_early(const struct communicator *made)
{
    for (struct waiting_letter **at = &early; *at;) {
        struct letter letter = (*at)->letter;
        if (same_id(letter.communicator, made->id)) {
            drop_letter(at);
            handle_letter(&letter, -1);
        } else {
            at = &(*at)->next;
        }
    }
}

static struct communicator *enter_communicator(MPI_Comm comm, const char *routine, const char *where)
{
    struct communicator *made = calloc(1, sizeof *made);
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
    made->id[0] = (uint32_t)job_rank;
    made->id[1] = ++communicator_count;
    made->next = all_communicators;
    all_communicators = made;
    handles_add(&communicators, PSE_HANDLE(comm), made);
    return made;
}

static void communicator_made(MPI_Comm comm, const char *routine, const char *where)
{
    if (comm == MPI_COMM_NULL)
        return;
    struct communicator *made = enter_communicator(comm, routine, where);
    MPI_Comm all = comm;
    if (made->checked && made->inter)
        PMPI_Intercomm_merge(comm, 0, &all);
    if (made->checked)
        PMPI_Bcast(made->id, 2, MPI_UINT32_T, 0, all);
    if (all != comm)
        PMPI_Comm_free(&all);
    handle_early(made);
}

/* MPI_Comm_idup: what is known of the new communicator until it is there. */
struct coming {
    MPI_Comm *made;
    MPI_Request told; /* of the identity */
    uint32_t id[2];
};

static struct coming *communicator_comes(MPI_Comm *made, MPI_Comm parent)
{
    struct coming *coming = malloc(sizeof *coming);
    *coming = (struct coming){.made = made, .id = {(uint32_t)job_rank, ++communicator_count}};
    PMPI_Ibcast(coming->id, 2, MPI_UINT32_T, 0, parent, &coming->told);
    return coming;
}

static void communicator_came(struct coming *coming, const char *routine, const char *where)
{
    struct communicator *made = enter_communicator(*coming->made, routine, where);
    PMPI_Wait(&coming->told, MPI_STATUS_IGNORE);
    memcpy(made->id, coming->id, sizeof made->id);
    free(coming);
    handle_early(made);
}

/* Forget one that was freed and isn't needed any more. */
static void communicator_unused(struct communicator *gone)
{
    struct communicator **at = &all_communicators;
    if (!gone || !gone->freed || gone->users)
        return;
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    while (gone->arrived)
        drop_letter(&gone->arrived);
    if (gone->peers != gone->ranks)
        free(gone->peers);
    free(gone->ranks);
    free(gone);
}

static void communicator_gone(MPI_Comm comm)
{
    struct communicator *gone = handles_take(&communicators, PSE_HANDLE(comm));
    if (!gone)
        return;
    gone->freed = true;
    gone->handle = MPI_COMM_SELF;
    communicator_unused(gone);
}

static const char *communicator_name(const struct communicator *comm)
{
    return comm->name[0] ? comm->name : "a communicator without a name";
}

#endif
