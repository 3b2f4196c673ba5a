/* The programs of collectives: gather, scatter and their kin.  False: no memory. */
#ifndef PSE_MESSAGING_EXCHANGES_H
#define PSE_MESSAGING_EXCHANGES_H

#include "collectives/schedule.h"

bool pse_messaging_program_gather(pse_messaging_schedule *plan);
bool pse_messaging_program_allgather(pse_messaging_schedule *plan);
bool pse_messaging_program_scatter(pse_messaging_schedule *plan);
bool pse_messaging_program_alltoall(pse_messaging_schedule *plan);
bool pse_messaging_program_alltoallv(pse_messaging_schedule *plan);

#endif
