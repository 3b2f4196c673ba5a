/* The tool `check`: finds what is wrong in a program's use of MPI, and says who did it, where, and what would
 * be right.
 *
 * Each send tells its receiver's tool what it sends, each collective operation tells the communicator's rank
 * 0; who waits reads letters.  check_mail.h has the letters, check_match.h finds which receive gets which
 * message, check_operations.h follows messages, check_blocking.h and check_requests.h the calls that start
 * them, check_collectives.h compares collective operations, check_wait.h finds deadlocks, check_leaks.h what
 * is left over.  Wrappers come from check.def.
 *
 * Not checked: communicators with processes from outside of MPI_COMM_WORLD, collective operations on those of
 * two groups, what one-sided operations move, files, partitioned messages.
 *
 * The lock is held by all that is in the tool, and never while MPI or the program may wait.
 *
 * May touch: communicators that it makes; standard error.
 */
#define _GNU_SOURCE
#define TOOL_NAME "check"
#include "tool.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <time.h>

#include "site.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool checking;

static void lock(void)
{
    site_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

#include "handles.h"
#include "kept.h"

#include "check_blocking.h"
#include "check_collectives.h"
#include "check_communicators.h"
#include "check_leaks.h"
#include "check_mail.h"
#include "check_match.h"
#include "check_operations.h"
#include "check_report.h"
#include "check_requests.h"
#include "check_types.h"
#include "check_wait.h"
#include "check_windows.h"

static void handle_send(const struct letter *letter)
{
    struct communicator *comm = communicator_by_id(letter->communicator);
    append_letter(&comm->arrived, letter);
    match_letters(comm);
}

static bool names_communicator(const struct letter *letter)
{
    return letter->kind == LETTER_SEND || letter->kind == LETTER_COLLECTIVE || letter->kind == LETTER_GO;
}

static void handle_letter(const struct letter *letter, int from)
{
    struct communicator *comm = names_communicator(letter) ? communicator_by_id(letter->communicator) : NULL;
    if (names_communicator(letter) && !comm)
        append_letter(&early, letter);
    else if (letter->kind == LETTER_SEND)
        handle_send(letter);
    else if (letter->kind == LETTER_MATCHED)
        send_matched(letter->sequence);
    else if (letter->kind == LETTER_COLLECTIVE)
        take_collective(comm, letter);
    else if (letter->kind == LETTER_GO)
        take_go(comm, letter);
    else if (letter->kind == LETTER_STUCK)
        judge.stuck[from] = true;
    else if (letter->kind == LETTER_ASK)
        answer();
    else if (letter->kind == LETTER_ANSWER)
        take_answer(letter, from);
    else if (letter->kind == LETTER_RELEASE)
        released = true;
}

/* Start and end. */

static void notice_threads(void)
{
    static pthread_t first;
    static bool known;
    if (known && !pthread_equal(first, pthread_self()))
        many_threads = true;
    first = known ? first : pthread_self();
    known = true;
}

static void check_start(int returned)
{
    if (checking || returned != MPI_SUCCESS)
        return;
    site_find_python();
    mail_open();
    judge_open();
    communicator_made(MPI_COMM_WORLD, "MPI_Init", "");
    communicator_made(MPI_COMM_SELF, "MPI_Init", "");
    for (struct communicator *at = all_communicators; at; at = at->next)
        at->predefined = true;
    checking = true;
}

static void check_finish(void)
{
    collective(MPI_COMM_WORLD, "MPI_Finalize", NO_ROOT, NO_OPERATION, (struct signature){0}, true);
    PMPI_Barrier(mail);
    mail_read();
    report_leaks();
    checking = false;
    mail_close();
}

static void communicator_named(MPI_Comm handle, const char *name)
{
    struct communicator *comm = handles_find(&communicators, PSE_HANDLE(handle));
    if (comm)
        snprintf(comm->name, sizeof comm->name, "%s", name);
}

static void communicator_result(MPI_Comm handle, const char *routine)
{
    char where[SITE_TEXT];
    site_pack(where);
    communicator_made(handle, routine, where);
}

/* Code of the wrappers. */
#define CHECK(code)                                                                                          \
    if (checking) {                                                                                          \
        lock();                                                                                              \
        notice_threads();                                                                                    \
        code;                                                                                                \
        unlock();                                                                                            \
    }
#define AFTER(code)                                                                                          \
    if (checking && returned == MPI_SUCCESS) {                                                               \
        lock();                                                                                              \
        code;                                                                                                \
        unlock();                                                                                            \
    }
#define start_send(mode, is_persistent)                                                                      \
    struct operation *made = enter_request(comm, *request, routine_here);                                    \
    set_send(made, mode, count, datatype, dest, tag);                                                        \
    start_unless(made, is_persistent)
#define start_receive(is_persistent)                                                                         \
    struct operation *made = enter_request(comm, *request, routine_here);                                    \
    set_receive(made, count, datatype, source, tag);                                                         \
    start_unless(made, is_persistent)
#define start_exchange(out_count, out_type, in_count, in_type)                                               \
    struct operation *made = enter_request(comm, *request, routine_here);                                    \
    set_send(made, STANDARD, out_count, out_type, dest, sendtag);                                            \
    set_receive(made, in_count, in_type, source, recvtag);                                                   \
    start(made)
#define CHECKED_SENDRECV(call, checked) checking &&communicator_of(comm) ? checked : call
#define IN_PLACE(buffer) ((buffer) == MPI_IN_PLACE)
#define UNKNOWN ((struct signature){0})
#define ALL(op, signature) CHECK(collective(comm, routine_here, NO_ROOT, op, signature, true))
#define ROOTED(op, signature) CHECK(collective(comm, routine_here, root, op, signature, true))
#define I_ALL(op, signature) CHECK(collective(comm, routine_here, NO_ROOT, op, signature, false))
#define I_ROOTED(op, signature) CHECK(collective(comm, routine_here, root, op, signature, false))
#define REQUEST AFTER(enter_request(comm, *request, routine_here)->active = true)
#define PERSISTENT AFTER(enter_request(comm, *request, routine_here)->persistent = true)
/* The same for operations with counts for each rank: bytes that this one gives and takes. */
#define V_ALL(out, into, waits)                                                                              \
    CHECK(next_flow = ((struct flow){out, into, true});                                                      \
          collective(comm, routine_here, NO_ROOT, NO_OP, UNKNOWN, waits))
#define V_ROOTED(out, into, waits)                                                                           \
    CHECK(next_flow = ((struct flow){out, into, true});                                                      \
          collective(comm, routine_here, root, NO_OP, UNKNOWN, waits))
#define MEMBERS (communicator_of(comm) && !communicator_of(comm)->inter ? communicator_of(comm)->size : 0)
#define OWN_RANK (MEMBERS ? communicator_of(comm)->rank : 0)
#define BYTES(count, type) (signature_of(count, type).bytes)
#define TOTAL(counts)                                                                                        \
    ({                                                                                                       \
        MPI_Count total = 0;                                                                                 \
        for (int i = 0; i < MEMBERS; i++)                                                                    \
            total += counts[i];                                                                              \
        total;                                                                                               \
    })
#define TOTAL_OF(counts, types)                                                                              \
    ({                                                                                                       \
        uint64_t total = 0;                                                                                  \
        for (int i = 0; i < MEMBERS; i++)                                                                    \
            total += BYTES(counts[i], types[i]);                                                             \
        total;                                                                                               \
    })
#define OWN_OF(counts, type) (MEMBERS ? BYTES(counts[OWN_RANK], type) : 0)
#define GATHERV_OUT (IN_PLACE(sendbuf) ? OWN_OF(recvcounts, recvtype) : BYTES(sendcount, sendtype))
#define GATHERV_INTO (IS_ROOT ? BYTES(TOTAL(recvcounts), recvtype) : 0)
#define SCATTERV_OUT (IS_ROOT ? BYTES(TOTAL(sendcounts), sendtype) : 0)
#define SCATTERV_INTO (IN_PLACE(recvbuf) ? OWN_OF(sendcounts, sendtype) : BYTES(recvcount, recvtype))
#define ALLTOALLV_INTO BYTES(TOTAL(recvcounts), recvtype)
#define ALLTOALLV_OUT (IN_PLACE(sendbuf) ? ALLTOALLV_INTO : BYTES(TOTAL(sendcounts), sendtype))
#define ALLTOALLW_INTO TOTAL_OF(recvcounts, recvtypes)
#define ALLTOALLW_OUT (IN_PLACE(sendbuf) ? ALLTOALLW_INTO : TOTAL_OF(sendcounts, sendtypes))
#define V_GATHERED(waits)                                                                                    \
    CHECK(next_flow = ((struct flow){GATHERV_OUT, OWN_OF(recvcounts, recvtype), true});                      \
          collective(comm, routine_here, NO_ROOT, NO_OP, signature_of(TOTAL(recvcounts), recvtype), waits))
#define REDUCED signature_of(TOTAL(recvcounts), datatype)
#define WINDOW_MADE AFTER(window_made(*win, routine_here))
#define DATA signature_of(count, datatype)
#define OP operation_number(op)
#define NO_OP NO_OPERATION
#define SENT (IN_PLACE(sendbuf) ? signature_of(recvcount, recvtype) : signature_of(sendcount, sendtype))
#define IS_ROOT is_root(comm, root)
#define GATHERED (IS_ROOT ? signature_of(recvcount, recvtype) : signature_of(sendcount, sendtype))
#define SCATTERED (IS_ROOT ? signature_of(sendcount, sendtype) : signature_of(recvcount, recvtype))

static bool is_root(MPI_Comm handle, int root)
{
    const struct communicator *comm = communicator_of(handle);
    return comm && comm->rank == root;
}

static void start_unless(struct operation *made, bool persistent)
{
    made->persistent = persistent;
    if (!persistent)
        start(made);
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *given)
{
    tools = given;
    return 0;
}

#define TOOL_ENTER(name)                                                                                     \
    static const char routine_here[] = #name;                                                                \
    (void)routine_here;
#define TOOL_LEAVE(name)
#include "check_wrappers.h"
