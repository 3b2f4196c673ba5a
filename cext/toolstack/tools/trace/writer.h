/* The file of a rank's events: one recorder, and a lock around records with MPI_THREAD_MULTIPLE. */
#ifndef PSE_TRACE_WRITER_H
#define PSE_TRACE_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

#pragma GCC visibility push(hidden)

extern pse_recorder *pse_trace_recorder; /* NULL: not recording */
extern bool pse_trace_threads;           /* MPI_THREAD_MULTIPLE */
extern pthread_mutex_t pse_trace_mutex;

/* With several threads times of a file still never go back: what a call tells when it has returned has the
 * time of its begin, and by then other threads may have recorded more.  The lock is held. */
uint64_t pse_trace_in_order(uint64_t time);

#pragma GCC visibility pop

static inline void pse_trace_lock(void)
{
    if (pse_trace_threads)
        pthread_mutex_lock(&pse_trace_mutex);
}

static inline void pse_trace_unlock(void)
{
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
