/* The report of the tool `profile`. */
#ifndef PSE_PROFILE_REPORT_H
#define PSE_PROFILE_REPORT_H

#include <stdint.h>

/* Gather the call sites of all ranks, and print tables on rank 0; `began` is when MPI_Init returned. */
void pse_profile_report(uint64_t began, const char *const routine_names[]);

#endif
