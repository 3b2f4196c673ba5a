/* The tool `check`: finds what is wrong in a program's use of MPI, and says who did it, where, and what would
 * be right.
 *
 * Each send notifies the tool of its receiver, each collective operation that of the communicator's rank 0,
 * and a rank that waits reads notices (notices.h).  The tool finds out which receive gets which message
 * (matching.h), follows messages and requests (operations.h), compares collective operations, finds deadlocks
 * (deadlock.h) and what is left over (calls.h).  Wrappers come from check.def.
 *
 * Not checked: communicators with processes from outside of MPI_COMM_WORLD, collective operations on those of
 * two groups, what one-sided operations move, files, partitioned messages.
 *
 * The lock is held by all that is in the tool, and never while MPI or the program may wait.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "calls.h"
#include "communicators.h"
#include "deadlock.h"
#include "matching.h"
#include "notices.h"
#include "operations.h"
#include "python_api.h"
#include "report.h"
#include "request_snapshot.h"
#include "tool.h"
#include "type_signature.h"

static bool checking;
static pid_t process;
static char began_at[PSE_CALL_SITE_TEXT];

static void handle_send(const struct check_notice *notice)
{
    struct check_communicator *comm = pse_check_communicator_by_id(notice->communicator);
    pse_check_append_notice(&comm->arrived, notice);
    pse_check_match_notices(comm);
}

static bool names_communicator(const struct check_notice *notice)
{
    return notice->kind == NOTICE_SEND || notice->kind == NOTICE_WITHDRAWN ||
           notice->kind == NOTICE_COLLECTIVE || notice->kind == NOTICE_GO;
}

static void handle_notice(const struct check_notice *notice, int from)
{
    struct check_communicator *comm =
        names_communicator(notice) ? pse_check_communicator_by_id(notice->communicator) : NULL;
    if (names_communicator(notice) && !comm)
        pse_check_postpone_notice(notice);
    else if (notice->kind == NOTICE_SEND)
        handle_send(notice);
    else if (notice->kind == NOTICE_WITHDRAWN)
        pse_check_withdraw_notice(comm, notice);
    else if (notice->kind == NOTICE_MATCHED)
        pse_check_send_matched(notice->sequence);
    else if (notice->kind == NOTICE_COLLECTIVE)
        pse_check_take_collective(comm, notice);
    else if (notice->kind == NOTICE_GO)
        pse_check_take_go(comm, notice);
    else if (notice->kind == NOTICE_STUCK)
        pse_check_take_stuck(from);
    else if (notice->kind == NOTICE_ASK)
        pse_check_answer();
    else if (notice->kind == NOTICE_ANSWER)
        pse_check_take_answer(notice, from);
    else if (notice->kind == NOTICE_RELEASE)
        pse_check_released = true;
}

#define UNKNOWN ((struct type_signature){0})
#define NO_FLOW ((struct byte_flow){0})

/* Start and end. */

static void notice_threads(void)
{
    static pthread_t first;
    static bool known;
    if (known && !pthread_equal(first, pthread_self()))
        pse_check_many_threads = true;
    first = known ? first : pthread_self();
    known = true;
}

/* The process ends well, but MPI was not finalized.  A child that the program has forked is another one. */
static void look_at_end(int code, void *unused)
{
    struct check_report report = {.length = 0};
    (void)unused;
    if (!checking || code != 0 || getpid() != process)
        return;
    pse_check_report_add(&report, "pse check: the process ends, but MPI_Finalize was never called\n");
    pse_check_report_place(&report, pse_check_rank, "MPI_Init", "", began_at);
    pse_check_report_print(&report, "MPI_Finalize (mpi4py: MPI.Finalize()) on each rank before it ends");
}

static void check_start(int returned)
{
    if (checking || returned != MPI_SUCCESS)
        return;
    process = getpid();
    pse_check_pack_site(began_at);
    on_exit(look_at_end, NULL);
    pse_python_api(); /* What finds Python running now knows its end later. */
    pse_check_open_notices(handle_notice);
    pse_check_open_detector(pse_check_resolve_waiting_receives);
    pse_check_communicator_made(MPI_COMM_WORLD, "MPI_Init", "");
    pse_check_communicator_made(MPI_COMM_SELF, "MPI_Init", "");
    for (struct check_communicator *at = pse_check_communicators; at; at = at->next)
        at->predefined = true;
    checking = true;
}

static void check_finish(void)
{
    pse_check_collective(MPI_COMM_WORLD, "MPI_Finalize", NO_ROOT, NO_OPERATION, UNKNOWN, NO_FLOW, true);
    PMPI_Barrier(pse_check_comm);
    pse_check_read_notices();
    pse_check_report_leaks();
    PMPI_Barrier(pse_check_comm); /* MPI itself may end the job now, by what was reported. */
    checking = false;
    pse_check_close_notices();
}

static void communicator_result(MPI_Comm handle, const char *routine)
{
    char where[PSE_CALL_SITE_TEXT];
    pse_check_pack_site(where);
    pse_check_communicator_made(handle, routine, where);
}

/* Code of the wrappers. */
#define CHECK(code)                                                                                          \
    if (checking) {                                                                                          \
        pse_check_lock();                                                                                    \
        notice_threads();                                                                                    \
        code;                                                                                                \
        pse_check_unlock();                                                                                  \
    }
#define AFTER(code)                                                                                          \
    if (checking && returned == MPI_SUCCESS) {                                                               \
        pse_check_lock();                                                                                    \
        code;                                                                                                \
        pse_check_unlock();                                                                                  \
    }
