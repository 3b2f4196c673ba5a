/* Sleeping until something happens: one futex word per rank.
 *
 * A waiter reads its bell, looks whether there is work, and sleeps only if the bell is still the same.  It
 * spins for a moment first, but only while a core is free for it: where two ranks share a core, spinning
 * keeps the other from running (51 us a hop instead of 2.4).
 */
#ifndef PSE_DOORBELL_H
#define PSE_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Say that something happened for `slot`; costs a system call only when its rank sleeps. */
void pse_channel_bell_ring(pse_slot *slot);

static inline uint32_t pse_channel_bell_read(pse_slot *slot)
{
    return atomic_load_explicit(&slot->bell, memory_order_acquire);
}

/* Sleep until the bell of `rank` differs from `seen` or `timeout` ns have passed (0: no limit).
 * Returns true if it rang, false on timeout or signal; adds the ns it was off its core to *slept, if given.
 */
bool pse_channel_bell_wait(pse_board *board, uint32_t rank, uint32_t seen, uint64_t timeout, uint64_t *slept);
/* The same, looking for `awake` ns before it sleeps, as long as its core is free. */
bool pse_channel_bell_wait_awake(pse_board *board, uint32_t rank, uint32_t seen, uint64_t timeout,
                                 uint64_t awake, uint64_t *slept);

/* Whether nobody else wants a core that this rank may use. */
bool pse_channel_bell_core_is_free(pse_board *board, uint32_t rank);

/* Tell the board which core this rank runs on and which it may use. */
void pse_channel_bell_note_core(pse_slot *slot);
void pse_channel_bell_note_affinity(pse_slot *slot);

#ifdef __cplusplus
}
#endif
#endif
