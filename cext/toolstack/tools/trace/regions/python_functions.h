/* Functions of Python as regions.
 *
 * Python 3.11 calls a function of ours for each frame that it evaluates (PEP 523): a generator is entered
 * when it goes on and left when it yields, and exceptions end functions as returns do.  Rejected: the
 * profiling hook (PyEval_SetProfile), with which 3.11 runs every instruction slower, by half in loops.
 */
#ifndef PSE_TRACE_PYTHON_FUNCTIONS_H
#define PSE_TRACE_PYTHON_FUNCTIONS_H

#pragma GCC visibility push(hidden)

/* Begin, if there is Python in the process; puts the frames that run already on the stack. */
void pse_trace_hook_python(void);
/* A routine of MPI is called: regions of frames that have ended unseen are left. */
void pse_trace_check_python_frames(void);

#pragma GCC visibility pop

#endif
