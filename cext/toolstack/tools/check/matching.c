/* Matching notices of messages with receives. */
#include "matching.h"

#include <stdio.h>
#include <stdlib.h>

#include "report.h"
#include "tool_memory.h"
#include "type_signature.h"

static void report_mismatch(const struct check_receive *receive, const char *what, const char *right)
{
    struct check_report report = {.length = 0};
    char details[200], elements[100];
    const struct check_notice *notice = &receive->notice;
    if (pse_check_was_reported(what, notice->where, receive->where))
        return;
    pse_check_report_add(&report, "pse check: %s\n", what);
    pse_check_signature_text(notice->signature, elements, sizeof elements);
    snprintf(details, sizeof details, " sends %s to rank %d of %.60s, tag %d", elements, receive->comm->rank,
             pse_check_communicator_name(receive->comm), notice->tag);
    pse_check_report_place(&report, receive->comm->peers[notice->from], notice->routine, details,
                           notice->where);
    pse_check_signature_text(receive->buffer, elements, sizeof elements);
    snprintf(details, sizeof details, " has room for %s", elements);
    pse_check_report_place(&report, pse_check_rank, receive->routine, details, receive->where);
    pse_check_report_print(&report, right);
}

void pse_check_compare_message(const struct check_receive *receive)
{
    if (receive->notice.signature.bytes > receive->buffer.bytes)
        report_mismatch(receive, "a message is longer than the buffer that receives it",
                        "the receive's count and datatype cover what is sent");
    else if (!pse_check_begins(receive->notice.signature, receive->buffer, receive->item))
        report_mismatch(receive, "a message is received as another datatype than it was sent",
                        "sender and receiver name the same sequence of basic datatypes");
}

static bool accepts(const struct check_receive *receive, const struct check_notice *notice)
{
    return (receive->source == MPI_ANY_SOURCE || receive->source == notice->from) &&
           (receive->tag == MPI_ANY_TAG || receive->tag == notice->tag);
}

/* Whether an earlier notice of the same sender would have gone to this receive. */
static bool has_earlier(const struct check_receive *receive, const struct pending_notice *notice)
{
    for (const struct pending_notice *at = receive->comm->arrived; at != notice; at = at->next)
        if (at->notice.from == notice->notice.from && accepts(receive, &at->notice))
            return true;
    return false;
}

bool pse_check_reports_races;

/* Another message was there that the receive might have got. */
static void report_race(const struct check_receive *receive, const struct check_notice *rival)
{
    static const char what[] = "which message a receive gets depends on timing";
    struct check_report report = {.length = 0};
    const struct check_notice *sends[] = {&receive->notice, rival};
    char details[160];
    if (pse_check_was_reported(what, receive->where, ""))
        return;
    pse_check_report_add(&report, "pse check: %s\n", what);
    snprintf(details, sizeof details, " from any rank of %.60s", pse_check_communicator_name(receive->comm));
    pse_check_report_place(&report, pse_check_rank, receive->routine, details, receive->where);
    for (int i = 0; i < 2; i++) {
        snprintf(details, sizeof details, ", tag %d%s", sends[i]->tag, i ? "" : ", was received");
        pse_check_report_place(&report, receive->comm->peers[sends[i]->from], sends[i]->routine, details,
                               sends[i]->where);
    }
    pse_check_report_print(&report, "the sender's rank instead of MPI_ANY_SOURCE, or another tag, unless any "
                                    "order is right");
}

static void look_for_race(const struct check_receive *receive)
{
    for (const struct pending_notice *at = receive->comm->arrived; at; at = at->next)
        if (at->notice.from != receive->notice.from &&
            (receive->wanted_tag == MPI_ANY_TAG || receive->wanted_tag == at->notice.tag)) {
            report_race(receive, &at->notice);
            return;
        }
}

void pse_check_look_for_rivals(const struct check_receive *receive)
{
    enum { LOOKS = 3 }; /* MPI may show one more notice at each. */
    if (!pse_check_reports_races || !receive->from_any || !receive->matched)
        return;
    for (int i = 0; i < LOOKS; i++)
        pse_check_read_notices();
    look_for_race(receive);
}

static void match(struct check_receive *receive, const struct check_notice *notice)
{
    struct check_notice pse_check_answer = {.kind = NOTICE_MATCHED, .sequence = notice->sequence};
    receive->matched = true;
    receive->notice = *notice;
    pse_check_notify(receive->comm->peers[notice->from], &pse_check_answer);
    if (receive->buffer_known)
        pse_check_compare_message(receive);
    if (receive->from_any && pse_check_reports_races)
        look_for_race(receive);
}

/* Give one notice to its receive; false if that isn't known yet. */
static bool match_notice(struct check_communicator *comm, const struct pending_notice *notice)
{
    struct check_receive **at = &comm->posted;
    while (*at && !accepts(*at, &notice->notice))
        at = &(*at)->next;
    struct check_receive *receive = *at;
    if (!receive || receive->source == MPI_ANY_SOURCE || has_earlier(receive, notice))
        return false;
    *at = receive->next;
    match(receive, &notice->notice);
    return true;
}

void pse_check_match_notices(struct check_communicator *comm)
{
    for (struct pending_notice **at = &comm->arrived; *at;) {
        if (match_notice(comm, *at))
            pse_check_drop_notice(at);
        else
            at = &(*at)->next;
    }
}

void pse_check_withdraw_notice(struct check_communicator *comm, const struct check_notice *withdrawn)
{
    struct pending_notice **at = &comm->arrived;
    while (*at && ((*at)->notice.from != withdrawn->from || (*at)->notice.sequence != withdrawn->sequence))
        at = &(*at)->next;
    if (*at)
        pse_check_drop_notice(at);
    else
        comm->checked = false;
    pse_check_match_notices(comm);
}

struct check_receive *pse_check_new_receive(struct check_communicator *comm, int source, int tag,
                                            const char *routine, const char *where)
{
    struct check_receive *made = pse_tool_memory(sizeof *made);
    *made = (struct check_receive){
        .comm = comm, .source = source, .tag = tag, .wanted_tag = tag, .from_any = source == MPI_ANY_SOURCE};
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    snprintf(made->where, sizeof made->where, "%s", where);
    return made;
}

void pse_check_set_buffer(struct check_receive *receive, struct type_signature buffer,
                          struct type_signature item)
{
    receive->buffer = buffer;
    receive->item = item;
    receive->buffer_known = true;
}

void pse_check_post_receive(struct check_receive *receive)
{
    struct check_receive **at = &receive->comm->posted;
    while (*at)
        at = &(*at)->next;
    *at = receive;
    receive->next = NULL;
    pse_check_match_notices(receive->comm);
}

void pse_check_withdraw_receive(struct check_receive *receive)
{
    struct check_receive **at = &receive->comm->posted;
    while (*at && *at != receive)
        at = &(*at)->next;
    if (*at)
        *at = receive->next;
}

void pse_check_resolve_receive(struct check_receive *receive, const MPI_Status *status)
{
    if (receive->matched || status->MPI_SOURCE < 0)
        return;
    if (receive->source == MPI_ANY_SOURCE)
        receive->source = status->MPI_SOURCE;
    if (receive->tag == MPI_ANY_TAG)
        receive->tag = status->MPI_TAG;
    pse_check_match_notices(receive->comm);
}
