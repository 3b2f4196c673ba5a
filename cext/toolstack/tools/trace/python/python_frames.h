/* Frames of Python that run already when recording begins. */
#ifndef PSE_TRACE_PYTHON_FRAMES_H
#define PSE_TRACE_PYTHON_FRAMES_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Put them on the stack.  `will_end`: their ends will be told, so nobody need look for them. */
void pse_trace_take_python_frames(bool will_end);
/* A function is called: regions of frames that have ended unseen are left. */
void pse_trace_close_ended_frames(void);
/* The same when a routine of MPI is called. */
void pse_trace_check_python_frames(void);

#pragma GCC visibility pop

#endif
