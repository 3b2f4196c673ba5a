/* What comes from other ranks. */
#ifndef PSE_ENGINE_ARRIVAL_H
#define PSE_ENGINE_ARRIVAL_H

#include "engine.h"

/* Take all messages from the inbox. */
void pse_engine_drain(pse_engine *s);

#endif
