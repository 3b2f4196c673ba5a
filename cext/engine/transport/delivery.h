/* Messages on their way into slots.
 *
 * A definition made elsewhere is *expected* when the context's control flow passes it; the message may come
 * before (it waits among the unexpected ones) or after.  Messages of one source on one edge of one context
 * keep their order, so the n-th message meets the n-th expectation.
 */
#ifndef PSE_ENGINE_DELIVERY_H
#define PSE_ENGINE_DELIVERY_H

#include "engine.h"

/* From now on a message along `edge` is to come into the slot; `pieces` of them, or 0 for a single one.
 * False: no memory. */
bool pse_engine_expect(pse_engine *s, pse_context *context, int32_t slot, uint32_t edge, uint32_t pieces);

/* A message has come. */
void pse_engine_accept(pse_engine *s, const pse_message *message);

#endif
