/* Waiting, and finding out that all ranks wait for ever. */
#define _GNU_SOURCE
#include "deadlock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abort_job.h"
#include "backoff.h"
#include "call_site.h"
#include "notices.h"
#include "report.h"
#include "tool_memory.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void pse_check_lock(void)
{
    pse_call_site_lock(&mutex);
}

void pse_check_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

enum { STUCK_MS = 300, ROUND_MS = 100 };

struct waiting_state pse_check_state;

bool pse_check_released;
bool pse_check_many_threads;

static struct {
    bool *stuck, asking, again;
    int answered;
    struct check_notice *answers;
    uint64_t asked_at, sent, received, changes;
} detector;

static void (*attend_to_receives)(void);

void pse_check_attend(void)
{
    pse_check_read_notices();
    attend_to_receives();
}

void pse_check_answer(void)
{
    struct check_notice notice = {.kind = NOTICE_ANSWER,
                                  .blocked = pse_check_state.blocked && !pse_check_many_threads,
                                  .releasable = pse_check_state.releasable,
                                  .receiver = pse_check_state.receiver,
                                  .sequence = pse_check_state.changes,
                                  .sent = pse_check_notices_sent,
                                  .received = pse_check_notices_received};
    if (pse_check_state.blocked) {
        snprintf(notice.routine, sizeof notice.routine, "%s", pse_check_state.routine);
        snprintf(notice.where, sizeof notice.where, "%s", pse_check_state.where);
        snprintf(notice.text, sizeof notice.text, "%s", pse_check_state.text);
    }
    pse_check_notify(0, &notice);
}

static void say_to_all(const struct check_notice *notice)
{
    for (int rank = 0; rank < pse_check_ranks; rank++)
        pse_check_notify(rank, notice);
}

/* Whether all that is sent is for ranks that receive nothing any more. */
static bool goes_to_nobody(void)
{
    for (int rank = 0; rank < pse_check_ranks; rank++) {
        const struct check_notice *notice = &detector.answers[rank];
        if (notice->releasable && strcmp(detector.answers[notice->receiver].routine, "MPI_Finalize") != 0)
            return false;
    }
    return true;
}

static const char *remedy(bool potential)
{
    if (!potential)
        return "each receive needs its send, each send its receive, and each collective operation all ranks "
               "of its communicator";
    if (goes_to_nobody())
        return "each message is received before MPI_Finalize (other such sends of this run are not looked "
               "for)";
    return "one side receives first, or both use MPI_Sendrecv, or MPI_Irecv before the send and MPI_Wait "
           "after it (other such sends of this run are not looked for)";
}

static const char *fault(bool potential)
{
    if (!potential)
        return "a deadlock: no rank can continue";
    return goes_to_nobody() ? "a send that nobody receives returns only because MPI buffers messages"
                            : "a deadlock that only MPI's buffering of messages has prevented";
}

static void report_deadlock(bool potential)
{
    struct check_report report = {.length = 0};
    pse_check_report_add(&report, "pse check: %s\n", fault(potential));
    for (int rank = 0; rank < pse_check_ranks && rank < SHOWN_RANKS; rank++) {
        const struct check_notice *notice = &detector.answers[rank];
        pse_check_report_place(&report, rank, notice->routine, notice->text, notice->where);
    }
    if (pse_check_ranks > SHOWN_RANKS)
        pse_check_report_add(&report, "  and %d more\n", pse_check_ranks - SHOWN_RANKS);
    pse_check_report_print(&report, remedy(potential));
}

static void end_deadlock(void)
{
    bool potential = false;
    struct check_notice release = {.kind = NOTICE_RELEASE};
    for (int rank = 0; rank < pse_check_ranks; rank++)
        potential = potential || detector.answers[rank].releasable;
    report_deadlock(potential);
    if (!potential)
        pse_tool_abort_job(1);
    say_to_all(&release);
}

/* All have answered. */
static void compare_answers(void)
{
    uint64_t sent = 0, received = 0, changes = 0;
    bool all = true;
    for (int rank = 0; rank < pse_check_ranks; rank++) {
        const struct check_notice *notice = &detector.answers[rank];
        detector.stuck[rank] = detector.stuck[rank] && notice->blocked;
        all = all && notice->blocked;
        sent += notice->sent;
        received += notice->received;
        changes += notice->sequence;
    }
    bool same = detector.again && sent == detector.sent && received == detector.received &&
                changes == detector.changes;
    detector.asking = false;
    detector.again = all && sent == received;
    detector.sent = sent;
    detector.received = received;
    detector.changes = changes;
    if (all && same) {
        detector.again = false;
        end_deadlock();
    }
}

void pse_check_take_answer(const struct check_notice *notice, int from)
{
    detector.answers[from] = *notice;
    if (++detector.answered == pse_check_ranks)
        compare_answers();
}

/* Rank 0, while it waits. */
static void ask_all(void)
{
    struct check_notice ask = {.kind = NOTICE_ASK};
    if (detector.asking || now_ms() - detector.asked_at < ROUND_MS)
        return;
    for (int rank = 0; rank < pse_check_ranks; rank++)
        if (!detector.stuck[rank])
            return;
    detector.asking = true;
    detector.answered = 0;
    detector.asked_at = now_ms();
    say_to_all(&ask);
}

static void tell_stuck(void)
{
    struct check_notice notice = {.kind = NOTICE_STUCK};
    pse_check_state.told = true;
    pse_check_notify(0, &notice);
}

void pse_check_wait_until(bool (*ready)(void *), void *data, const char *routine, const char *where,
                          const char *text)
{
    uint64_t began = now_ms();
    pse_check_attend();
    if (ready(data))
        return;
    pse_check_state.routine = routine;
    pse_check_state.where = where;
    pse_check_state.text = text;
    pse_check_state.blocked = true;
    pse_check_state.changes++;
    pse_backoff wait = {.longest = PSE_BACKOFF_LONGEST_BRIEF};
    while (!ready(data)) {
        pse_check_unlock();
        pse_backoff_pause(&wait);
        pse_check_lock();
        pse_check_attend();
        if (!pse_check_state.told && now_ms() - began >= STUCK_MS)
            tell_stuck();
        if (pse_check_rank == 0)
            ask_all();
        if (pse_check_state.releasable && now_ms() - began >= PATIENCE_MS)
            pse_check_state.impatient = true; /* The receiver computes, or is where notices aren't read. */
    }
    pse_check_state.blocked = pse_check_state.releasable = pse_check_state.told = pse_check_state.impatient =
        false;
    pse_check_state.changes++;
}

void pse_check_open_detector(void (*attend)(void))
{
    attend_to_receives = attend;
    detector.stuck = pse_tool_memory((size_t)pse_check_ranks * sizeof *detector.stuck);
    detector.answers = pse_tool_memory((size_t)pse_check_ranks * sizeof *detector.answers);
}

void pse_check_take_stuck(int from)
{
    detector.stuck[from] = true;
}
