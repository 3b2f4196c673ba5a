/* Waiting without hanging: whoever waits here reads letters, and rank 0 finds out when nobody can go on.
 *
 * A rank that has waited for a while says so.  When all have, rank 0 asks everybody, twice: if all still
 * wait, nobody has gone on in between and no letter is on its way, nothing will ever move again.  If somebody
 * then waits in a standard send whose data MPI has buffered, the program works through buffering only: that
 * is reported, and from then on sends return as MPI lets them.  Otherwise the job is ended.
 *
 * May touch: nothing but letters.
 */
#ifndef PSE_CHECK_WAIT_H
#define PSE_CHECK_WAIT_H

#include "check_mail.h"
#include "check_report.h"
#include "ending.h"

enum { STUCK_MS = 300, ROUND_MS = 100, PATIENCE_MS = 5000, SHOWN_RANKS = 16 };

static struct {
    bool blocked, releasable, told, impatient;
    uint64_t changes; /* begins and ends of waiting */
    const char *routine, *where, *text;
} state;

static bool released;     /* sends don't wait for their match any more */
static bool many_threads; /* several threads call MPI: then what one waits for says nothing */

static struct {
    bool *stuck, asking, again;
    int answered;
    struct letter *answers;
    uint64_t asked_at, sent, received, changes;
} judge;

static void resolve_waiting_receives(void);

/* Whatever a rank owes the others when it is in the tool. */
static void attend(void)
{
    mail_read();
    resolve_waiting_receives();
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void pause_waiting(unsigned looks)
{
    struct timespec pause = {0, looks < 256 ? 20000 : 500000};
    if (looks < 32)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

static void answer(void)
{
    struct letter letter = {.kind = LETTER_ANSWER,
                            .blocked = state.blocked && !many_threads,
                            .releasable = state.releasable,
                            .sequence = state.changes,
                            .sent = letters_sent,
                            .received = letters_received};
    if (state.blocked) {
        snprintf(letter.routine, sizeof letter.routine, "%s", state.routine);
        snprintf(letter.where, sizeof letter.where, "%s", state.where);
        snprintf(letter.text, sizeof letter.text, "%s", state.text);
    }
    mail_send(0, &letter);
}

static void say_to_all(const struct letter *letter)
{
    for (int rank = 0; rank < job_ranks; rank++)
        mail_send(rank, letter);
}

static void report_deadlock(bool potential)
{
    struct report report = {.length = 0};
    add(&report, "pse check: %s\n",
        potential ? "a deadlock that only MPI's buffering of messages has prevented"
                  : "a deadlock: nobody can go on");
    for (int rank = 0; rank < job_ranks && rank < SHOWN_RANKS; rank++) {
        const struct letter *letter = &judge.answers[rank];
        add_place(&report, rank, letter->routine, letter->text, letter->where);
    }
    if (job_ranks > SHOWN_RANKS)
        add(&report, "  and %d ranks more\n", job_ranks - SHOWN_RANKS);
    tell(&report,
         potential ? "let one side receive first, or use MPI_Sendrecv, or MPI_Irecv before the send and "
                     "MPI_Wait after it (other such sends of this run are not looked for)"
                   : "each receive needs its send, each send its receive, and each collective operation all "
                     "ranks of its communicator");
}

static void judge_deadlock(void)
{
    bool potential = false;
    struct letter release = {.kind = LETTER_RELEASE};
    for (int rank = 0; rank < job_ranks; rank++)
        potential = potential || judge.answers[rank].releasable;
    report_deadlock(potential);
    if (!potential)
        end_job(1);
    say_to_all(&release);
}

/* All have answered. */
static void judge_answers(void)
{
    uint64_t sent = 0, received = 0, changes = 0;
    bool all = true;
    for (int rank = 0; rank < job_ranks; rank++) {
        const struct letter *letter = &judge.answers[rank];
        judge.stuck[rank] = judge.stuck[rank] && letter->blocked;
        all = all && letter->blocked;
        sent += letter->sent;
        received += letter->received;
        changes += letter->sequence;
    }
    bool same = judge.again && sent == judge.sent && received == judge.received && changes == judge.changes;
    judge.asking = false;
    judge.again = all && sent == received;
    judge.sent = sent;
    judge.received = received;
    judge.changes = changes;
    if (all && same) {
        judge.again = false;
        judge_deadlock();
    }
}

static void take_answer(const struct letter *letter, int from)
{
    judge.answers[from] = *letter;
    if (++judge.answered == job_ranks)
        judge_answers();
}

/* Rank 0, while it waits. */
static void ask_all(void)
{
    struct letter ask = {.kind = LETTER_ASK};
    if (judge.asking || now_ms() - judge.asked_at < ROUND_MS)
        return;
    for (int rank = 0; rank < job_ranks; rank++)
        if (!judge.stuck[rank])
            return;
    judge.asking = true;
    judge.answered = 0;
    judge.asked_at = now_ms();
    say_to_all(&ask);
}

static void tell_stuck(void)
{
    struct letter letter = {.kind = LETTER_STUCK};
    state.told = true;
    mail_send(0, &letter);
}

/* Wait until `ready` says so; with the lock, which is let go while it sleeps. */
static void wait_until(bool (*ready)(void *), void *data, const char *routine, const char *where,
                       const char *text)
{
    uint64_t began = now_ms();
    attend();
    if (ready(data))
        return;
    state.routine = routine;
    state.where = where;
    state.text = text;
    state.blocked = true;
    state.changes++;
    for (unsigned looks = 0; !ready(data); looks++) {
        unlock();
        pause_waiting(looks);
        lock();
        attend();
        if (!state.told && now_ms() - began >= STUCK_MS)
            tell_stuck();
        if (job_rank == 0)
            ask_all();
        if (state.releasable && now_ms() - began >= PATIENCE_MS)
            state.impatient = true; /* The receiver computes, or is where letters aren't read. */
    }
    state.blocked = state.releasable = state.told = state.impatient = false;
    state.changes++;
}

static void judge_open(void)
{
    judge.stuck = calloc((size_t)job_ranks, sizeof *judge.stuck);
    judge.answers = calloc((size_t)job_ranks, sizeof *judge.answers);
}

#endif
