/* Operations that the engine does itself: moving pieces of distributed tags, copying, zeroing, reducing. */
#ifndef PSE_ENGINE_ARRAY_OPERATIONS_H
#define PSE_ENGINE_ARRAY_OPERATIONS_H

#include "engine.h"

/* SHAPE: what doesn't fit. */
typedef struct pse_engine_unfit_array {
    int32_t slot;
    int64_t piece, expected[PSE_MAX_DIMS];
    pse_layout found;
} pse_engine_unfit_array;

/* Whether arrays that another partition may have sent, whole, have the shapes that the call is made for. */
bool pse_engine_arrays_fit(pse_engine *s, pse_context *context, const pse_call *call);
/* Whether the output is made as a view of the input. */
bool pse_engine_alias_output(pse_engine *s, pse_context *context, const pse_call *call);
uint64_t pse_engine_run_operation(pse_engine *s, pse_context *context,
                                  const pse_call *call); /* bytes copied */

#endif
