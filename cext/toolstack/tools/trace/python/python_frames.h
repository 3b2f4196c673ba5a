/* Frames of Python that run already when recording begins. */
#ifndef PSE_TRACE_PYTHON_FRAMES_H
#define PSE_TRACE_PYTHON_FRAMES_H

#include <stdbool.h>

#include "regions/threads.h"

#pragma GCC visibility push(hidden)

/* Put them on the stack.  `will_end`: their ends will be told, so nobody need look for them. */
void pse_trace_take_python_frames(bool will_end);
/* Leave regions of frames that have ended unseen; the calling thread has Python. */
__attribute__((cold)) void pse_trace_close_ended_frames(void);
/* The same where Python may have ended, or another thread may run it. */
__attribute__((cold)) void pse_trace_check_python_frames(void);

#pragma GCC visibility pop

/* Whether all that the calling thread is in ran before recording began. */
static inline bool pse_trace_is_in_initial_frames(void)
{
    const struct trace_thread *thread = pse_trace_known_thread();
    return thread && thread->initial && thread->depth == thread->initial;
}

#endif
