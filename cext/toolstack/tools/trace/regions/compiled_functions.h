/* Compiled functions as regions (gcc's -finstrument-functions), and regions that the source names
 * (pse_regions.h).  The object that is preloaded passes both on; a tool that is loaded alone gets them
 * itself. */
#ifndef PSE_TRACE_COMPILED_FUNCTIONS_H
#define PSE_TRACE_COMPILED_FUNCTIONS_H

#pragma GCC visibility push(hidden)

/* Begin: what the program has entered already goes on the stack. */
void pse_trace_hook_compiled(void);
/* MPI ends: the threads that it waits for then are its own. */
void pse_trace_unhook_compiled(void);

#pragma GCC visibility pop

#endif
