/* What the tools of the ranks say to each other: letters of one size on a communicator of their own.
 *
 * Letters between two ranks keep their order.  A rank reads its letters whenever it is in a wrapper, and all
 * the time while it waits there.  Sending never waits.
 *
 * May touch: its own communicator.
 */
#ifndef PSE_CHECK_MAIL_H
#define PSE_CHECK_MAIL_H

#include "site.h"

enum letter_kind {
    LETTER_SEND,       /* a message is on its way to you */
    LETTER_MATCHED,    /* your message has its receive */
    LETTER_COLLECTIVE, /* I am in a collective operation (to the communicator's rank 0) */
    LETTER_GO,         /* all are, and they fit */
    LETTER_STUCK,      /* I have been waiting for a while (to rank 0 of the job) */
    LETTER_ASK,        /* where do you stand? */
    LETTER_ANSWER,     /* there */
    LETTER_RELEASE,    /* don't wait for matches any more */
};

struct signature {
    uint64_t bytes, elements, hash;
    uint32_t basic; /* all elements are of this type; 0: of several */
    uint32_t given; /* 0: not to be compared */
};

/* What a rank gives to and takes from a collective operation with counts for each rank, in bytes. */
struct flow {
    uint64_t out, into;
    bool known;
};

struct letter {
    uint32_t kind;
    uint32_t communicator[2];
    int32_t from, tag; /* from: rank in that communicator */
    int32_t root, operation;
    int32_t blocked, releasable;
    uint64_t sequence, sent, received;
    struct signature signature;
    struct flow flow;
    char routine[40];
    char where[SITE_TEXT];
    char text[120];
};

struct outgoing {
    struct outgoing *next;
    MPI_Request request;
    struct letter letter;
};

static MPI_Comm mail = MPI_COMM_NULL;
static int job_rank, job_ranks;
static struct letter incoming;
static MPI_Request incoming_request = MPI_REQUEST_NULL;
static struct outgoing *outgoing;
static uint64_t letters_sent, letters_received; /* of the kinds that move something */

static void handle_letter(const struct letter *letter, int from);

static bool moves_something(const struct letter *letter)
{
    return letter->kind <= LETTER_GO;
}

static void mail_send(int to, const struct letter *letter)
{
    letters_sent += moves_something(letter);
    if (to == job_rank) {
        letters_received += moves_something(letter);
        handle_letter(letter, job_rank);
        return;
    }
    struct outgoing *one = malloc(sizeof *one);
    one->letter = *letter;
    one->next = outgoing;
    outgoing = one;
    PMPI_Isend(&one->letter, sizeof one->letter, MPI_BYTE, to, 0, mail, &one->request);
}

static void mail_forget_sent(void)
{
    for (struct outgoing **at = &outgoing; *at;) {
        int done;
        struct outgoing *one = *at;
        PMPI_Test(&one->request, &done, MPI_STATUS_IGNORE);
        if (done) {
            *at = one->next;
            free(one);
        } else {
            at = &one->next;
        }
    }
}

static void mail_expect(void)
{
    PMPI_Irecv(&incoming, sizeof incoming, MPI_BYTE, MPI_ANY_SOURCE, 0, mail, &incoming_request);
}

/* Handle all letters that are here. */
static void mail_read(void)
{
    MPI_Status status;
    int here = 1;
    while (incoming_request != MPI_REQUEST_NULL) {
        PMPI_Test(&incoming_request, &here, &status);
        if (!here)
            break;
        struct letter letter = incoming;
        mail_expect();
        letters_received += moves_something(&letter);
        handle_letter(&letter, status.MPI_SOURCE);
    }
    mail_forget_sent();
}

static void mail_open(void)
{
    PMPI_Comm_dup(MPI_COMM_WORLD, &mail);
    PMPI_Comm_rank(mail, &job_rank);
    PMPI_Comm_size(mail, &job_ranks);
    mail_expect();
}

static void mail_close(void)
{
    PMPI_Cancel(&incoming_request);
    PMPI_Wait(&incoming_request, MPI_STATUS_IGNORE);
    while (outgoing)
        mail_forget_sent();
    PMPI_Comm_free(&mail);
}

#endif
