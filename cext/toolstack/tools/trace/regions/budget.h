/* What recording regions may cost: a share of the run's time.
 *
 * Calls are counted; what one costs is known but for the clock, which is measured when recording begins. When
 * all regions together exceed their share, the one that has cost most is switched off, which a note in the
 * trace and a line on standard error of rank 0 tell.  Some thousand calls are free, for what happens once at
 * the start.
 */
#ifndef PSE_TRACE_BUDGET_H
#define PSE_TRACE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "hot.h"
#include "regions/region_table.h"

#pragma GCC visibility push(hidden)

/* Read `argument budget`; nonzero: refused. */
int pse_trace_configure_budget(void);
void pse_trace_start_budget(uint64_t time);
/* Switch a region off if the budget is exceeded. */
__attribute__((cold)) void pse_trace_check_budget(uint64_t now);
/* Spend time on something else; false: the budget has none left. */
bool pse_trace_may_spend(uint64_t ns, uint64_t now);
/* Say which regions were switched off. */
void pse_trace_note_budget(void);

extern uint64_t pse_trace_spent;        /* ns, on regions that are not switched off */
extern uint32_t pse_trace_call_cost[2]; /* ns of a call: of compiled code, of Python */

#pragma GCC visibility pop

/* Count a call that is recorded; the lock is held. */
static inline void pse_trace_count_call(struct trace_region *region, uint64_t now)
{
    enum { CALLS_OF_A_CHECK = 256 };
    PSE_TRACE_HOT_DATA static unsigned since;
    region->calls++;
    pse_trace_spent += pse_trace_call_cost[region->is_python];
    if (++since % CALLS_OF_A_CHECK == 0)
        pse_trace_check_budget(now);
}

#endif
