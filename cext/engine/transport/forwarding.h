/* Passing on: this rank is a branch of the tree along which a scalar, or a root thread's array, reaches its
 * readers.
 *
 * What comes is passed on as it comes, whatever this rank's program does.  An array goes to each node once,
 * to the rank that speaks for it; that rank hands it to the others of the node, as a descriptor, and to the
 * nodes below.  A private (small) buffer is copied into the arena for them; while that is full, it waits, and
 * what comes later along any edge waits behind it.
 */
#ifndef PSE_ENGINE_FORWARDING_H
#define PSE_ENGINE_FORWARDING_H

#include "transport/unexpected.h"

typedef struct pse_engine_forwarding {
    pse_engine_message_list held_up; /* messages that can't be passed on before the arena has room */
} pse_engine_forwarding;

void pse_engine_forward(pse_engine *s, const pse_message *message);

/* Go on with what found the arena full; true if anything is left of it. */
bool pse_engine_forward_retry(pse_engine *s);

#endif
