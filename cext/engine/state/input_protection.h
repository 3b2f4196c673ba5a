/* `--debug`: arrays that a module may only read are read-only pages of this process while it runs. */
#ifndef PSE_ENGINE_INPUT_PROTECTION_H
#define PSE_ENGINE_INPUT_PROTECTION_H

#include "calls/partition_wait.h"
#include "engine.h"

typedef struct pse_engine_input {
    unsigned char *begin;
    uint64_t bytes;
    const char *name;
} pse_engine_input;

/* Of the call that runs.  Ranks may be threads of one process, so each has its own. */
typedef struct pse_engine_inputs {
    pse_engine_input found[PSE_MAX_ARGUMENTS];
    volatile int32_t count; /* the fault handler reads them too */
} pse_engine_inputs;

/* Forbid, or allow again, to write to a compiled call's inputs.  The engine's buffers must be guarded. */
void pse_engine_protect_inputs(pse_engine *s, pse_context *context, const pse_call *call);
void pse_engine_release_inputs(pse_engine *s);

#endif
