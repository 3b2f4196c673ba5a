/* Hand-overs: after a call, its outputs go to every rank that may read them next.
 *
 * On the node a hand-over is a descriptor; a private (small) buffer is first copied into the arena.  To
 * another node it goes through the outbox.
 */
#ifndef PSE_ENGINE_HANDOVER_H
#define PSE_ENGINE_HANDOVER_H

#include "engine.h"

/* 0, or PSE_ARENA_* while it must wait. */
int pse_engine_hand_over(pse_engine *s, pse_context *context, const pse_call *call);

#endif
