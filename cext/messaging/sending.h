/* Sending: to a partition of this rank, to another rank of the node, to another node. */
#ifndef PSE_MESSAGING_SENDING_H
#define PSE_MESSAGING_SENDING_H

#include "mailbox.h"

/* The send may be complete when this returns.  False: no memory. */
bool pse_messaging_post_send(pse_mailbox *mailbox, pse_messaging_request *item);

/* Send what found the arena full; true if anything is left of it. */
bool pse_messaging_send_postponed(pse_messaging *messaging);

/* The other rank has the array: `kind` says how it got it. */
void pse_messaging_send_acknowledged(pse_messaging_request *item, uint8_t kind);

#endif
