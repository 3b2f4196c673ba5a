/* Finding out that nothing will ever move again, and why: deadlock among partitions.
 *
 * A rank whose partitions have rested for a while asks all others, by messages.  Each answers as soon as it
 * has nothing to do (a rank that is busy in a module does not answer until then): how much it has done, how
 * many messages it has posted and how many were delivered to it.  If a second question brings the same sums,
 * and as many messages were delivered as posted, then between the two nothing moved anywhere and nothing was
 * under way: nothing will ever move again (after Mattern, "Algorithms for distributed termination detection",
 * 1987).  A third question brings what everybody's partitions wait for.
 *
 * That holds only if a rank that answers can do nothing any more by itself: senders that could go on with a
 * copy have got it before (waiting.c), and an array counts as under way until MPI has told its sender that it
 * is gone.
 */
#include "deadlock_detection.h"

#include <stdlib.h>
#include <string.h>

#include "messaging.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "transport/posting.h"

#define PATIENCE_NANOSECONDS UINT64_C(250000000)
#define STAGGER_NANOSECONDS UINT64_C(5000000) /* so that ranks don't all ask at once */
#define POSTPONE_NANOSECONDS UINT64_C(700000000)
#define ROWS 4096u

enum pse_engine_deadlock_phase { PHASE_NONE, PHASE_FIRST, PHASE_SECOND, PHASE_ROWS };

bool pse_engine_deadlock_create(pse_engine *s)
{
    s->deadlock.questions = calloc(s->plan->ranks, sizeof *s->deadlock.questions);
    return s->deadlock.questions != NULL;
}

void pse_engine_deadlock_destroy(pse_engine *s)
{
    free(s->deadlock.questions);
    free(s->deadlock.rows);
}

void pse_engine_traffic(const pse_engine *s, uint64_t *posted, uint64_t *delivered)
{
    *posted = s->posting.posted;
    *delivered = s->posting.delivered;
}

void pse_engine_deadlock_moved(pse_engine *s)
{
    s->deadlock.activity++;
}

bool pse_engine_deadlock_is_asked(const pse_engine *s)
{
    return s->deadlock.unanswered > 0 || s->deadlock.phase != PHASE_NONE;
}

static pse_engine_tally tally_of(const pse_engine *s)
{
    return (pse_engine_tally){s->deadlock.activity, s->posting.posted, s->posting.delivered};
}

static void ask(pse_engine *s, uint8_t phase)
{
    pse_engine_deadlock *q = &s->deadlock;
    q->phase = phase;
    q->round++;
    q->missing = s->plan->ranks - 1;
    q->now = tally_of(s);
    pse_message message = {.kind = PSE_CARRIES_QUESTION,
                           .source = s->plan->rank,
                           .edge = PSE_NONE,
                           .extra = phase,
                           .tph = q->round};
    for (uint32_t rank = 0; rank < s->plan->ranks; rank++)
        if (rank != s->plan->rank)
            pse_engine_tell(s, rank, &message);
}

/* What partitions of this rank wait for, as bytes of a block; NULL if there is none or no memory. */
static pse_block *block_of_rows(pse_engine *s, bool in_arena, size_t *count)
{
    pse_messaging_wait *rows = malloc(ROWS * sizeof *rows);
    pse_block *block = NULL;
    *count = rows ? pse_messaging_report_waits(s->messaging, rows, ROWS) : 0;
    *count = *count < ROWS ? *count : ROWS;
    uint64_t bytes = *count * sizeof *rows;
    pse_handle handle;
    if (bytes > 0 && in_arena)
        block = pse_arena_allocate(s->arena, bytes, &handle) == 0 ? pse_engine_block_at(s, handle) : NULL;
    else if (bytes > 0)
        block = pse_engine_buffer_make_private(s, bytes);
    if (block != NULL) {
        const int64_t extent = (int64_t)bytes;
        pse_engine_layout_fill(&block->layout, PSE_U8, 1, 1, &extent);
        memcpy(pse_engine_buffer_data(s, block), rows, bytes);
    }
    free(rows);
    return block;
}

static void answer_rows(pse_engine *s, uint32_t rank, pse_message *message)
{
    size_t count;
    bool far = s->plan->remote[rank];
    pse_block *block = block_of_rows(s, !far, &count);
    if (block == NULL) {
        pse_engine_tell(s, rank, message);
        return;
    }
    message->extra = (uint32_t)count;
    if (far) {
        pse_engine_post_remote_array(s, rank, message, block, pse_engine_buffer_data(s, block),
                                     &block->layout);
        return;
    }
    message->value.handle = pse_engine_buffer_handle(s, block);
    pse_engine_post(s, rank, message);
}

static void answer(pse_engine *s, uint32_t rank, const pse_engine_question *asked)
{
    const pse_engine_tally mine = tally_of(s);
    pse_message message = {
        .kind = PSE_CARRIES_ANSWER, .source = s->plan->rank, .edge = PSE_NONE, .tph = asked->round};
    if (asked->phase == PHASE_ROWS) {
        answer_rows(s, rank, &message);
        return;
    }
    message.sequence = mine.activity;
    message.value.counts[0] = mine.posted;
    message.value.counts[1] = mine.delivered;
    pse_engine_tell(s, rank, &message);
}

