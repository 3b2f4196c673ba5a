#include "waiting.h"

#include "calls/call_accounting.h"
#include "deadlock_detection.h"
#include "messaging.h"
#include "state/engine_state.h"

#define PREFAULT_BYTES (1u << 20)
#define STILL_NANOSECONDS                                                                                    \
    250000000u /* two looks this far apart that find all ranks asleep: nobody can ever free */

/* A rank that has had nothing to do for so long copies large messages that wait here for their receivers, so
 * that their senders can go on: it may be they for whom it waits. */
#define BUFFER_NANOSECONDS 1000000u

/* Polls for transfers between nodes interrupt a wait for so long at most; it is still one wait. */
#define POLL_NANOSECONDS 1000000u

/* Of several reasons to wait, the one that comes first here counts. */
static uint16_t waiting_reason(uint32_t wants)
{
    static const uint16_t order[] = {PSE_WAIT_SPACE, PSE_WAIT_CREDIT, PSE_WAIT_EXCLUSIVE, PSE_WAIT_ITERATION,
                                     PSE_WAIT_ORDER};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (wants & 1u << order[i])
            return order[i];
    return PSE_WAIT_INPUT;
}

/* The oldest call that waits: its call site, its TPH, the edge that has not brought its message, and whether
 * it waits for messages among partitions. */
static uint32_t awaited_site(const pse_engine *s, uint64_t *tph, uint32_t *edge, bool *parked)
{
    *edge = PSE_NONE;
    *parked = false;
    *tph = s->contexts.oldest ? s->contexts.oldest->tph : 0;
    for (const pse_context *context = s->contexts.oldest; context != NULL; context = context->younger) {
        const pse_instruction *at = &s->plan->instructions[context->pc];
        if (context->ended || at->operation != PSE_OP_CALL)
            continue;
        if (context->stuck != NULL && context->stuck->state == VALUE_AWAITED)
            *edge = context->stuck->edge;
        *parked = context->parked != NULL;
        *tph = context->tph;
        return s->plan->calls[at->a].site;
    }
    return PSE_NONE;
}

void pse_engine_announce(pse_engine *s, uint32_t wants)
{
    bool before = (s->waiting.announced & PSE_WANT_SPACE) != 0, now = (wants & PSE_WANT_SPACE) != 0;
    atomic_store(&s->self->wants, wants);
    s->waiting.announced = wants;
    if (now && !before)
        atomic_fetch_add(pse_board_space_wanted(s->board), 1u);
    if (before && !now)
        atomic_fetch_sub(pse_board_space_wanted(s->board), 1u);
}

/* Record that a wait begins.  If nothing was recorded since a wait for the same ended, that one goes on. */
static void record_begin(pse_engine *s, uint64_t begin, uint16_t reason, uint32_t site, uint64_t tph,
                         uint64_t edge)
{
    if (s->recorder == NULL)
        return;
    const pse_event *last = s->recorder->next - 1;
    if (s->waiting.recorded_begin != 0 && last->type == PSE_EVENT_WAIT_END && last->flags == reason &&
        last->site == site && last->tph == tph && last->a == edge && begin - last->time <= POLL_NANOSECONDS) {
        pse_recorder_take_back(s->recorder);
        return;
    }
    s->waiting.recorded_begin = begin;
    pse_engine_record(s, begin, PSE_EVENT_WAIT_BEGIN, reason, site, tph, edge, 0, 0);
}

