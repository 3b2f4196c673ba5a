/* The state of the file that a rank writes. */
#define _GNU_SOURCE
#include "writer.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event_clock.h"
#include "regions/threads.h"

PSE_TRACE_HOT_DATA pse_recorder *pse_trace_recorder;
PSE_TRACE_HOT_DATA bool pse_trace_threads;
PSE_TRACE_HOT_DATA uintptr_t pse_trace_alone;
PSE_TRACE_HOT_DATA bool pse_trace_alone_writes;
PSE_TRACE_HOT_DATA uint32_t pse_trace_mutex;
PSE_TRACE_HOT_DATA bool pse_trace_has_mutex;
PSE_TRACE_HOT_DATA uintptr_t pse_trace_holder;
PSE_TRACE_HOT_DATA uint64_t pse_trace_now;

PSE_TRACE_HOT_DATA static uintptr_t latest_holder; /* whose events the last ones are; 0: to be looked up */
static struct trace_thread *other_writer;

int pse_trace_open_recorder(const char *directory, uint32_t rank)
{
    PSE_TRACE_HOT_DATA static pse_recorder recorder;
    const int error = pse_recorder_open_part(&recorder, directory, rank, PSE_MPI_EVENTS);
    pse_trace_recorder = error ? NULL : &recorder;
    return error;
}

/* Of linux/membarrier.h, which old systems lack. */
enum { WHAT_IS_KNOWN = 0, ON_ALL_PROCESSORS = 1 };

static long system_barrier(int command)
{
#ifdef SYS_membarrier
    return syscall(SYS_membarrier, command, 0, 0);
#else
    (void)command;
    return -1;
#endif
}

void pse_trace_begin_alone(void)
{
    const long known = system_barrier(WHAT_IS_KNOWN);
    if (!pse_trace_threads || (known > 0 && known & ON_ALL_PROCESSORS))
        __atomic_store_n(&pse_trace_alone, pse_tool_self(), __ATOMIC_RELAXED);
}

/* The caller has the mutex.  Who was alone either sees that it is not, or is seen to write. */
static void end_alone(void)
{
    __atomic_store_n(&pse_trace_alone, (uintptr_t)0, __ATOMIC_RELAXED);
    system_barrier(ON_ALL_PROCESSORS);
    while (__atomic_load_n(&pse_trace_alone_writes, __ATOMIC_ACQUIRE))
        sched_yield();
}

/* As U. Drepper: Futexes are tricky, 2011. */
static void await_mutex(void)
{
    while (__atomic_exchange_n(&pse_trace_mutex, 2, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_futex, &pse_trace_mutex, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void pse_trace_take_mutex(void)
{
    uint32_t expected = 0;
    if (!__atomic_compare_exchange_n(&pse_trace_mutex, &expected, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        await_mutex();
    if (__atomic_load_n(&pse_trace_alone, __ATOMIC_RELAXED))
        end_alone();
    pse_trace_has_mutex = true;
    if (pse_trace_recorder && latest_holder != pse_tool_self())
        pse_recorder_keep_provisional(pse_trace_recorder);
}

void pse_trace_end_writing_alone(void)
{
    __atomic_store_n(&pse_trace_alone_writes, false, __ATOMIC_RELEASE);
    pse_trace_take_mutex();
}

void pse_trace_give_mutex(void)
{
    pse_trace_has_mutex = false;
    if (__atomic_exchange_n(&pse_trace_mutex, 0, __ATOMIC_RELEASE) == 2)
        syscall(SYS_futex, &pse_trace_mutex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Another thread has just ended it. */
__attribute__((cold, noinline)) static bool finds_recording_ended(void)
{
    pse_trace_unlock();
    return false;
}

PSE_TRACE_HOT bool pse_trace_begin_records(void)
{
    if (!pse_trace_recorder)
        return false;
    pse_trace_lock();
    pse_trace_now = pse_trace_clock();
    return __builtin_expect(pse_trace_recorder != NULL, 1) || finds_recording_ended();
}

/* Say that what follows is of this thread. */
__attribute__((cold, noinline)) static void turn_to_thread(uint64_t time)
{
    static uint32_t number;
    struct trace_thread *thread = other_writer ? other_writer : pse_trace_this_thread();
    latest_holder = other_writer ? 0 : pse_tool_self();
    if (!thread || (thread->number == number && !thread->began))
        return;
    number = thread->number;
    pse_recorder_add_at(pse_trace_recorder, time, PSE_EVENT_THREAD, 0, PSE_NONE, 0, number, thread->began, 0);
    thread->began = 0;
}

static inline uint64_t in_order(uint64_t time)
{
    PSE_TRACE_HOT_DATA static uint64_t latest;
    if (pse_trace_threads)
        latest = time = time < latest ? latest : time;
    return time;
}

__attribute__((cold, noinline)) static void put_after_others(uint64_t time, uint16_t type, uint16_t flags,
                                                             uint64_t a, uint64_t b, uint64_t c)
{
    time = in_order(time);
    if (pse_trace_threads)
        turn_to_thread(time);
    pse_recorder_add_at(pse_trace_recorder, time, type, flags, PSE_NONE, 0, a, b, c);
}

PSE_TRACE_HOT void pse_trace_put(uint64_t time, uint16_t type, uint16_t flags, uint64_t a, uint64_t b,
                                 uint64_t c)
{
    pse_recorder *recorder = pse_trace_recorder;
    const bool is_of_latest = !pse_trace_threads || latest_holder == pse_tool_self();
    if (__builtin_expect(!is_of_latest || recorder->next == recorder->limit, 0))
        put_after_others(time, type, flags, a, b, c);
    else
        pse_recorder_add_at(recorder, in_order(time), type, flags, PSE_NONE, 0, a, b, c);
}

PSE_TRACE_HOT void pse_trace_put_provisional(uint64_t time, uint16_t type, uint16_t flags, uint64_t a,
                                             uint64_t b, uint64_t c)
{
    pse_trace_put(time, type, flags, a, b, c);
    pse_recorder_make_provisional(pse_trace_recorder);
}

PSE_TRACE_HOT void pse_trace_let_go(void)
{
    if (pse_trace_is_writing())
        pse_trace_unlock();
}

void pse_trace_write_for(struct trace_thread *thread)
{
    other_writer = thread;
    latest_holder = 0;
}

void pse_trace_forget_thread(void)
{
    pse_trace_lock();
    latest_holder = 0;
    pse_trace_unlock();
}
