/* The file of a rank's events: one recorder, and a lock around records unless there is one thread only. */
#ifndef PSE_TRACE_WRITER_H
#define PSE_TRACE_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

struct trace_thread;

#pragma GCC visibility push(hidden)

extern pse_recorder *pse_trace_recorder; /* NULL: not recording */
extern bool pse_trace_threads;           /* events may be of several threads */
extern pthread_mutex_t pse_trace_mutex;

/* This thread is inside of the recorder: what a signal's handler calls is not recorded. */
extern _Thread_local volatile bool pse_trace_is_writing;
extern struct trace_thread *pse_trace_writer; /* whose events follow, if they aren't the calling thread's */

/* With several threads times of a file still never go back: what a call tells when it has returned has the
 * time of its begin, and by then other threads may have recorded more.  What follows is said to be of this
 * thread.  The lock is held. */
uint64_t pse_trace_in_order(uint64_t time);

#pragma GCC visibility pop

static inline void pse_trace_lock(void)
{
    if (pse_trace_threads)
        pthread_mutex_lock(&pse_trace_mutex);
    pse_trace_is_writing = true;
}

static inline void pse_trace_unlock(void)
{
    pse_trace_is_writing = false;
    if (pse_trace_threads)
        pthread_mutex_unlock(&pse_trace_mutex);
}

/* Record an event; the lock is held and the recorder is there. */
static inline void pse_trace_put(uint64_t time, uint16_t type, uint16_t flags, uint64_t a, uint64_t b,
                                 uint64_t c)
{
    if (pse_trace_threads)
        time = pse_trace_in_order(time);
    pse_recorder_add_at(pse_trace_recorder, time, type, flags, PSE_NONE, 0, a, b, c);
}

#endif
