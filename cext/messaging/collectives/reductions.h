/* The programs of collectives: barrier, broadcast and reductions.  False: no memory. */
#ifndef PSE_MESSAGING_REDUCTIONS_H
#define PSE_MESSAGING_REDUCTIONS_H

#include "collectives/schedule.h"

bool pse_messaging_program_barrier(pse_messaging_schedule *plan);
bool pse_messaging_program_bcast(pse_messaging_schedule *plan);
bool pse_messaging_program_reduce(pse_messaging_schedule *plan);
bool pse_messaging_program_allreduce(pse_messaging_schedule *plan);
bool pse_messaging_program_scan(pse_messaging_schedule *plan);

#endif
