/* Inboxes: a bounded ring of messages for each rank; many producers, one consumer, no locks.
 *
 * A message is a descriptor of some tens of bytes, whatever the buffer's size.  Each place has a turn number
 * that says whether it may be written or read (after D. Vyukov's bounded queue), so messages of one producer
 * stay in order.
 */
#ifndef PSE_INBOX_H
#define PSE_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi_channel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSE_INBOX_PLACES 1024u

typedef struct pse_place {
    _Alignas(64) _Atomic uint64_t turn;
    pse_message message;
} pse_place; /* A cache line each, so that neighbours do not disturb each other. */

typedef struct pse_inbox {
    _Alignas(64) _Atomic uint64_t tail; /* Next place to write. */
    _Alignas(64) uint64_t head;         /* Next place to read; the consumer's. */
    _Alignas(64) pse_place places[PSE_INBOX_PLACES];
} pse_inbox;

void pse_channel_inbox_initialise(pse_inbox *inbox);
bool pse_channel_inbox_put(pse_inbox *inbox, const pse_message *message); /* False when full. */
bool pse_channel_inbox_take(pse_inbox *inbox, pse_message *message);      /* False when empty. */

#ifdef __cplusplus
}
#endif
#endif
