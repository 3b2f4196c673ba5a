/* The file of a rank's events: one recorder, and a lock around records unless there is one thread only. */
#ifndef PSE_TRACE_WRITER_H
#define PSE_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"
#include "tool.h"

struct trace_thread;

#pragma GCC visibility push(hidden)

extern pse_recorder *pse_trace_recorder; /* NULL: not recording */
extern bool pse_trace_threads;           /* events may be of several threads */

/* A lock in line, which nobody holds for long: taken for each call of MPI and of a function, cold. */
extern uint32_t pse_trace_mutex; /* 0: free, 1: held, 2: held, and somebody sleeps until it is free */
void pse_trace_await_lock(void);
void pse_trace_wake_waiting(void);

extern uintptr_t pse_trace_holder;            /* who has the lock: a pse_trace_self; 0: nobody */
extern TOOL_THREAD_LOCAL char pse_trace_mark; /* whose address tells threads apart */
extern struct trace_thread *pse_trace_writer; /* whose events follow, if they aren't the calling thread's */
/* The time of what is recorded until the lock is let go, since pse_trace_begin_records. */
extern uint64_t pse_trace_now;

/* The functions for each call of MPI are not inline: after a program has computed, code comes from memory. */

/* Take the lock and look at the clock; false, without the lock, if nothing is recorded. */
bool pse_trace_begin_records(void);
/* Record an event; the lock is held and the recorder is there.  With several threads times of a file still
 * never go back: what a call tells when it has returned has the time of its begin, and by then other threads
 * may have recorded more. */
void pse_trace_put(uint64_t time, uint16_t type, uint16_t flags, uint64_t a, uint64_t b, uint64_t c);
/* Let the lock go if this thread has it. */
void pse_trace_let_go(void);
/* A thread ends, and another one may get its identity. */
void pse_trace_forget_thread(void);

#pragma GCC visibility pop

/* The calling thread. */
static inline uintptr_t pse_trace_self(void)
{
    return (uintptr_t)&pse_trace_mark;
}

/* Whether this thread has the lock: what a signal's handler calls then is not recorded. */
static inline bool pse_trace_is_writing(void)
{
    return __atomic_load_n(&pse_trace_holder, __ATOMIC_RELAXED) == pse_trace_self();
}

static inline void pse_trace_lock(void)
{
    uint32_t expected = 0;
    if (pse_trace_threads && !__atomic_compare_exchange_n(&pse_trace_mutex, &expected, 1, false,
                                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        pse_trace_await_lock();
    __atomic_store_n(&pse_trace_holder, pse_trace_self(), __ATOMIC_RELAXED);
}

static inline void pse_trace_unlock(void)
{
    __atomic_store_n(&pse_trace_holder, (uintptr_t)0, __ATOMIC_RELAXED);
    if (pse_trace_threads && __atomic_exchange_n(&pse_trace_mutex, 0, __ATOMIC_RELEASE) == 2)
        pse_trace_wake_waiting();
}

#endif
