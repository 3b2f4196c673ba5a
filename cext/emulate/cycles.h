/* The timed loop: cycles of steps, and a barrier behind each. */
#ifndef PSE_EMULATE_CYCLES_H
#define PSE_EMULATE_CYCLES_H

#include "operations.h"

/* What a rank does: cycle c has the steps of variant c % variants, which are begins[v] … begins[v + 1] - 1.
 */
typedef struct pse_emulate_program {
    const pse_emulate_step *steps;
    const int64_t *begins;
    int64_t variants;
    int64_t cycles;
    int synchronous;   /* whether a barrier follows each cycle */
    uint64_t origin;   /* tick of the launch's begin */
    double ticks_rate; /* ticks of a second */
} pse_emulate_program;

/* Execute all cycles; gives MPI's error code, 0 for none, and the times of each cycle. */
int pse_emulate_run(pse_emulate_rank *rank, const pse_emulate_program *program, pse_emulate_times *times);

#endif
