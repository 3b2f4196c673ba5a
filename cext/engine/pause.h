/* Pauses: points of the program where the caller can see, save and move what a rank holds. */
#ifndef PSE_ENGINE_PAUSE_H
#define PSE_ENGINE_PAUSE_H

#include "engine.h"

typedef struct pse_engine_pause {
    uint64_t rounds, due; /* passed so far; the next one that the caller wants to see (0: none) */
} pse_engine_pause;

int pse_engine_pause_step(pse_engine *s, pse_context *context, int *result);

#endif
