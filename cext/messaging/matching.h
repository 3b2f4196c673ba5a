/* Matching: a receive meets the oldest message of its sender and tag, or waits for it. */
#ifndef PSE_MESSAGING_MATCHING_H
#define PSE_MESSAGING_MATCHING_H

#include "mailbox.h"

/* The receive belongs to its mailbox from now on; it may be complete when this returns. */
void pse_messaging_post_receive(pse_mailbox *mailbox, pse_messaging_request *item);

/* The oldest receive that waits for a message of `from` with this key, or NULL; it leaves the mailbox. */
pse_messaging_request *pse_messaging_take_receive(pse_mailbox *mailbox, uint32_t from, uint64_t key);

/* Both ends are there: move the data and let both know.  `sender` is a request of this rank, or NULL. */
void pse_messaging_meet(pse_messaging *messaging, pse_messaging_request *wanted, const pse_message *message,
                        const pse_messaging_array *came, pse_messaging_request *sender);

/* Keep a message until it is asked for, its array where it lies or as a copy.  False: no memory. */
bool pse_messaging_add_unexpected(pse_mailbox *mailbox, const pse_message *message,
                                  const pse_messaging_array *came, bool copied,
                                  pse_messaging_request *sender);
void pse_messaging_free_unexpected(pse_messaging *messaging, pse_messaging_unexpected *item);

/* Take the array of an unexpected message, which lies with its sender, into memory of this rank's own, so
 * that its sender goes on.  False: no memory. */
bool pse_messaging_detach(pse_messaging *messaging, pse_messaging_unexpected *item);

/* A message's block is not needed any more. */
void pse_messaging_release_block(pse_messaging *messaging, const pse_message *message);

#endif
