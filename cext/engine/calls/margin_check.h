/* `--debug`: whether a call has written just before one of its arrays, where no guard page is. */
#ifndef PSE_ENGINE_MARGIN_CHECK_H
#define PSE_ENGINE_MARGIN_CHECK_H

#include "engine.h"

typedef struct pse_engine_margin_check {
    int32_t slot;      /* UNDERRUN: before which array, */
    uint64_t distance; /* and how many bytes before it. */
} pse_engine_margin_check;

/* Look at all arrays of a call that has ended; on false the engine's state says what was found. */
bool pse_engine_margins_are_whole(pse_engine *s, pse_context *context, const pse_call *call);

#endif
