/* Rows that partitions show to others, by a list (`coven_rows` in coven.h).
 *
 * First, whoever gets rows tells each partition that they come from where it wants them.  If that is within
 * the sender's reach, in the same rank or in the arena of its node, the sender writes the rows there, and a
 * message without content says that they are there.  Otherwise it packs them, and they go as a message.
 */
#ifndef PSE_MESSAGING_ROWS_H
#define PSE_MESSAGING_ROWS_H

#include "collectives/schedule.h"

/* What a receiver tells a sender; it is small enough to travel in the message. */
typedef struct pse_messaging_rows_place {
    uint64_t at;   /* address in the same rank, else offset in the arena; 0: send the rows */
    uint64_t rows; /* so many are expected */
} pse_messaging_rows_place;

/* Memory for such places, and for rows that are sent. */
uint64_t pse_messaging_rows_scratch(const pse_mailbox *mailbox, const coven_rows *rows);

/* The program; `plan->rows` has its arguments.  False: no memory. */
bool pse_messaging_program_rows(pse_messaging_schedule *plan);

/* Whether a list can be followed: partitions exist. */
bool pse_messaging_rows_are_listed(const pse_mailbox *mailbox, const coven_rows *rows);

/* Put rows where they are wanted, or where they are sent from; gives the bytes that are to be sent.  False:
 * the receiver expects other rows, which is noted. */
bool pse_messaging_show_rows(const pse_messaging_schedule *plan, const pse_messaging_step *at,
                             uint64_t *bytes);

#endif
