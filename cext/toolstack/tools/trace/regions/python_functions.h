/* Functions of Python as regions: told by sys.monitoring, in Python 3.11 by a hook for frames. */
#ifndef PSE_TRACE_PYTHON_FUNCTIONS_H
#define PSE_TRACE_PYTHON_FUNCTIONS_H

#pragma GCC visibility push(hidden)

/* Begin, if there is Python in the process; puts the frames that run already on the stack. */
void pse_trace_hook_python(void);
/* A routine of MPI is called: regions of frames that have ended unseen are left. */
void pse_trace_check_python_frames(void);

#pragma GCC visibility pop

#endif