static bool sleep_until_rung(pse_engine *s, uint32_t seen, uint64_t timeout)
{
    uint64_t begin = pse_clock(), tph;
    uint32_t why = s->waiting.reason == PSE_NO_REASON ? s->waiting.wants : s->waiting.reason;
    bool parked;
    uint32_t edge, site = awaited_site(s, &tph, &edge, &parked);
    uint16_t reason = waiting_reason(why), state = PSE_RANK_RUNNING + reason;
    if (parked && reason == PSE_WAIT_INPUT)
        reason = PSE_WAIT_PARTITIONS;
    record_begin(s, begin, reason, site, tph, pse_pair(PSE_NONE, edge));
    atomic_store_explicit(&s->self->since, begin, memory_order_relaxed);
    atomic_store_explicit(&s->self->state, state, memory_order_relaxed);
    uint64_t slept = 0;
    bool rang = pse_channel_bell_wait(s->board, s->plan->rank, seen, timeout, &slept);
    uint64_t end = pse_clock();
    atomic_store_explicit(&s->self->state, PSE_RANK_RUNNING, memory_order_relaxed);
    pse_engine_cpu_slept(s, end, slept);
    if (site != PSE_NONE)
        pse_engine_count_up(&pse_board_statistics(s->board, s->plan->rank, site)->waited, end - begin);
    pse_engine_record(s, end, PSE_EVENT_WAIT_END, reason, site, tph, pse_pair(PSE_NONE, edge),
                      s->waiting.recorded_begin, 0);
    return rang;
}

/* Whether all other ranks of the node sleep, and nothing has rung or been freed since the last look a while
 * ago. */
static bool nobody_will_free(pse_engine *s)
{
    uint64_t frees = pse_arena_frees(s->arena), now = pse_clock();
    uint32_t bells = 0;
    bool asleep = true;
    for (uint32_t rank = 0; rank < s->plan->ranks; rank++) {
        pse_slot *slot = pse_board_slot(s->board, rank);
        uint32_t state = atomic_load(&slot->state);
        bells += atomic_load(&slot->bell);
        if (rank == s->plan->rank || state == PSE_RANK_ABSENT || state >= PSE_RANK_DONE)
            continue;
        if (!atomic_load(&slot->sleeping))
            asleep = false;
    }
    uint64_t enough = s->plan->has_remote ? 20 * STILL_NANOSECONDS : STILL_NANOSECONDS;
    if (asleep && bells == s->waiting.bells_seen && frees == s->waiting.frees_seen &&
        s->waiting.still_since != 0)
        return now - s->waiting.still_since >= enough;
    s->waiting.bells_seen = bells;
    s->waiting.frees_seen = frees;
    s->waiting.still_since = asleep ? now : 0;
    return false;
}

/* While there is nothing else to do, map what other ranks have made the arena grow by: whoever gets one of
 * their buffers then finds its pages there.  Only while a core is free, a step at a time. */
static void prefault(pse_engine *s, uint32_t seen)
{
    while (s->arena != NULL && pse_channel_bell_read(s->self) == seen &&
           pse_channel_bell_core_is_free(s->board, s->plan->rank))
        if (pse_arena_prefault(s->arena, PREFAULT_BYTES) == 0)
            return;
}

static uint64_t shorter(uint64_t timeout, uint64_t limit)
{
    return limit != 0 && (timeout == 0 || timeout > limit) ? limit : timeout;
}

int pse_engine_wait_for_work(pse_engine *s, uint32_t seen, uint64_t patience)
{
    /* A rank says that it can do nothing any more only when no sender could go on with a copy. */
    if (pse_engine_deadlock_is_asked(s) && pse_messaging_buffer(s->messaging))
        return -1;
    bool deadlock = false, full = (s->waiting.wants & PSE_WANT_SPACE) != 0;
    bool keeps_senders = pse_messaging_keeps_senders(s->messaging);
    uint64_t timeout = shorter(patience, pse_engine_deadlock_step(s, &deadlock));
    if (deadlock)
        return PSE_RUN_DEADLOCK;
    timeout = shorter(timeout, full ? STILL_NANOSECONDS / 2 : 0);
    timeout = shorter(timeout, keeps_senders ? BUFFER_NANOSECONDS : 0);
    prefault(s, seen);
    if (sleep_until_rung(s, seen, timeout)) {
        s->waiting.still_since = 0;
        return -1;
    }
    if (keeps_senders)
        pse_messaging_buffer(s->messaging);
    if (full && nobody_will_free(s))
        return PSE_RUN_NO_SPACE;
    return s->plan->has_remote ? PSE_RUN_POLL : PSE_RUN_SIGNAL;
}
