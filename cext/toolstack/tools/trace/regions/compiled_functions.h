/* Compiled functions as regions (gcc's -finstrument-functions), and regions that the source names
 * (pse_regions.h).  The object that is preloaded passes both on; a tool that is loaded alone gets them
 * itself. */
#ifndef PSE_TRACE_COMPILED_FUNCTIONS_H
#define PSE_TRACE_COMPILED_FUNCTIONS_H

struct trace_region;

#pragma GCC visibility push(hidden)

/* The region of the function at an address. */
struct trace_region *pse_trace_define_function(void *address);

/* Begin: what the program has entered already goes on the stack. */
void pse_trace_hook_compiled(void);
/* The end of the run: find files and lines of the functions that were recorded. */
void pse_trace_find_places(void);

#pragma GCC visibility pop

#endif
