/* The state of the file that a rank writes. */
#define _GNU_SOURCE
#include "writer.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "regions/threads.h"

pse_recorder *pse_trace_recorder;
bool pse_trace_threads;
struct trace_thread *pse_trace_writer;
uint32_t pse_trace_mutex;
uintptr_t pse_trace_holder;
uint64_t pse_trace_now;
TOOL_THREAD_LOCAL char pse_trace_mark;

static uintptr_t latest_holder; /* whose events the last ones are; 0: to be looked up */

/* As U. Drepper: Futexes are tricky, 2011. */
void pse_trace_await_lock(void)
{
    while (__atomic_exchange_n(&pse_trace_mutex, 2, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_futex, &pse_trace_mutex, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void pse_trace_wake_waiting(void)
{
    syscall(SYS_futex, &pse_trace_mutex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

__attribute__((hot)) bool pse_trace_begin_records(void)
{
    if (!pse_trace_recorder)
        return false;
    pse_trace_lock();
    pse_trace_now = pse_clock();
    if (pse_trace_recorder)
        return true;
    pse_trace_unlock(); /* Another thread has just ended it. */
    return false;
}

/* Say that what follows is of this thread. */
static void turn_to_thread(uint64_t time)
{
    static uint32_t number;
    const struct trace_thread *thread = pse_trace_writer ? pse_trace_writer : pse_trace_this_thread();
    latest_holder = pse_trace_writer ? 0 : pse_trace_self();
    if (!thread || thread->number == number)
        return;
    number = thread->number;
    pse_recorder_add_at(pse_trace_recorder, time, PSE_EVENT_THREAD, 0, PSE_NONE, 0, number, 0, 0);
}

static uint64_t in_order(uint64_t time)
{
    static uint64_t latest;
    latest = time < latest ? latest : time;
    if (latest_holder != pse_trace_self() || pse_trace_writer)
        turn_to_thread(latest);
    return latest;
}

__attribute__((hot)) void pse_trace_put(uint64_t time, uint16_t type, uint16_t flags, uint64_t a, uint64_t b,
                                        uint64_t c)
{
    if (pse_trace_threads)
        time = in_order(time);
    pse_recorder_add_at(pse_trace_recorder, time, type, flags, PSE_NONE, 0, a, b, c);
}

__attribute__((hot)) void pse_trace_let_go(void)
{
    if (pse_trace_is_writing())
        pse_trace_unlock();
}

void pse_trace_forget_thread(void)
{
    pse_trace_lock();
    latest_holder = 0;
    pse_trace_unlock();
}
