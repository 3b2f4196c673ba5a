/* Backward amortisation of the controlled logical clock: what was moved moves the rank's earlier events, too,
 * the less the earlier they are, as long as that leaves their messages time to arrive. */
#ifndef PSE_BACKWARD_AMORTISATION_H
#define PSE_BACKWARD_AMORTISATION_H

#include <stdint.h>

#include "abi_replay.h"
#include "logical_clock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_replay_shifts {
    pse_replay_shift *rows; /* to be freed, also after a failure */
    uint64_t count, room;
} pse_replay_shifts;

/* Spread each jump of the corrected times over the time before it: `reach` times as long as the jump.
 * Edges between joins have to go to later joins, in ascending order.  `found` gets the ends of lines, the
 * last one of the last rank first: by how much later events are than their corrected times; there is no shift
 * beyond the lines. Returns 0, or -1 without memory. */
int pse_replay_amortise_backward(const pse_replay_order_of_events *order, const int64_t *corrected,
                                 const uint8_t *moved, pse_replay_shifts *found);

#ifdef __cplusplus
}
#endif
#endif
