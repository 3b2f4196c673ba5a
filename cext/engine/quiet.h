/* Finding out that nothing will ever move again (quiet.c). */
#ifndef PSE_QUIET_H
#define PSE_QUIET_H

#include <stdbool.h>
#include <stdint.h>

#include "inbox.h"
#include "messaging.h"

typedef struct pse_sequencer pse_sequencer;

/* What all ranks together have done, as they answered one after the other. */
typedef struct tally {
    uint64_t activity, posted, delivered;
} tally;

typedef struct question {
    uint64_t round;
    uint8_t phase; /* 0: none */
} question;

typedef struct quiet_state {
    tally mine;             /* of this rank so far */
    question *questions;    /* per rank: what it asked and was not answered yet */
    uint32_t unanswered;    /* how many */
    uint64_t idle_since;    /* when this rank last did anything */
    uint64_t seen_activity; /* ... and how much it had done by then */
    uint64_t not_before;    /* when this rank may ask */
    uint64_t round;         /* questions asked so far */
    uint32_t missing;       /* answers to the last one */
    uint8_t phase;          /* of asking; 0: not asking */
    tally first, now;
    pse_messaging_wait *rows; /* of all ranks */
    size_t rows_count, rows_size;
} quiet_state;

bool quiet_create(pse_sequencer *s);
void quiet_destroy(pse_sequencer *s);
bool quiet_message(pse_sequencer *s, const pse_message *message); /* true if it was one of ours */
void quiet_posted(pse_sequencer *s, const pse_message *message);
void quiet_delivered(pse_sequencer *s);
void quiet_moved(pse_sequencer *s);

/* This rank is about to sleep: answer, and ask when it is time.  Returns the longest it may sleep (0: no
 * limit); sets *deadlock when the last answer has come. */
uint64_t quiet_step(pse_sequencer *s, bool *deadlock);

#endif
