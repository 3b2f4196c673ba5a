/* The sequencer's loop: take messages, let the oldest context that can go on go on, else sleep. */
#include <stdlib.h>

#include "state.h"

#define POLL_NANOSECONDS                                                                                     \
    50000u /* how long a rank with remote peers computes small calls without looking at MPI */
#define PREFAULT_BYTES (1u << 20)
#define QUIET_NANOSECONDS                                                                                    \
    250000000u /* two looks this far apart that find all ranks asleep: nobody can ever free */

int pse_sequencer_create(pse_sequencer **out, const pse_plan *plan, pse_board *board, pse_arena *arena,
                         pse_recorder *recorder)
{
    pse_sequencer *s = calloc(1, sizeof *s);
    *out = s;
    if (s == NULL)
        return PSE_RUN_MEMORY;
    s->plan = plan;
    s->board = board;
    s->self = pse_board_slot(board, plan->rank);
    s->arena = arena;
    s->arena_base = arena ? pse_arena_base(arena) : NULL;
    s->recorder = recorder;
    s->shown = pse_board_queued(board, plan->rank);
    memset((void *)s->shown, 0, plan->edges * sizeof *s->shown);
    s->sent = calloc(plan->pushes_count + 1, sizeof *s->sent);
    s->sequences = calloc(plan->ranks, sizeof *s->sequences);
    s->loops = calloc(plan->loops_count + 1, sizeof *s->loops);
    s->queued = calloc(plan->edges + 1, sizeof *s->queued);
    s->loads = calloc(plan->loads_count + 1, sizeof *s->loads);
    if (!routes_create(s) || s->loads == NULL || s->queued == NULL || s->sent == NULL ||
        s->sequences == NULL || s->loops == NULL)
        return PSE_RUN_MEMORY;
    if (!mail_create(s) || !quiet_create(s))
        return PSE_RUN_MEMORY;
    pse_channel_bell_note_affinity(s->self);
    pse_channel_bell_note_core(s->self);
    return context_create(s, NULL, 1) != NULL ? 0 : PSE_RUN_MEMORY;
}

static void free_chain(early *item)
{
    while (item != NULL) {
        early *next = item->next;
        free(item);
        item = next;
    }
}

static void free_contexts(pse_context *context)
{
    while (context != NULL) {
        pse_context *next = context->chained;
        free(context);
        context = next;
    }
}

void pse_sequencer_destroy(pse_sequencer *s)
{
    s->shown = NULL; /* What is freed now leaves no queue, and the board is the next sequencer's. */
    frames_destroy(s);
    while (s->youngest != NULL)
        s->youngest->home == s->youngest ? context_remove(s, s->youngest) : fiber_remove(s, s->youngest);
    free_contexts(s->spare_contexts);
    free_contexts(s->spare_fibers);
    order_destroy(s);
    free_chain(s->strays);
    free_chain(s->spare_early);
    free_chain(s->held_up);
    pse_messaging_destroy(s->mail);
    quiet_destroy(s);
    for (int i = 0; i < PSE_PRIVATE_CLASSES; i++) {
        while (s->spare_blocks[i] != NULL) {
            pse_block *block = s->spare_blocks[i];
            s->spare_blocks[i] = (pse_block *)(uintptr_t)block->internal[0];
            free(block);
        }
    }
    for (uint32_t loop = 0; loop < s->plan->loops_count; loop++)
        free(s->loops[loop].ahead);
    free(s->overflow);
    free(s->overflow_ranks);
    free(s->outbox);
    free(s->outbox_given);
    free(s->sent);
    free(s->queued);
    free(s->loads);
    free(s->sequences);
    routes_destroy(s);
    free(s->loops);
    free(s);
}

void pse_sequencer_set_culprit(pse_sequencer *s, const char *volatile *culprit)
{
    s->culprit = culprit;
}
const pse_call *pse_sequencer_pending(const pse_sequencer *s)
{
    return s->pending_call;
}
uint64_t pse_sequencer_pending_tph(const pse_sequencer *s)
{
    return s->pending_context->tph;
}
int64_t pse_sequencer_pending_index(const pse_sequencer *s)
{
    return s->pending_context->index;
}
int64_t pse_sequencer_pending_partition(const pse_sequencer *s)
{
    return s->pending_context->home != s->pending_context ? (int64_t)s->pending_context->partition : -1;
}
int32_t pse_sequencer_pending_instruction(const pse_sequencer *s)
{
    return s->pending_context->pc;
}

