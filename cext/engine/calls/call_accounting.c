#define _GNU_SOURCE
#include "calls/call_accounting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

/* Reading the run-queue delay is a system call of some microseconds: only a trace needs it, and only of call
 * sites whose calls last so long on average. */
#define LONG_CALL 500000u

void pse_engine_account_create(pse_engine *s)
{
    s->accounting.loads = calloc(s->plan->loads_count + 1, sizeof *s->accounting.loads);
    s->accounting.delay_file = -1;
    s->accounting.entered_delay = UINT64_MAX;
}

void pse_engine_account_destroy(pse_engine *s)
{
    free(s->accounting.loads);
    if (s->accounting.delay_file >= 0)
        close(s->accounting.delay_file);
}

/* How long this thread has been ready to run without a core so far, ns; UINT64_MAX where the system doesn't
 * say. */
static uint64_t run_queue_delay(pse_engine *s)
{
    char text[96];
    unsigned long long on_core, delay;
    if (s->accounting.delay_file < 0)
        s->accounting.delay_file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t length = pread(s->accounting.delay_file, text, sizeof text - 1, 0);
    if (length <= 0)
        return UINT64_MAX;
    text[length] = 0;
    return sscanf(text, "%llu %llu", &on_core, &delay) == 2 ? delay : UINT64_MAX;
}

static bool calls_last_long(const pse_site_statistics *statistics)
{
    uint64_t calls = atomic_load_explicit(&statistics->calls, memory_order_relaxed);
    return atomic_load_explicit(&statistics->wall, memory_order_relaxed) >= calls * LONG_CALL;
}

/* Record how long the call that ends was preempted, if that is at least a hundredth of its time. */
static void record_preemption(pse_engine *s, uint64_t now, const pse_call *call, const pse_context *context)
{
    uint64_t before = s->accounting.entered_delay, after;
    if (before == UINT64_MAX || (after = run_queue_delay(s)) == UINT64_MAX || after < before)
        return;
    uint64_t delay = after - before, wall = now - s->accounting.entered;
    if (delay > wall)
        delay = wall;
    if (delay > wall / 100)
        pse_engine_record(s, now, PSE_EVENT_MODULE_PREEMPTED, 0, call->site, context->tph, delay,
                          s->accounting.entered, 0);
}

void pse_engine_account_enter(pse_engine *s, pse_context *context, const pse_call *call)
{
    bool reads =
        s->recorder != NULL && calls_last_long(pse_board_statistics(s->board, s->plan->rank, call->site));
    s->accounting.entered_delay = reads ? run_queue_delay(s) : UINT64_MAX;
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
    if (s->accounting.culprit != NULL) {
        s->accounting.culprit[1] = call->text;
        s->accounting.culprit[0] = NULL;
    }
    pse_engine_count_up(&statistics->calls, calls);
    s->accounting.lasted = now - s->accounting.entered;
    pse_engine_count_up(&statistics->wall, s->accounting.lasted);
    pse_engine_count_up(&statistics->cpu, cpu);
    if (context->load < s->plan->loads_count)
        s->accounting.loads[context->load] += cpu;
    if (copied)
        pse_engine_count_up(&statistics->copied, copied);
    record_preemption(s, now, call, context);
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

/* To close descriptors takes longer than this, and calls that take longer don't notice the check, ns. */
#define SHORT_CALL 5000u

void pse_engine_watch_descriptor(pse_engine *s, int descriptor)
{
    struct stat found = {0};
    bool on = fstat(descriptor, &found) == 0;
    s->accounting.open = (pse_engine_descriptor_check){on, descriptor, found.st_dev, found.st_ino, NULL};
}

static bool is_closed(const pse_engine_descriptor_check *check)
{
    struct stat found;
    return fstat(check->descriptor, &found) != 0 || found.st_dev != check->device ||
           found.st_ino != check->inode;
}

void pse_engine_look_at_descriptor(pse_engine *s, const pse_context *context)
{
    pse_engine_descriptor_check *check = &s->accounting.open;
    if (check->on && check->closer == NULL && s->accounting.lasted >= SHORT_CALL && is_closed(check))
        check->closer = context;
}

bool pse_engine_closed_descriptor(const pse_engine *s, const pse_context *context)
{
    return s->accounting.open.closer == context;
}
