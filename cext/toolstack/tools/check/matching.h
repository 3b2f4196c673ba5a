/* Which receive gets which message, found out as MPI does it: a notice of the sender goes to the first
 * receive that was posted for it.
 *
 * A receive from anybody could take a notice of any sender until MPI says whose message it got, so a notice
 * that comes to such a receive first waits until then; so do later notices of the same sender that the same
 * receives would take.
 */
#ifndef PSE_CHECK_MATCHING_H
#define PSE_CHECK_MATCHING_H

#include <mpi.h>
#include <stdbool.h>

#include "communicators.h"
#include "notices.h"

struct check_receive {
    struct check_receive *next;
    struct check_communicator *comm;
    int source, tag, wanted_tag; /* MPI_ANY_SOURCE until it is known */
    bool from_any, matched, probed, buffer_known;
    struct type_signature buffer, item;
    struct check_notice notice; /* of its message */
    char routine[40], where[PSE_CALL_SITE_TEXT];
};

/* Whether messages that a receive from anybody might have got instead are reported. */
extern bool pse_check_reports_races;

void pse_check_compare_message(const struct check_receive *receive);
void pse_check_match_notices(struct check_communicator *comm);
/* A message was cancelled.  A receive that seemed to get it got another: no more is known from then on. */
void pse_check_withdraw_notice(struct check_communicator *comm, const struct check_notice *withdrawn);
struct check_receive *pse_check_new_receive(struct check_communicator *comm, int source, int tag,
                                            const char *routine, const char *where);
void pse_check_set_buffer(struct check_receive *receive, struct type_signature buffer,
                          struct type_signature item);
void pse_check_post_receive(struct check_receive *receive);
void pse_check_withdraw_receive(struct check_receive *receive);
/* A receive is complete: look again for messages that it might have got instead, if that is asked for. */
void pse_check_look_for_rivals(const struct check_receive *receive);
/* MPI says whose message a receive got. */
void pse_check_resolve_receive(struct check_receive *receive, const MPI_Status *status);

#endif