int pse_sequencer_module_code(const pse_sequencer *s)
{
    return s->module_code;
}

static int assign(pse_sequencer *s, pse_context *context, const pse_instruction *at, int *result)
{
    value v;
    if (!expression_ready(context, s, at->b))
        return PROGRESS_BLOCKED;
    if (!evaluate(context, s, at->b, &v)) {
        *result = PSE_RUN_ARITHMETIC;
        s->pending_context = context;
        s->pending_call = NULL;
        return PROGRESS_CALLER;
    }
    value *target = slot_renew(s, context, at->a);
    target->state = VALUE_SCALAR;
    target->dtype = v.dtype;
    target->as = v.as;
    context->pc++;
    return PROGRESS_RAN;
}

static int branch(pse_sequencer *s, pse_context *context, const pse_instruction *at, int *result)
{
    value v;
    if (!expression_ready(context, s, at->b))
        return PROGRESS_BLOCKED;
    if (!evaluate(context, s, at->b, &v)) {
        *result = PSE_RUN_ARITHMETIC;
        s->pending_context = context;
        s->pending_call = NULL;
        return PROGRESS_CALLER;
    }
    bool holds = v.dtype == PSE_I64 ? v.as.integer != 0 : v.as.real[0] != 0;
    context->pc = holds ? context->pc + 1 : at->a;
    return PROGRESS_RAN;
}

static void swap_slots(pse_sequencer *s, pse_context *context, int32_t a, int32_t b)
{
    value *slots = context->home->slots, kept = slots[a];
    slots[a] = slots[b];
    slots[b] = kept;
    value_rename(s, &slots[a]);
    value_rename(s, &slots[b]);
}

/* Run a context until it executed a call, blocks, ends, or needs the caller. */
static int advance(pse_sequencer *s, pse_context *context, int *result)
{
    for (;;) {
        const pse_instruction *at = &s->plan->instructions[context->pc];
        int progress = PROGRESS_RAN;
        switch (at->operation) {
        case PSE_OP_CALL:
            return call_step(s, context, &s->plan->calls[at->a], result);
        case PSE_OP_FORK:
            s->pending_context = context;
            s->pending_call = NULL;
            return fork_step(s, context, &s->plan->loops[at->a], result);
        case PSE_OP_SPREAD:
            return spread_step(s, context, at, result);
        case PSE_OP_PAUSE:
            progress = pause_step(s, context, result);
            break;
        case PSE_OP_END:
            return PROGRESS_ENDED;
        case PSE_OP_ASSIGN:
            progress = assign(s, context, at, result);
            break;
        case PSE_OP_JUMP_UNLESS:
            progress = branch(s, context, at, result);
            break;
        case PSE_OP_JUMP:
            context->pc = at->a;
            break;
        case PSE_OP_EXPECT:
            expect(s, context, at->a, (uint32_t)at->b, (uint32_t)at->c);
            context->pc++;
            break;
        case PSE_OP_DROP:
            slot_drop(s, context, at->a);
            context->pc++;
            break;
        default:
            swap_slots(s, context, at->a, at->b);
            context->pc++;
            break;
        }
        if (progress != PROGRESS_RAN)
            return progress;
    }
}

/* A context is gone when its code has ended and nothing is on its way to it any more. */
static bool finish(pse_sequencer *s, pse_context *context)
{
    if (context->home != context) {
        context->home->children--;
        fiber_remove(s, context);
        return true;
    }
    if (!context->ended)
        for (uint32_t slot = 0; slot < s->plan->slots; slot++)
            slot_drop(s, context, (int32_t)slot);
    context->ended = 1;
    if (context->unwanted != NULL)
        return false;
    if (context->parent != NULL)
        iteration_complete(s, context);
    context_remove(s, context);
    return true;
}

