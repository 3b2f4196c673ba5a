/* Where messages may go: for every edge, the slots in which its message can be expected.
 *
 * These are the targets of its EXPECT instructions, and whatever slots a SWAP can rename those into.  They
 * are found once, so that a message need not look at every slot of a plan with many partitions.
 */
#ifndef PSE_ENGINE_EDGE_SLOTS_H
#define PSE_ENGINE_EDGE_SLOTS_H

#include "engine.h"

typedef struct pse_engine_edge_slots {
    int32_t *slots; /* of all edges, one edge after the other */
    uint32_t *first, *count;
} pse_engine_edge_slots;

bool pse_engine_edge_slots_create(pse_engine *s); /* false: no memory */
void pse_engine_edge_slots_destroy(pse_engine *s);

#endif
