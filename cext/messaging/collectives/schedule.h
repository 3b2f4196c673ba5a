/* Schedules: a collective as rounds of sends and receives, with local work between them. */
#ifndef PSE_MESSAGING_SCHEDULE_H
#define PSE_MESSAGING_SCHEDULE_H

#include "mailbox.h"

enum pse_messaging_step_kind {
    PSE_STEP_SEND,
    PSE_STEP_RECEIVE,
    PSE_STEP_COMBINE,
    PSE_STEP_COPY,
    PSE_STEP_SHOW,
    PSE_STEP_ROUND
};

/* COMBINE: `into` = `from` op `with`; `count` in elements.  SHOW: rows of the list `from` go to `peer`, which
 * wants them `with` (collectives/rows.h), or `into` memory from which they are sent.  ROUND: what is under
 * way must be complete. */
typedef struct pse_messaging_step {
    uint8_t kind;
    uint32_t peer;
    uint64_t count;
    void *into;
    const void *from, *with;
} pse_messaging_step;

struct pse_messaging_schedule {
    pse_messaging_schedule *next;       /* of the mailbox */
    pse_messaging_schedule *next_ready; /* of all mailboxes */
    pse_mailbox *mailbox;
    pse_messaging_posted posted;
    uint64_t key;
    uint32_t site, pending, at, steps, room;
    bool running, ready;
    uint64_t begun; /* for the trace */
    coven_collective what;
    coven_rows rows; /* of an exchange of rows */
    uint32_t item;   /* bytes of an element */
    pse_messaging_step *program;
    char *scratch;
};

/* `scratch`: bytes of memory for what comes.  NULL: no memory. */
pse_messaging_schedule *pse_messaging_schedule_new(pse_mailbox *mailbox, const coven_collective *what,
                                                   uint64_t scratch);
void pse_messaging_schedule_free(pse_messaging_schedule *plan);

/* Append a step; false: no memory. */
bool pse_messaging_schedule_add(pse_messaging_schedule *plan, uint8_t kind, uint32_t peer, const void *from,
                                void *into, uint64_t count);
bool pse_messaging_schedule_combine(pse_messaging_schedule *plan, const void *left, const void *right,
                                    void *into, uint64_t count);
bool pse_messaging_schedule_show(pse_messaging_schedule *plan, uint32_t peer, const int64_t *entries,
                                 uint64_t rows, const void *place, void *packed);
bool pse_messaging_schedule_round(pse_messaging_schedule *plan);

#endif