static int pass(pse_sequencer *s, int *result)
{
    s->wants = 0;
    s->reason = NO_REASON;
    int ordered = order_step(s, result);
    if (ordered != PROGRESS_BLOCKED)
        return ordered;
    for (pse_context *context = s->oldest, *next; context != NULL; context = next) {
        next = context->younger;
        uint32_t wanted = s->wants;
        if (context->stuck != NULL && context->stuck->state == VALUE_AWAITED) {
            s->reason = s->reason == NO_REASON ? 0 : s->reason;
            continue;
        }
        int progress = context->ended ? PROGRESS_ENDED : advance(s, context, result);
        if (progress == PROGRESS_RAN || progress == PROGRESS_CALLER)
            return progress;
        if (progress == PROGRESS_ENDED && finish(s, context))
            return PROGRESS_RAN;
        if (progress == PROGRESS_BLOCKED && !context->forking && s->reason == NO_REASON)
            s->reason = s->wants & ~wanted;
    }
    return PROGRESS_BLOCKED;
}

static uint32_t waiting_state(uint32_t wants)
{
    if (wants & PSE_WANT_SPACE)
        return PSE_RANK_WAIT_SPACE;
    if (wants & PSE_WANT_CREDIT)
        return PSE_RANK_WAIT_CREDIT;
    if (wants & PSE_WANT_EXCLUSIVE)
        return PSE_RANK_WAIT_EXCLUSIVE;
    if (wants & PSE_WANT_ITERATION)
        return PSE_RANK_WAIT_ITERATION;
    return wants & PSE_WANT_ORDER ? PSE_RANK_WAIT_ORDER : PSE_RANK_WAIT_INPUT;
}

static uint16_t waiting_reason(uint32_t wants)
{
    if (wants & PSE_WANT_SPACE)
        return PSE_WAIT_SPACE;
    if (wants & PSE_WANT_CREDIT)
        return PSE_WAIT_CREDIT;
    if (wants & PSE_WANT_EXCLUSIVE)
        return PSE_WAIT_EXCLUSIVE;
    if (wants & PSE_WANT_ITERATION)
        return PSE_WAIT_ITERATION;
    return wants & PSE_WANT_ORDER ? PSE_WAIT_ORDER : PSE_WAIT_INPUT;
}

/* The oldest call that waits: its call site, its TPH, the edge that has not brought its message, and whether
 * it waits for messages among partitions. */
