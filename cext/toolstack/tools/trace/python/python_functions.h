/* Functions of Python as regions: told by sys.monitoring, in Python 3.11 by a hook for frames. */
#ifndef PSE_TRACE_PYTHON_FUNCTIONS_H
#define PSE_TRACE_PYTHON_FUNCTIONS_H

/* Begin, if there is Python in the process; puts the frames that run already on the stack. */
__attribute__((visibility("hidden"))) void pse_trace_hook_python(void);

#endif
