/* One call site's execution: are the inputs there, make the outputs, run, hand over, release. */
#ifndef PSE_ENGINE_CALL_H
#define PSE_ENGINE_CALL_H

#include "engine.h"

int pse_engine_call_step(pse_engine *s, pse_context *context, const pse_call *call, int *result);
/* A collective call that stood has its turn. */
int pse_engine_call_in_turn(pse_engine *s, pse_context *context, const pse_call *call, int *result);

#endif
