/* Collective operations: the communicator's rank 0 hears of each from all members and compares, before MPI
 * begins.
 *
 * A blocking operation waits for rank 0's word, so that MPI is only entered when all fit.  MPI may let some
 * ranks leave early, but a program must not count on it, so waiting changes nothing in a correct one.
 *
 * May touch: nothing but letters.
 */
#ifndef PSE_CHECK_COLLECTIVES_H
#define PSE_CHECK_COLLECTIVES_H

#include "check_communicators.h"
#include "check_report.h"
#include "check_types.h"
#include "check_wait.h"
#include "ending.h"

enum { NO_ROOT = -1, NO_OPERATION = -1 };

/* Reduction operations that are the same number on all ranks; 0: the program's own. */
static int operation_number(MPI_Op op)
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

static void describe_collective(const struct letter *letter, char *text, size_t room)
{
    char elements[100];
    size_t length = 0;
    text[0] = '\0';
    if (letter->root >= 0)
        length += (size_t)snprintf(text, room, ", root %d", letter->root);
    if (letter->operation >= 0)
        length += (size_t)snprintf(text + length, room - length, ", %s", operation_name(letter->operation));
    if (!letter->signature.given)
        return;
    signature_text(letter->signature, elements, sizeof elements);
    snprintf(text + length, room - length, ", %s", elements);
}

static void describe_flow(const struct letter *letter, char *text, size_t room)
{
    char root[32] = "";
    if (letter->root >= 0)
        snprintf(root, sizeof root, ", root %d", letter->root);
    snprintf(text, room, "%s, gives %llu bytes, takes %llu", root, (unsigned long long)letter->flow.out,
             (unsigned long long)letter->flow.into);
}

static const char *collective_mismatch(const struct letter *a, const struct letter *b)
{
    if (strcmp(a->routine, b->routine) != 0)
        return "all ranks of a communicator call the same collective operations in the same order";
    if (a->root != b->root)
        return "all ranks name the same root";
    if (a->operation != b->operation && a->operation && b->operation)
        return "all ranks name the same reduction operation";
    if (!same_elements(a->signature, b->signature))
        return "all ranks give as many elements of the same datatypes as each other";
    return NULL;
}

static void end_mismatch(struct communicator *comm, const struct letter *a, const struct letter *b,
                         const char *right)
{
    struct report report = {.length = 0};
    char text[200];
    add(&report, "pse check: collective operations don't fit together on %s (number %llu there)\n",
        communicator_name(comm), (unsigned long long)a->sequence);
    describe_collective(a, text, sizeof text);
    add_place(&report, comm->ranks[a->from], a->routine, text, a->where);
    describe_collective(b, text, sizeof text);
    add_place(&report, comm->ranks[b->from], b->routine, text, b->where);
    tell(&report, right);
    end_job(1);
}

/* All are there: what they give in all is what they take. */
static void compare_flows(struct communicator *comm, uint64_t sequence)
{
    struct report report = {.length = 0};
    char text[120];
    uint64_t out = 0, into = 0;
    int shown = 0;
    for (struct waiting_letter *at = comm->collectives; at; at = at->next) {
        if (at->letter.sequence != sequence)
            continue;
        if (!at->letter.flow.known)
            return;
        out += at->letter.flow.out;
        into += at->letter.flow.into;
    }
    if (out == into)
        return;
    add(&report, "pse check: a collective operation's counts don't fit together on %s (number %llu there)\n",
        communicator_name(comm), (unsigned long long)sequence);
    for (struct waiting_letter *at = comm->collectives; at; at = at->next)
        if (at->letter.sequence == sequence && shown++ < SHOWN_RANKS) {
            describe_flow(&at->letter, text, sizeof text);
            add_place(&report, comm->ranks[at->letter.from], at->letter.routine, text, at->letter.where);
        }
    tell(&report, "what a rank sends to another is as much as the other says that it receives from it");
    end_job(1);
}

/* Rank 0 of a communicator hears of one; when all are there, they may go. */
static void take_collective(struct communicator *comm, const struct letter *letter)
{
    int begun = 1;
    const struct letter *first = NULL;
    for (struct waiting_letter *at = comm->collectives; at; at = at->next) {
        if (at->letter.sequence != letter->sequence)
            continue;
        first = first ? first : &at->letter;
        begun++;
    }
    const char *right = first ? collective_mismatch(first, letter) : NULL;
    if (right)
        end_mismatch(comm, first, letter, right);
    append_letter(&comm->collectives, letter);
    if (begun < comm->size)
        return;
    compare_flows(comm, letter->sequence);
    struct letter go = {.kind = LETTER_GO, .sequence = letter->sequence};
    memcpy(go.communicator, comm->id, sizeof go.communicator);
    for (struct waiting_letter **at = &comm->collectives; *at;)
        if ((*at)->letter.sequence == go.sequence)
            drop_letter(at);
        else
            at = &(*at)->next;
    for (int rank = 0; rank < comm->size; rank++)
        mail_send(comm->ranks[rank], &go);
}

static void take_go(struct communicator *comm, const struct letter *letter)
{
    if (letter->sequence > comm->gone_ahead)
        comm->gone_ahead = letter->sequence;
}

struct going {
    struct communicator *comm;
    uint64_t sequence;
};

static bool may_go(void *data)
{
    const struct going *going = data;
    return going->comm->gone_ahead >= going->sequence;
}

static struct flow next_flow; /* of the operation that is about to begin, if it has counts for each rank */

/* `waits`: a blocking operation. */
static void collective(MPI_Comm handle, const char *routine, int root, int operation,
                       struct signature signature, bool waits)
{
    struct communicator *comm = communicator_of(handle);
    struct letter letter = {.kind = LETTER_COLLECTIVE,
                            .root = root,
                            .operation = operation,
                            .signature = signature,
                            .flow = next_flow};
    char text[MPI_MAX_OBJECT_NAME + 8];
    next_flow.known = false;
    if (!comm || comm->inter)
        return;
    memcpy(letter.communicator, comm->id, sizeof letter.communicator);
    letter.from = comm->rank;
    letter.sequence = ++comm->operations;
    size_t length = strlen(routine);
    length -= length > 2 && strcmp(routine + length - 2, "_c") == 0 ? 2 : 0;
    snprintf(letter.routine, sizeof letter.routine, "%.*s", (int)length, routine);
    site_pack(letter.where);
    mail_send(comm->ranks[0], &letter);
    struct going going = {comm, letter.sequence};
    snprintf(text, sizeof text, " on %s", communicator_name(comm));
    if (waits)
        wait_until(may_go, &going, letter.routine, letter.where, text);
    else
        attend();
}

#endif
