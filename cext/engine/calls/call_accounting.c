#include "calls/call_accounting.h"

#include <time.h>

#include "state/engine_state.h"

/* Reading the CPU clock is a system call of half a microsecond.  Shortly after a reading, and across sleeps,
 * the time awake is as good; preemptions make it drift, so there is a reading after so much time awake at the
 * latest. */
#define CPU_CLOCK_INTERVAL 10000u
#define CPU_CLOCK_DRIFT 1000000u

static uint64_t cpu_clock(pse_engine *s, uint64_t now)
{
    uint64_t awake = now - s->accounting.cpu_read_at;
    if (awake > CPU_CLOCK_INTERVAL || s->accounting.cpu_guessed + awake > CPU_CLOCK_DRIFT) {
        struct timespec used;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        s->accounting.cpu_value = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
        s->accounting.cpu_read_at = now;
        s->accounting.cpu_guessed = awake = 0;
    }
    return s->accounting.cpu_value + awake;
}

/* This rank waited until `now` and was off its core for `slept` ns of it. */
void pse_engine_cpu_slept(pse_engine *s, uint64_t now, uint64_t slept)
{
    uint64_t passed = now - s->accounting.cpu_read_at, awake = passed > slept ? passed - slept : 0;
    s->accounting.cpu_value += awake;
    s->accounting.cpu_guessed += awake;
    s->accounting.cpu_read_at = now;
}

void pse_engine_account_enter(pse_engine *s, pse_context *context, const pse_call *call)
{
    uint64_t now = pse_clock();
    if (s->accounting.culprit != NULL)
        *s->accounting.culprit = call->text;
    atomic_store_explicit(&s->self->tph, context->tph, memory_order_relaxed);
    atomic_store_explicit(&s->self->loop_index, context->index, memory_order_relaxed);
    atomic_store_explicit(&s->self->since, now, memory_order_relaxed);
    atomic_store_explicit(&s->self->site, call->site, memory_order_release);
    s->accounting.entered_cpu = cpu_clock(s, now);
    s->accounting.entered = now;
    pse_engine_record(s, now, PSE_EVENT_MODULE_ENTER, 0, call->site, context->tph, context->partition, 0, 0);
}

static void leave(pse_engine *s, pse_context *context, const pse_call *call, uint64_t calls, uint64_t copied)
{
    uint64_t now = pse_clock(), used = cpu_clock(s, now);
    /* The clock may fall behind what was reckoned when the call began. */
    uint64_t cpu = used > s->accounting.entered_cpu ? used - s->accounting.entered_cpu : 0;
    pse_site_statistics *statistics = pse_board_statistics(s->board, s->plan->rank, call->site);
    atomic_store_explicit(&s->self->site, PSE_NO_SITE, memory_order_release);
    if (s->accounting.culprit != NULL)
        *s->accounting.culprit = NULL;
    pse_engine_count_up(&statistics->calls, calls);
    pse_engine_count_up(&statistics->wall, now - s->accounting.entered);
    pse_engine_count_up(&statistics->cpu, cpu);
    if (context->load < s->plan->loads_count)
        s->accounting.loads[context->load] += cpu;
    if (copied)
        pse_engine_count_up(&statistics->copied, copied);
    pse_engine_record(s, now, PSE_EVENT_MODULE_LEAVE, s->pending.module_code ? PSE_MODULE_FAILED : 0,
                      call->site, context->tph, cpu, s->accounting.entered,
                      pse_pair((uint32_t)s->pending.module_code, context->partition));
}

void pse_engine_account_leave(pse_engine *s, pse_context *context, const pse_call *call, uint64_t copied)
{
    leave(s, context, call, 1, copied);
}

/* The module goes on later. */
void pse_engine_account_rest(pse_engine *s, pse_context *context, const pse_call *call)
{
    leave(s, context, call, 0, 0);
}