static uint32_t awaited_site(const pse_sequencer *s, uint64_t *tph, uint32_t *edge, bool *parked)
{
    *edge = PSE_NONE;
    *parked = false;
    *tph = s->oldest ? s->oldest->tph : 0;
    for (const pse_context *context = s->oldest; context != NULL; context = context->younger) {
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

/* Say what we wait for, so that whoever brings it rings.  Then everything must be looked at once more. */
static void announce(pse_sequencer *s, uint32_t wants)
{
    bool before = (s->announced & PSE_WANT_SPACE) != 0, now = (wants & PSE_WANT_SPACE) != 0;
    atomic_store(&s->self->wants, wants);
    s->announced = wants;
    if (now && !before)
        atomic_fetch_add(pse_board_space_wanted(s->board), 1u);
    if (before && !now)
        atomic_fetch_sub(pse_board_space_wanted(s->board), 1u);
}

static bool sleep_until_rung(pse_sequencer *s, uint32_t seen, uint64_t timeout)
{
    uint64_t begin = pse_clock(), tph;
    uint32_t why = s->reason == NO_REASON ? s->wants : s->reason;
    bool parked;
    uint32_t edge, site = awaited_site(s, &tph, &edge, &parked);
    uint16_t reason = waiting_reason(why);
    if (parked && reason == PSE_WAIT_INPUT)
        reason = PSE_WAIT_PARTITIONS;
    record(s, begin, PSE_EVENT_WAIT_BEGIN, reason, site, tph, pse_pair(PSE_NONE, edge), 0, 0);
    atomic_store_explicit(&s->self->since, begin, memory_order_relaxed);
    atomic_store_explicit(&s->self->state, waiting_state(why), memory_order_relaxed);
    uint64_t slept = 0;
    bool rang = pse_channel_bell_wait(s->board, s->plan->rank, seen, timeout, &slept);
    uint64_t end = pse_clock();
    atomic_store_explicit(&s->self->state, PSE_RANK_RUNNING, memory_order_relaxed);
    cpu_slept(s, end, slept);
    if (site != PSE_NONE)
        count_up(&pse_board_statistics(s->board, s->plan->rank, site)->waited, end - begin);
    record(s, end, PSE_EVENT_WAIT_END, reason, site, tph, pse_pair(PSE_NONE, edge), begin, 0);
    return rang;
}

/* Whether all other ranks of the node sleep, and nothing has rung or been freed since the last look a while
 * ago. */
static bool nobody_will_free(pse_sequencer *s)
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
    uint64_t quiet = s->plan->has_remote ? 20 * QUIET_NANOSECONDS : QUIET_NANOSECONDS;
    if (asleep && bells == s->quiet_bells && frees == s->quiet_frees && s->quiet_since != 0)
        return now - s->quiet_since >= quiet;
    s->quiet_bells = bells;
    s->quiet_frees = frees;
    s->quiet_since = asleep ? now : 0;
    return false;
}

/* While there is nothing else to do, map what other ranks have made the arena grow by: whoever gets one of
 * their buffers then finds its pages there.  Only while a core is free, a step at a time. */
static void prefault(pse_sequencer *s, uint32_t seen)
{
    while (s->arena != NULL && pse_channel_bell_read(s->self) == seen &&
           pse_channel_bell_core_is_free(s->board, s->plan->rank))
        if (pse_arena_prefault(s->arena, PREFAULT_BYTES) == 0)
            return;
}

/* Sleep; says why to return to the caller, or -1 to go on. */
static int wait_for_work(pse_sequencer *s, uint32_t seen, uint64_t patience)
{
    bool deadlock = false;
    uint64_t timeout = patience, limit = quiet_step(s, &deadlock);
    if (deadlock)
        return PSE_RUN_DEADLOCK;
    if (limit != 0 && (timeout == 0 || timeout > limit))
        timeout = limit;
    bool full = (s->wants & PSE_WANT_SPACE) != 0;
    if (full && (timeout == 0 || timeout > QUIET_NANOSECONDS / 2))
        timeout = QUIET_NANOSECONDS / 2;
    prefault(s, seen);
    bool rang = sleep_until_rung(s, seen, timeout);
    if (rang) {
        s->quiet_since = 0;
        return -1;
    }
    if (full && nobody_will_free(s))
        return PSE_RUN_NO_SPACE;
    return s->plan->has_remote ? PSE_RUN_POLL : PSE_RUN_SIGNAL;
}

static bool time_to_poll(pse_sequencer *s)
{
    if (!s->plan->has_remote)
        return false;
    uint64_t now = pse_clock();
    if (s->outbox_count == 0 && now - s->polled_at < POLL_NANOSECONDS)
        return false;
    s->polled_at = now;
    return true;
}

int pse_sequencer_run(pse_sequencer *s, uint64_t patience)
{
    int result = PSE_RUN_DONE;
    for (;;) {
        uint32_t seen = pse_channel_bell_read(s->self);
        drain(s);
        ring_all(s);
        bool congested = s->overflow_count > 0 && flush_overflow(s);
        int progress = pass(s, &result);
        if (progress != PROGRESS_BLOCKED)
            quiet_moved(s);
        if (forward_retry(s))
            s->wants |= PSE_WANT_SPACE;
        if (mail_step(s))
            return PSE_RUN_MAIL;
        if (progress != PROGRESS_BLOCKED && s->announced)
            announce(s, 0);
        if (progress == PROGRESS_CALLER)
            return result;
        if (s->oldest == NULL && !congested && s->held_up == NULL)
            return s->outbox_count ? PSE_RUN_POLL : PSE_RUN_DONE;
        if (time_to_poll(s))
            return PSE_RUN_POLL;
        if (progress == PROGRESS_RAN)
            continue;
        if (s->wants != s->announced) {
            announce(s, s->wants);
            continue;
        }
        int reason = wait_for_work(s, seen, congested ? POLL_NANOSECONDS : patience);
        if (reason >= 0)
            return reason;
    }
}
