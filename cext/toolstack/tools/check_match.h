/* Which receive gets which message, found out as MPI does it: a letter of the sender goes to the first
 * receive that was posted for it.
 *
 * A receive from anybody could take a letter of any sender until MPI says whose message it got, so a letter
 * that comes to such a receive first waits until then; so do later letters of the same sender that the same
 * receives would take.
 *
 * May touch: nothing but letters.
 */
#ifndef PSE_CHECK_MATCH_H
#define PSE_CHECK_MATCH_H

#include "check_communicators.h"
#include "check_report.h"
#include "check_types.h"

struct receive {
    struct receive *next;
    struct communicator *comm;
    int source, tag; /* MPI_ANY_SOURCE until it is known */
    bool from_any, matched, probed, buffer_known;
    struct signature buffer, item;
    struct letter letter; /* of its message */
    char routine[40], where[SITE_TEXT];
};

static void report_mismatch(const struct receive *receive, const char *what, const char *right)
{
    struct report report = {.length = 0};
    char details[200], elements[100];
    const struct letter *letter = &receive->letter;
    if (told_before(what, letter->where, receive->where))
        return;
    add(&report, "pse check: %s\n", what);
    signature_text(letter->signature, elements, sizeof elements);
    snprintf(details, sizeof details, " sends %s to rank %d of %.60s, tag %d", elements, receive->comm->rank,
             communicator_name(receive->comm), letter->tag);
    add_place(&report, receive->comm->peers[letter->from], letter->routine, details, letter->where);
    signature_text(receive->buffer, elements, sizeof elements);
    snprintf(details, sizeof details, " has room for %s", elements);
    add_place(&report, job_rank, receive->routine, details, receive->where);
    tell(&report, right);
}

static void compare_message(const struct receive *receive)
{
    if (receive->letter.signature.bytes > receive->buffer.bytes)
        report_mismatch(receive, "a message is longer than the buffer that receives it",
                        "the receive's count and datatype cover what is sent");
    else if (!begins(receive->letter.signature, receive->buffer, receive->item))
        report_mismatch(receive, "a message is received as another datatype than it was sent",
                        "sender and receiver name the same sequence of basic datatypes");
}

static bool accepts(const struct receive *receive, const struct letter *letter)
{
    return (receive->source == MPI_ANY_SOURCE || receive->source == letter->from) &&
           (receive->tag == MPI_ANY_TAG || receive->tag == letter->tag);
}

/* Whether an earlier letter of the same sender would have gone to this receive. */
static bool has_earlier(const struct receive *receive, const struct waiting_letter *letter)
{
    for (const struct waiting_letter *at = receive->comm->arrived; at != letter; at = at->next)
        if (at->letter.from == letter->letter.from && accepts(receive, &at->letter))
            return true;
    return false;
}

static void match(struct receive *receive, const struct letter *letter)
{
    struct letter answer = {.kind = LETTER_MATCHED, .sequence = letter->sequence};
    receive->matched = true;
    receive->letter = *letter;
    mail_send(receive->comm->peers[letter->from], &answer);
    if (receive->buffer_known)
        compare_message(receive);
}

/* Give one letter to its receive; false if that isn't known yet. */
static bool match_letter(struct communicator *comm, const struct waiting_letter *letter)
{
    struct receive **at = &comm->posted;
    while (*at && !accepts(*at, &letter->letter))
        at = &(*at)->next;
    struct receive *receive = *at;
    if (!receive || receive->source == MPI_ANY_SOURCE || has_earlier(receive, letter))
        return false;
    *at = receive->next;
    match(receive, &letter->letter);
    return true;
}

static void match_letters(struct communicator *comm)
{
    for (struct waiting_letter **at = &comm->arrived; *at;) {
        if (match_letter(comm, *at))
            drop_letter(at);
        else
            at = &(*at)->next;
    }
}

static struct receive *new_receive(struct communicator *comm, int source, int tag, const char *routine,
                                   const char *where)
{
    struct receive *made = calloc(1, sizeof *made);
    *made =
        (struct receive){.comm = comm, .source = source, .tag = tag, .from_any = source == MPI_ANY_SOURCE};
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    snprintf(made->where, sizeof made->where, "%s", where);
    return made;
}

static void set_buffer(struct receive *receive, MPI_Count count, MPI_Datatype datatype)
{
    receive->buffer = signature_of(count, datatype);
    receive->item = signature_of(1, datatype);
    receive->buffer_known = true;
}

static void post_receive(struct receive *receive)
{
    struct receive **at = &receive->comm->posted;
    while (*at)
        at = &(*at)->next;
    *at = receive;
    receive->next = NULL;
    match_letters(receive->comm);
}

static void withdraw_receive(struct receive *receive)
{
    struct receive **at = &receive->comm->posted;
    while (*at && *at != receive)
        at = &(*at)->next;
    if (*at)
        *at = receive->next;
}

/* MPI says whose message a receive got. */
static void resolve_receive(struct receive *receive, const MPI_Status *status)
{
    if (receive->matched || status->MPI_SOURCE < 0)
        return;
    receive->source = status->MPI_SOURCE;
    receive->tag = status->MPI_TAG;
    match_letters(receive->comm);
}

#endif
