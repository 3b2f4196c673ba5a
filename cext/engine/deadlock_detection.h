/* Finding out that nothing will ever move again, and why: deadlock among partitions. */
#ifndef PSE_ENGINE_DEADLOCK_DETECTION_H
#define PSE_ENGINE_DEADLOCK_DETECTION_H

#include "engine.h"
#include "messaging.h"

/* What all ranks together have done, as they answered one after the other. */
typedef struct pse_engine_tally {
    uint64_t activity, posted, delivered;
} pse_engine_tally;

typedef struct pse_engine_question {
    uint64_t round;
    uint8_t phase; /* 0: none */
} pse_engine_question;

typedef struct pse_engine_deadlock {
    uint64_t activity;              /* what this rank has done so far */
    pse_engine_question *questions; /* per rank: what it asked and was not answered yet */
    uint32_t unanswered;            /* how many */
    uint64_t idle_since;            /* when this rank last did anything */
    uint64_t seen_activity;         /* ... and how much it had done by then */
    uint64_t not_before;            /* when this rank may ask */
    uint64_t round;                 /* questions asked so far */
    uint32_t missing;               /* answers to the last one */
    uint8_t phase;                  /* of asking; 0: not asking */
    pse_engine_tally first, now;
    pse_messaging_wait *rows; /* of all ranks */
    size_t rows_count, rows_size;
} pse_engine_deadlock;

bool pse_engine_deadlock_create(pse_engine *s); /* false: no memory */
void pse_engine_deadlock_destroy(pse_engine *s);
bool pse_engine_deadlock_message(pse_engine *s, const pse_message *message); /* true if it was one of ours */
void pse_engine_deadlock_moved(pse_engine *s);
void pse_engine_deadlock_answer(pse_engine *s); /* answer what others have asked */
/* By this rank, or by another one that has no answer yet. */
bool pse_engine_deadlock_is_asked(const pse_engine *s);

/* This rank is about to sleep: answer, and ask when it is time.  Returns the longest it may sleep (0: no
 * limit); sets *deadlock when the last answer has come. */
uint64_t pse_engine_deadlock_step(pse_engine *s, bool *deadlock);

#endif
