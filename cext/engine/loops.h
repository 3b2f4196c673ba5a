/* Iterations in flight, and fibers of a region: starting them, and going on when all are complete. */
#ifndef PSE_ENGINE_LOOPS_H
#define PSE_ENGINE_LOOPS_H

#include "engine.h"

int pse_engine_fork_step(pse_engine *s, pse_context *context, const pse_loop *loop, int *result);
int pse_engine_spread_step(pse_engine *s, pse_context *context, const pse_instruction *at, int *result);

#endif
