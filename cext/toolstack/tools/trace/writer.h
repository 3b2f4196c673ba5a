/* The file of a rank's events: one recorder, and a lock around records unless there is one thread only. */
#ifndef PSE_TRACE_WRITER_H
#define PSE_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "hot.h"
#include "recorder.h"
#include "tool.h"

struct trace_thread;

#pragma GCC visibility push(hidden)

extern pse_recorder *pse_trace_recorder; /* NULL: not recording */
/* Open the file of a rank; an error as of the recorder. */
int pse_trace_open_recorder(const char *directory, uint32_t rank);
extern bool pse_trace_threads; /* events may be of several threads */

/* A lock in line, which nobody holds for long: taken for each call of MPI and of a function, cold.
 *
 * As long as one thread alone has recorded it only says that it writes, and needs no locked instruction,
 * which would await all that the program has just stored.  The first other thread ends that: it takes the
 * mutex, says that nobody is alone, lets the system put a barrier on all processors, and waits until the one
 * that was alone does not write.  That one says that it writes before it looks whether it is still alone. */
extern uintptr_t pse_trace_alone;   /* who has recorded alone: a pse_tool_self; 0: nobody */
extern bool pse_trace_alone_writes; /* said by that thread */
extern uint32_t pse_trace_mutex;    /* 0: free, 1: held, 2: held, and somebody sleeps until it is free */
extern bool pse_trace_has_mutex;    /* of the holder */
/* The calling thread is the first one; with `pse_trace_threads` it is alone if the system has barriers. */
void pse_trace_begin_alone(void);
/* Take the mutex, and from now on nobody is alone. */
__attribute__((cold)) void pse_trace_take_mutex(void);
/* The same by the one that was alone until now. */
__attribute__((cold)) void pse_trace_end_writing_alone(void);
__attribute__((cold)) void pse_trace_give_mutex(void);

extern uintptr_t pse_trace_holder; /* who has the lock: a pse_tool_self; 0: nobody */
/* The time of what is recorded until the lock is let go, since pse_trace_begin_records. */
extern uint64_t pse_trace_now;

/* The functions for each call of MPI are not inline: they are there for all. */

/* Take the lock and look at the clock; false, without the lock, if nothing is recorded. */
bool pse_trace_begin_records(void);
/* Record an event; the lock is held and the recorder is there.  With several threads times of a file still
 * never go back: what a call tells when it has returned has the time of its begin, and by then other threads
 * may have recorded more. */
void pse_trace_put(uint64_t time, uint16_t type, uint16_t flags, uint64_t a, uint64_t b, uint64_t c);
/* The same for an event that is only of use if the thread never records another one, as in a call that never
 * ends: the next event of the thread replaces it. */
void pse_trace_put_provisional(uint64_t time, uint16_t type, uint16_t flags, uint64_t a, uint64_t b,
                               uint64_t c);
/* What follows is of this thread and not of the calling one; NULL: of that again.  The lock is held. */
void pse_trace_write_for(struct trace_thread *thread);
/* Let the lock go if this thread has it. */
void pse_trace_let_go(void);
/* A thread ends, and another one may get its identity. */
void pse_trace_forget_thread(void);

#pragma GCC visibility pop

/* Whether this thread has the lock: what a signal's handler calls then is not recorded. */
static inline bool pse_trace_is_writing(void)
{
    return __atomic_load_n(&pse_trace_holder, __ATOMIC_RELAXED) == pse_tool_self();
}

static inline bool pse_trace_is_alone_here(void)
{
    return __atomic_load_n(&pse_trace_alone, __ATOMIC_RELAXED) == pse_tool_self();
}

static inline void pse_trace_lock(void)
{
    if (__builtin_expect(pse_trace_is_alone_here(), 1)) {
        __atomic_store_n(&pse_trace_alone_writes, true, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (__builtin_expect(!pse_trace_is_alone_here(), 0))
            pse_trace_end_writing_alone();
    } else {
        pse_trace_take_mutex();
    }
    __atomic_store_n(&pse_trace_holder, pse_tool_self(), __ATOMIC_RELAXED);
}

static inline void pse_trace_unlock(void)
{
    __atomic_store_n(&pse_trace_holder, (uintptr_t)0, __ATOMIC_RELAXED);
    if (__builtin_expect(pse_trace_has_mutex, 0))
        pse_trace_give_mutex();
    else
        __atomic_store_n(&pse_trace_alone_writes, false, __ATOMIC_RELEASE);
}

#endif
