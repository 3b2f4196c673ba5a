/* Regions of the program: functions of Python, compiled functions, and regions that its source names.
 *
 * A region is defined when it is entered for the first time: its name and place go into the trace, unless the
 * filter excludes it.  Each thread has a stack of the regions that it is in.  Recording has a budget: when
 * all regions together have cost more than a share of the run's time, the one that has cost most is switched
 * off, and the trace says so.
 */
#ifndef PSE_TRACE_REGION_STACKS_H
#define PSE_TRACE_REGION_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "regions/region_table.h"
#include "regions/threads.h"

#pragma GCC visibility push(hidden)

/* Read the arguments `functions`, `budget` and `filter`; nonzero: refused. */
int pse_trace_configure_regions(void);
/* `argument functions no` leaves all regions out. */
extern bool pse_trace_has_regions;

/* Enter a region; false if it need not be left.  `stack`: where the begin of a region that the source names
 * was on the stack, else NULL. */
bool pse_trace_enter_region(struct trace_region *region, const void *stack);
/* Leave it, with all that was entered in it.  Unless `was_entered` it may have been entered before recording
 * began, by a thread that is not the first. */
void pse_trace_leave_region(const struct trace_region *region, bool was_entered);
/* The source ends a region of that name, which was not begun there; line 0: it is not known where. */
__attribute__((cold)) void pse_trace_ended_without_begin(const char *name, const char *file, int line);
/* Whether calls of a region may be recorded.  One that is switched off while it is entered (it calls itself)
 * keeps its place on stacks until it is left. */
bool pse_trace_may_record(const struct trace_region *region);
/* Put a region on the stack of the first thread before recording begins. */
void pse_trace_enter_early(struct trace_region *region, const void *identity, const void *stack);
/* Write the name of a region, unless the trace has it; the lock is held. */
__attribute__((cold)) void pse_trace_name_region(struct trace_region *region, uint64_t time);
/* Recording begins: record what is on the stack already. */
void pse_trace_begin_regions(uint64_t time);

/* Leave all regions of a thread, or all above a depth. */
void pse_trace_close_thread(struct trace_thread *thread);
void pse_trace_close_above(struct trace_thread *thread, unsigned depth, uint64_t time);
/* The end of recording, with the lock: leave all regions of all threads, say what was left out. */
void pse_trace_end_regions(void);

#pragma GCC visibility pop

#endif
