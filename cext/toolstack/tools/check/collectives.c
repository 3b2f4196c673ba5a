/* Collective operations: the communicator's rank 0 hears of each from all members and compares, before MPI
 * begins.
 *
 * A blocking operation waits for rank 0's word, so that MPI is only entered when all fit.  MPI may let some
 * ranks leave early, but a program must not count on it, so waiting changes nothing in a correct one.
 */
#include "calls.h"

#include <stdio.h>
#include <string.h>

#include "abort_job.h"
#include "communicators.h"
#include "deadlock.h"
#include "notices.h"
#include "report.h"
#include "type_signature.h"

int pse_check_operation_number(MPI_Op op)
{
    const MPI_Op predefined[] = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD,   MPI_LAND,   MPI_BAND,    MPI_LOR,
                                 MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
        if (op == predefined[i])
            return (int)i + 1;
    return 0;
}

static const char *operation_name(int number)
{
    static const char *const names[] = {"an operation of its own",
                                        "MPI_MAX",
                                        "MPI_MIN",
                                        "MPI_SUM",
                                        "MPI_PROD",
                                        "MPI_LAND",
                                        "MPI_BAND",
                                        "MPI_LOR",
                                        "MPI_BOR",
                                        "MPI_LXOR",
                                        "MPI_BXOR",
                                        "MPI_MINLOC",
                                        "MPI_MAXLOC",
                                        "MPI_REPLACE",
                                        "MPI_NO_OP"};
    return names[number];
}

static void describe_collective(const struct check_notice *notice, char *text, size_t room)
{
    char elements[100];
    size_t length = 0;
    text[0] = '\0';
    if (notice->root >= 0)
        length += (size_t)snprintf(text, room, ", root %d", notice->root);
    if (notice->operation >= 0)
        length += (size_t)snprintf(text + length, room - length, ", %s", operation_name(notice->operation));
    if (!notice->signature.given)
        return;
    pse_check_signature_text(notice->signature, elements, sizeof elements);
    snprintf(text + length, room - length, ", %s", elements);
}

static void describe_flow(const struct check_notice *notice, char *text, size_t room)
{
    char root[32] = "";
    if (notice->root >= 0)
        snprintf(root, sizeof root, ", root %d", notice->root);
    snprintf(text, room, "%s, gives %llu bytes, takes %llu", root, (unsigned long long)notice->flow.out,
             (unsigned long long)notice->flow.into);
}

static const char *collective_mismatch(const struct check_notice *a, const struct check_notice *b)
{
    if (strcmp(a->routine, b->routine) != 0)
        return "all ranks of a communicator call the same collective operations in the same order";
    if (a->root != b->root)
        return "all ranks name the same root";
    if (a->operation != b->operation && a->operation && b->operation)
        return "all ranks name the same reduction operation";
    if (!pse_check_same_elements(a->signature, b->signature))
        return "all ranks give as many elements of the same datatypes as each other";
    return NULL;
}

static void end_mismatch(struct check_communicator *comm, const struct check_notice *a,
                         const struct check_notice *b, const char *right)
{
    struct check_report report = {.length = 0};
    char text[200];
    pse_check_report_add(&report,
                         "pse check: collective operations don't fit together on %s (number %llu there)\n",
                         pse_check_communicator_name(comm), (unsigned long long)a->sequence);
    describe_collective(a, text, sizeof text);
    pse_check_report_place(&report, comm->ranks[a->from], a->routine, text, a->where);
    describe_collective(b, text, sizeof text);
    pse_check_report_place(&report, comm->ranks[b->from], b->routine, text, b->where);
    pse_check_report_print(&report, right);
    pse_tool_abort_job(1);
}

/* All are there: what they give in all is what they take. */
static void compare_flows(struct check_communicator *comm, uint64_t sequence)
{
    struct check_report report = {.length = 0};
    char text[120];
    uint64_t out = 0, into = 0;
    int shown = 0;
    for (struct pending_notice *at = comm->collectives; at; at = at->next) {
        if (at->notice.sequence != sequence)
            continue;
        if (!at->notice.flow.known)
            return;
        out += at->notice.flow.out;
        into += at->notice.flow.into;
    }
    if (out == into)
        return;
    pse_check_report_add(
        &report, "pse check: a collective operation's counts don't fit together on %s (number %llu there)\n",
        pse_check_communicator_name(comm), (unsigned long long)sequence);
    for (struct pending_notice *at = comm->collectives; at; at = at->next)
        if (at->notice.sequence == sequence && shown++ < SHOWN_RANKS) {
            describe_flow(&at->notice, text, sizeof text);
            pse_check_report_place(&report, comm->ranks[at->notice.from], at->notice.routine, text,
                                   at->notice.where);
        }
    pse_check_report_print(
        &report, "what a rank sends to another is as much as the other says that it receives from it");
    pse_tool_abort_job(1);
}

void pse_check_take_collective(struct check_communicator *comm, const struct check_notice *notice)
{
    int begun = 1;
    const struct check_notice *first = NULL;
    for (struct pending_notice *at = comm->collectives; at; at = at->next) {
        if (at->notice.sequence != notice->sequence)
            continue;
        first = first ? first : &at->notice;
        begun++;
    }
    const char *right = first ? collective_mismatch(first, notice) : NULL;
    if (right)
        end_mismatch(comm, first, notice, right);
    pse_check_append_notice(&comm->collectives, notice);
    if (begun < comm->size)
        return;
    compare_flows(comm, notice->sequence);
    struct check_notice go = {.kind = NOTICE_GO, .sequence = notice->sequence};
    memcpy(go.communicator, comm->id, sizeof go.communicator);
    for (struct pending_notice **at = &comm->collectives; *at;)
        if ((*at)->notice.sequence == go.sequence)
            pse_check_drop_notice(at);
        else
            at = &(*at)->next;
    for (int rank = 0; rank < comm->size; rank++)
        pse_check_notify(comm->ranks[rank], &go);
}

void pse_check_take_go(struct check_communicator *comm, const struct check_notice *notice)
{
    if (notice->sequence > comm->gone_ahead)
        comm->gone_ahead = notice->sequence;
}

struct awaited_collective {
    struct check_communicator *comm;
    uint64_t sequence;
};

static bool may_go(void *data)
{
    const struct awaited_collective *going = data;
    return going->comm->gone_ahead >= going->sequence;
}

void pse_check_collective(MPI_Comm handle, const char *routine, int root, int operation,
                          struct type_signature signature, struct byte_flow flow, bool waits)
{
    struct check_communicator *comm = pse_check_communicator_of(handle);
    struct check_notice notice = {.kind = NOTICE_COLLECTIVE,
                                  .root = root,
                                  .operation = operation,
                                  .signature = signature,
                                  .flow = flow};
    char text[MPI_MAX_OBJECT_NAME + 8];
    if (!comm || comm->inter)
        return;
    memcpy(notice.communicator, comm->id, sizeof notice.communicator);
    notice.from = comm->rank;
    notice.sequence = ++comm->operations;
    size_t length = strlen(routine);
    length -= length > 2 && strcmp(routine + length - 2, "_c") == 0 ? 2 : 0;
    snprintf(notice.routine, sizeof notice.routine, "%.*s", (int)length, routine);
    pse_check_pack_site(notice.where);
    pse_check_notify(comm->ranks[0], &notice);
    struct awaited_collective going = {comm, notice.sequence};
    snprintf(text, sizeof text, " on %s", pse_check_communicator_name(comm));
    if (waits)
        pse_check_wait_until(may_go, &going, notice.routine, notice.where, text);
    else
        pse_check_attend();
}
