/* Regions of compiled functions, by their addresses. */
#ifndef PSE_TRACE_COMPILED_REGIONS_H
#define PSE_TRACE_COMPILED_REGIONS_H

struct trace_region;

#pragma GCC visibility push(hidden)

/* The region of the function at an address. */
struct trace_region *pse_trace_define_function(void *address);
/* The end of the run: find files and lines of the functions that were recorded. */
void pse_trace_find_places(void);

#pragma GCC visibility pop

#endif
