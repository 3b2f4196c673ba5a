/* Pauses: points of the program where the caller can see, save and move what a rank holds. */
#ifndef PSE_ENGINE_PAUSE_H
#define PSE_ENGINE_PAUSE_H

#include <stdatomic.h>

#include "engine.h"

/* Another thread of the caller may set and read them while the engine runs. */
typedef struct pse_engine_pause {
    _Atomic uint64_t rounds, due; /* passed so far; the next one that the caller wants to see (0: none) */
} pse_engine_pause;

int pse_engine_pause_step(pse_engine *s, pse_context *context, int *result);

#endif
