/* Schedules under way. */
#ifndef PSE_MESSAGING_PROGRESS_H
#define PSE_MESSAGING_PROGRESS_H

#include "collectives/schedule.h"

/* The schedule belongs to its mailbox from now on; gives its ticket. */
int64_t pse_messaging_schedule_start(pse_messaging_schedule *plan, uint32_t site);

/* Let all schedules whose round is complete go on. */
void pse_messaging_advance_schedules(pse_messaging *messaging);

#endif
