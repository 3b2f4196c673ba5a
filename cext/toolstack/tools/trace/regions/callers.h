/* Functions of compiled code that call MPI, where they are not instrumented: found on the stack.
 *
 * The stack is unwound at the first call from a place.  Later calls from there with the same stack pointer
 * are known: all return addresses are looked at where they were found, and if they are the same, the callers
 * are, too.  So a function costs some ns at each call of MPI, and the trace gets one number more.  Only calls
 * of MPI show functions; when they were entered and left is not known.
 */
#ifndef PSE_TRACE_CALLERS_H
#define PSE_TRACE_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Read `argument depth`; nonzero: refused. */
int pse_trace_configure_callers(void);
/* Recording begins, in a program without Python. */
void pse_trace_begin_callers(void);
/* Functions of the program tell themselves when they are entered: the stack is left alone from now on. */
void pse_trace_end_callers(void);
/* Say what was left out. */
void pse_trace_note_callers(void);

extern bool pse_trace_finds_callers;

/* The number of the callers of a wrapper that returns to `site` and has this frame; 0: none.  They are
 * defined in the trace at a time, 0: now. */
uint32_t pse_trace_callers_of(const void *site, const char *frame, uint64_t time);

#pragma GCC visibility pop

#endif