void pse_engine_deadlock_answer(pse_engine *s)
{
    pse_engine_deadlock *q = &s->deadlock;
    for (uint32_t rank = 0; rank < s->plan->ranks && q->unanswered > 0; rank++) {
        if (q->questions[rank].phase == PHASE_NONE)
            continue;
        answer(s, rank, &q->questions[rank]);
        q->questions[rank].phase = PHASE_NONE;
        q->unanswered--;
    }
}

static void keep_rows(pse_engine_deadlock *q, const pse_messaging_wait *rows, size_t count)
{
    if (q->rows_count + count > q->rows_size) {
        size_t size = 2 * (q->rows_count + count);
        pse_messaging_wait *wider = realloc(q->rows, size * sizeof *wider);
        if (wider == NULL)
            return;
        q->rows = wider;
        q->rows_size = size;
    }
    if (count > 0)
        memcpy(q->rows + q->rows_count, rows, count * sizeof *rows);
    q->rows_count += count;
}

static void take_answer(pse_engine *s, const pse_message *message)
{
    pse_engine_deadlock *q = &s->deadlock;
    bool wanted = message->tph == q->round && q->missing > 0;
    if (wanted)
        q->missing--;
    if (message->extra > 0) {
        pse_block *block = s->plan->remote[message->source] ? message->value.pointer
                                                            : pse_engine_block_at(s, message->value.handle);
        if (wanted)
            keep_rows(q, pse_engine_buffer_data(s, block), message->extra);
        pse_engine_buffer_release(s, block);
    } else if (wanted) {
        q->now.activity += message->sequence;
        q->now.posted += message->value.counts[0];
        q->now.delivered += message->value.counts[1];
    }
}

bool pse_engine_deadlock_message(pse_engine *s, const pse_message *message)
{
    pse_engine_deadlock *q = &s->deadlock;
    if (message->kind == PSE_CARRIES_ANSWER) {
        take_answer(s, message);
        return true;
    }
    if (message->kind != PSE_CARRIES_QUESTION)
        return false;
    q->unanswered += q->questions[message->source].phase == PHASE_NONE;
    q->questions[message->source] = (pse_engine_question){message->tph, (uint8_t)message->extra};
    if (message->source < s->plan->rank)
        q->not_before = pse_clock() + POSTPONE_NANOSECONDS;
    return true;
}

/* All answers to a question have come. */
static bool conclude(pse_engine *s, uint64_t now)
{
    pse_engine_deadlock *q = &s->deadlock;
    bool still = q->now.activity == q->first.activity && q->now.posted == q->first.posted &&
                 q->now.delivered == q->now.posted;
    switch (q->phase) {
    case PHASE_FIRST:
        q->first = q->now;
        ask(s, PHASE_SECOND);
        return q->missing == 0 && conclude(s, now);
    case PHASE_SECOND:
        q->phase = PHASE_NONE;
        q->not_before = now + PATIENCE_NANOSECONDS;
        if (!still)
            return false;
        q->rows_count = 0;
        ask(s, PHASE_ROWS);
        return q->missing == 0 && conclude(s, now);
    default: {
        pse_messaging_wait *rows = malloc(ROWS * sizeof *rows);
        size_t count = rows ? pse_messaging_report_waits(s->messaging, rows, ROWS) : 0;
        keep_rows(q, rows, count < ROWS ? count : ROWS);
        free(rows);
        q->phase = PHASE_NONE;
        return true;
    }
    }
}

uint64_t pse_engine_deadlock_step(pse_engine *s, bool *deadlock)
{
    pse_engine_deadlock *q = &s->deadlock;
    if (q->unanswered > 0) {
        pse_engine_deadlock_answer(s);
        pse_engine_ring_all(s);
    }
    bool resting = pse_messaging_resting(s->messaging) > 0;
    if (!resting) {
        q->seen_activity = UINT64_MAX;
        q->phase = PHASE_NONE;
        return 0;
    }
    uint64_t now = pse_clock();
    if (q->activity != q->seen_activity) {
        q->seen_activity = q->activity;
        q->idle_since = now;
    }
    if (q->phase != PHASE_NONE) {
        *deadlock = q->missing == 0 && conclude(s, now);
    } else {
        uint64_t due = q->idle_since + PATIENCE_NANOSECONDS + s->plan->rank % 64u * STAGGER_NANOSECONDS;
        due = due > q->not_before ? due : q->not_before;
        if (now < due)
            return due - now + 1;
        ask(s, PHASE_FIRST);
        *deadlock = q->missing == 0 && conclude(s, now);
    }
    pse_engine_ring_all(s);
    return q->phase != PHASE_NONE ? 0 : PATIENCE_NANOSECONDS;
}

const pse_messaging_wait *pse_engine_waits(const pse_engine *s, size_t *count)
{
    *count = s->deadlock.rows_count;
    return s->deadlock.rows;
}
