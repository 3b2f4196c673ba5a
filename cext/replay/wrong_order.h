/* Messages that are received in wrong order. */
#ifndef PSE_WRONG_ORDER_H
#define PSE_WRONG_ORDER_H

#include "abi_replay.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PSE_REPLAY_KEPT = 100 }; /* Late messages of a rank that are looked at. */

/* Mark the late messages of one rank before whose send another message was sent that a later call received.
 * For each message in the order of receiving: when its sending began, whether the receiver waited for it, who
 * sent it, which call received it; `order` (all 0 at first) gets a pse_replay_order.  At most one message of
 * a call is late.  Of the late messages the last PSE_REPLAY_KEPT are looked at.  No allocation, no error. */
void pse_replay_wrong_order(const double *sent, const uint8_t *late, const uint32_t *sender,
                            const uint32_t *call, uint64_t count, uint8_t *order);

#ifdef __cplusplus
}
#endif
#endif
