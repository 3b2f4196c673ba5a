/* The arrays that are made for a call. */
#ifndef PSE_ENGINE_OUTPUTS_H
#define PSE_ENGINE_OUTPUTS_H

#include "calls/partition_wait.h"
#include "state/contexts.h"

typedef struct pse_engine_outputs {
    pse_block *made[PSE_MAX_ARGUMENTS]; /* of the call under way, not yet in their slots */
    bool aliased;                       /* the output is a view of the input */
} pse_engine_outputs;

/* 0, PSE_RUN_ARITHMETIC or PSE_ARENA_*. */
int pse_engine_make_outputs(pse_engine *s, pse_context *context, const pse_call *call);
/* Put the arrays that were made into their slots. */
void pse_engine_store_outputs(pse_engine *s, pse_context *context, const pse_call *call);

/* What was made for a call that waits stays with its context, and is taken up again.  False: no memory. */
bool pse_engine_keep_outputs(pse_engine *s, pse_context *context, const pse_call *call);
void pse_engine_take_kept_outputs(pse_engine *s, pse_context *context, const pse_call *call);

#endif
