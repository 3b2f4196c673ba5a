/* `--debug`: arrays that a module may only read are read-only pages of this process while it runs. */
#ifndef PSE_ENGINE_INPUT_PROTECTION_H
#define PSE_ENGINE_INPUT_PROTECTION_H

#include "engine.h"

/* Forbid, or allow again, to write to a compiled call's inputs.  The engine's buffers must be guarded. */
void pse_engine_protect_inputs(const pse_engine *s, pse_context *context, const pse_call *call);
void pse_engine_release_inputs(void);

#endif
