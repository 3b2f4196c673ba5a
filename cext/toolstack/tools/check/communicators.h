/* The communicators that are checked: those all of whose members are in MPI_COMM_WORLD.
 *
 * All members know a communicator by its rank 0: that rank of the job, and its number there.  Rank 0 tells
 * the number by a broadcast when the communicator is made; of MPI_Comm_idup, which must not wait, by one that
 * is started with it.  Of two groups, the first rank of the union is that.
 */
#ifndef PSE_CHECK_COMMUNICATORS_H
#define PSE_CHECK_COMMUNICATORS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "handle_table.h"
#include "notices.h"

struct check_receive;
struct coming_communicator; /* by MPI_Comm_idup: what is known until it is there */

/* A notice that can't be used yet. */
struct pending_notice {
    struct pending_notice *next;
    struct check_notice notice;
};

struct check_communicator {
    struct pse_handle_node node;
    struct check_communicator *next; /* of all */
    MPI_Comm handle;
    uint32_t id[2];
    int rank, size, peer_count;
    int *ranks; /* in the job, by rank here */
    int *peers; /* the same of those who get and send messages: the other group, or the only one */
    char name[MPI_MAX_OBJECT_NAME];
    char where[PSE_CALL_SITE_TEXT], routine[40]; /* that made it */
    bool checked, predefined, inter;
    bool freed;                         /* by the program; kept until its requests are done */
    int users;                          /* requests on it */
    uint64_t operations, gone_ahead;    /* collective operations begun here, and known to fit */
    struct pending_notice *collectives; /* rank 0: of operations that not all have begun */
    struct pending_notice *arrived;     /* of messages without a receive, in the order of arrival */
    struct check_receive *posted;       /* receives without a message, in the order of posting */
};

#pragma GCC visibility push(hidden)

extern struct check_communicator *pse_check_communicators; /* all, by `next` */

void pse_check_append_notice(struct pending_notice **list, const struct check_notice *notice);
/* Take one out of its list. */
void pse_check_drop_notice(struct pending_notice **at);
struct check_communicator *pse_check_communicator_by_id(const uint32_t id[2]);
/* The communicator of a handle; NULL: not checked. */
struct check_communicator *pse_check_communicator_of(MPI_Comm comm);
void pse_check_communicator_made(MPI_Comm comm, const char *routine, const char *where);
struct coming_communicator *pse_check_communicator_comes(MPI_Comm *made, MPI_Comm parent);
void pse_check_communicator_came(struct coming_communicator *coming, const char *routine, const char *where);
/* Forget one that was freed and isn't needed any more. */
void pse_check_communicator_unused(struct check_communicator *gone);
void pse_check_communicator_freed(MPI_Comm comm);
void pse_check_communicator_named(MPI_Comm handle, const char *name);
const char *pse_check_communicator_name(const struct check_communicator *comm);
/* Keep a notice for a communicator that this rank hasn't finished making. */
void pse_check_postpone_notice(const struct check_notice *notice);

#pragma GCC visibility pop

#endif