#define start_send(mode, is_persistent)                                                                      \
    struct check_operation *made = pse_check_enter_request(comm, *request, routine_here);                    \
    pse_check_set_send(made, mode, buf, count, datatype, dest, tag);                                         \
    start_unless(made, is_persistent)
#define start_receive(is_persistent)                                                                         \
    struct check_operation *made = pse_check_enter_request(comm, *request, routine_here);                    \
    pse_check_set_receive(made, buf, count, datatype, source, tag);                                          \
    start_unless(made, is_persistent)
#define start_exchange(out, out_count, out_type, in, in_count, in_type)                                      \
    struct check_operation *made = pse_check_enter_request(comm, *request, routine_here);                    \
    pse_check_set_send(made, STANDARD, out, out_count, out_type, dest, sendtag);                             \
    pse_check_set_receive(made, in, in_count, in_type, source, recvtag);                                     \
    pse_check_start(made)
#define CHECKED_SENDRECV(call, checked) checking &&pse_check_communicator_of(comm) ? checked : call
/* What uses a datatype, and is looked at when it was called, names one that was freed before that. */
#define USES(datatype) CHECK(pse_check_signature_of(0, datatype))
#define IN_PLACE(buffer) ((buffer) == MPI_IN_PLACE)

/* Of a rank that is neither root nor in the other group of two, datatypes mean nothing. */
#define MEANT(signature) (MEMBERS ? (signature) : UNKNOWN)
#define ALL(op, signature)                                                                                   \
    CHECK(pse_check_collective(comm, routine_here, NO_ROOT, op, MEANT(signature), NO_FLOW, true))
#define ROOTED(op, signature)                                                                                \
    CHECK(pse_check_collective(comm, routine_here, root, op, MEANT(signature), NO_FLOW, true))
#define I_ALL(op, signature)                                                                                 \
    CHECK(pse_check_collective(comm, routine_here, NO_ROOT, op, MEANT(signature), NO_FLOW, false))
#define I_ROOTED(op, signature)                                                                              \
    CHECK(pse_check_collective(comm, routine_here, root, op, MEANT(signature), NO_FLOW, false))
#define REQUEST AFTER(pse_check_enter_request(comm, *request, routine_here)->active = true)
#define PERSISTENT AFTER(pse_check_enter_request(comm, *request, routine_here)->persistent = true)
/* The same for operations with counts for each rank: bytes that this one gives and takes. */
#define V_ALL(out, into, waits)                                                                              \
    CHECK(pse_check_collective(comm, routine_here, NO_ROOT, NO_OP, UNKNOWN,                                  \
                               ((struct byte_flow){out, into, true}), waits))
#define V_ROOTED(out, into, waits)                                                                           \
    CHECK(pse_check_collective(comm, routine_here, root, NO_OP, UNKNOWN,                                     \
                               ((struct byte_flow){out, into, true}), waits))
#define MEMBERS                                                                                              \
    (pse_check_communicator_of(comm) && !pse_check_communicator_of(comm)->inter                              \
         ? pse_check_communicator_of(comm)->size                                                             \
         : 0)
#define OWN_RANK (MEMBERS ? pse_check_communicator_of(comm)->rank : 0)
#define BYTES(count, type) (pse_check_signature_of(count, type).bytes)
#define TOTAL(counts)                                                                                        \
    ({                                                                                                       \
        MPI_Count total = 0;                                                                                 \
        for (int i = 0; i < MEMBERS; i++)                                                                    \
            total += counts[i];                                                                              \
        total;                                                                                               \
    })
#define TOTAL_OF(counts, pse_check_types)                                                                    \
    ({                                                                                                       \
        uint64_t total = 0;                                                                                  \
        for (int i = 0; i < MEMBERS; i++)                                                                    \
            total += BYTES(counts[i], pse_check_types[i]);                                                   \
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
    CHECK(pse_check_collective(                                                                              \
        comm, routine_here, NO_ROOT, NO_OP, pse_check_signature_of(TOTAL(recvcounts), recvtype),             \
        ((struct byte_flow){GATHERV_OUT, OWN_OF(recvcounts, recvtype), true}), waits))
#define REDUCED pse_check_signature_of(TOTAL(recvcounts), datatype)
#define WINDOW_MADE AFTER(pse_check_window_made(*win, routine_here))
#define DATA pse_check_signature_of(count, datatype)
#define OP pse_check_operation_number(op)
#define NO_OP NO_OPERATION
#define SENT                                                                                                 \
    (IN_PLACE(sendbuf) ? pse_check_signature_of(recvcount, recvtype)                                         \
                       : pse_check_signature_of(sendcount, sendtype))
#define IS_ROOT is_root(comm, root)
#define GATHERED                                                                                             \
    (IS_ROOT ? pse_check_signature_of(recvcount, recvtype) : pse_check_signature_of(sendcount, sendtype))
#define SCATTERED                                                                                            \
    (IS_ROOT ? pse_check_signature_of(sendcount, sendtype) : pse_check_signature_of(recvcount, recvtype))

static bool is_root(MPI_Comm handle, int root)
{
    const struct check_communicator *comm = pse_check_communicator_of(handle);
    return comm && comm->rank == root;
}

static void start_unless(struct check_operation *made, bool persistent)
{
    made->persistent = persistent;
    if (!persistent)
        pse_check_start(made);
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *given)
{
    pse_tool_stack = given;
    return pse_tool_choose("races", "yes", "no", &pse_check_reports_races);
}

#define TOOL_ENTER(name)                                                                                     \
    static const char routine_here[] = #name;                                                                \
    pse_check_routine = routine_here;
#define TOOL_LEAVE(name)
#include "check_wrappers.c"
