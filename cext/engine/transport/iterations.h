/* Complete iterations of inflight loops, counted on all ranks.
 *
 * Each rank shows on the board how many are complete without a gap.  Other nodes are told the least of a
 * node's ranks: by each other, or along a tree over the nodes where there are many (pse_counting). */
#ifndef PSE_ENGINE_ITERATIONS_H
#define PSE_ENGINE_ITERATIONS_H

#include "engine.h"

/* One inflight loop of the program itself, over all its runs. */
typedef struct pse_engine_loop {
    uint64_t ordinals; /* iterations of the runs begun so far */
    uint64_t done;     /* iterations complete without a gap */
    uint8_t *ahead;    /* ring of `window` flags: iterations complete beyond the gap */
    uint64_t window;
    uint64_t skip; /* iterations that its next run leaves out: an earlier run of the program has done them */
} pse_engine_loop;

typedef struct pse_engine_iterations {
    pse_engine_loop *loops;
} pse_engine_iterations;

uint64_t pse_engine_complete_everywhere(pse_engine *s, const pse_loop *loop);

/* Whether all iterations before this one are complete: on all ranks; those of a loop inside another inflight
 * loop on this one, where the iteration around them is such a one too. */
bool pse_engine_oldest_iteration(pse_engine *s, const pse_context *context);

void pse_engine_iteration_complete(pse_engine *s, pse_context *context);

/* Another node has completed more than the `before` iterations that this one knew of. */
void pse_engine_iterations_heard(pse_engine *s, const pse_message *message, uint64_t before);

#endif
