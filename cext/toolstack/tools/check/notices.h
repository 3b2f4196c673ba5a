/* What the tools of the ranks say to each other: notices of one size on a communicator of their own.
 *
 * Notices between two ranks keep their order.  A rank reads its notices whenever it is in a wrapper, and all
 * the time while it waits there.  Sending never waits.
 */
#ifndef PSE_CHECK_NOTICES_H
#define PSE_CHECK_NOTICES_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "call_site.h"

enum notice_kind {
    NOTICE_SEND,       /* a message is on its way to you */
    NOTICE_WITHDRAWN,  /* that message was cancelled */
    NOTICE_MATCHED,    /* your message has its receive */
    NOTICE_COLLECTIVE, /* I am in a collective operation (to the communicator's rank 0) */
    NOTICE_GO,         /* all are, and they fit */
    NOTICE_STUCK,      /* I have been waiting for a while (to rank 0 of the job) */
    NOTICE_ASK,        /* where do you stand? */
    NOTICE_ANSWER,     /* there */
    NOTICE_RELEASE,    /* don't wait for matches any more */
};

struct type_signature {
    uint64_t bytes, elements, hash;
    uint32_t basic; /* all elements are of this type; 0: of several */
    uint32_t given; /* 0: not to be compared */
};

/* What a rank gives to and takes from a collective operation with counts for each rank, in bytes. */
struct byte_flow {
    uint64_t out, into;
    bool known;
};

struct check_notice {
    uint32_t kind;
    uint32_t communicator[2];
    int32_t from, tag; /* from: rank in that communicator */
    int32_t root, operation;
    int32_t blocked, releasable, receiver; /* receiver: rank in the job, of what is releasable */
    uint64_t sequence, sent, received;
    struct type_signature signature;
    struct byte_flow flow;
    char routine[40];
    char where[PSE_CALL_SITE_TEXT];
    char text[120];
};

typedef void pse_check_notice_handler(const struct check_notice *notice, int from);

#pragma GCC visibility push(hidden)

extern MPI_Comm pse_check_comm;                                     /* of all ranks, for notices */
extern int pse_check_rank, pse_check_ranks;                         /* in the job */
extern uint64_t pse_check_notices_sent, pse_check_notices_received; /* of the kinds that move something */

/* Send a notice to a rank of the job; never waits. */
void pse_check_notify(int to, const struct check_notice *notice);
/* Handle all notices that are here. */
void pse_check_read_notices(void);
/* Make the communicator; notices that come are given to the handler. */
void pse_check_open_notices(pse_check_notice_handler *handler);
void pse_check_close_notices(void);
/* Give a notice that came early to the handler. */
void pse_check_deliver_notice(const struct check_notice *notice, int from);

#pragma GCC visibility pop

#endif
