/* Messages and collectives among partitions: matching and requests.
 *
 * Every partition has a *box* in each TPH and region that it takes part in: what it waits for, what came and
 * nobody asked for yet, its collectives under way.  Modules post through `coven.h` (services.c); the engine
 * that owns the `pse_mail` brings messages and carries them away (`pse_mail_hooks`), rests partitions whose
 * boxes are busy, and says where each partition lives.
 *
 * Messages of one sender, receiver and tag match in the order in which they were posted.  Up to 16 bytes
 * travel inside the message.  Larger arrays go as a block of the arena; or, where they lie in the arena
 * already or sender and receiver share a rank, by reference: the receiver copies straight out of them and
 * lets the sender know.  Collectives are schedules of such messages (schedule.c), combined in an order that
 * depends on nothing but the number of partitions.
 *
 * May touch: its own memory, blocks of the arena that messages name, the trace (notes.h).  Knows nothing of
 * the sequencer.
 */
#ifndef PSE_MAIL_H
#define PSE_MAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "coven.h"
#include "inbox.h"
#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_mail pse_mail;
typedef struct pse_box pse_box;

/* What the engine does for the mail. */
typedef struct pse_mail_hooks {
    void *engine;
    uint32_t rank;
    char *arena_base; /* NULL without an arena */
    uint64_t arena_bytes;
    bool (*is_remote)(void *engine, uint32_t rank); /* reached otherwise than by this node's inboxes */
    void (*post)(void *engine, uint32_t rank, const pse_message *message);
    /* To a remote rank: a message with an array, which is left alone until pse_mail_sent(token). */
    void (*post_array)(void *engine, uint32_t rank, const pse_message *message, void *data,
                       const pse_layout *layout, void *token);
    /* A block of the arena with a copy of an array; NULL while the arena is full. */
    pse_block *(*pack)(void *engine, const pse_message *message, const void *data, const pse_layout *layout);
    void *(*data)(void *engine, pse_block *block);
    void (*release)(void *engine, pse_block *block);
    pse_recorder *recorder; /* NULL without a trace */
} pse_mail_hooks;

/* Where the partitions of a region live, for one thread. */
typedef struct pse_region {
    uint32_t partitions;
    uint32_t scope;         /* tells regions of one TPH apart; the same for all partitions of one */
    const uint32_t *owners; /* rank of every partition */
} pse_region;

/* What went wrong, for people; `kind` 0 means nothing did. */
enum pse_mail_fault_kind {
    PSE_MAIL_FINE,
    PSE_MAIL_NO_PARTITION, /* `peer` does not exist */
    PSE_MAIL_TAG,          /* a negative tag */
    PSE_MAIL_TYPE,         /* no element type, or not one for this operation */
    PSE_MAIL_SIZE,         /* too large to count */
    PSE_MAIL_MISMATCH,     /* what came is not what was expected */
    PSE_MAIL_CONFUSED,     /* two partitions call different collectives, or one with other roots or sums */
    PSE_MAIL_LEFT,         /* a message that nobody received */
    PSE_MAIL_MEMORY,
};

typedef struct pse_mail_side {
    uint32_t partition, site, kind, extra; /* collective's kind, 0: a message; its root and operation */
    uint32_t type;
    uint64_t bytes;
} pse_mail_side;

typedef struct pse_mail_fault {
    int32_t kind;
    int32_t tag;
    uint32_t partitions;
    int64_t peer; /* NO_PARTITION: the number that was asked for */
    int64_t index;
    uint64_t tph;
    pse_mail_side here, there; /* receiver (or who posted), sender */
} pse_mail_fault;

/* What a box waits for, or has reached; for the report of a deadlock.  A row of a NumPy table. */
enum pse_wait_kind { PSE_WAITS_RECEIVE = 1, PSE_WAITS_SEND = 2, PSE_WAITS_COLLECTIVE = 3, PSE_REACHED = 4 };

typedef struct pse_wait {
    uint64_t tph;
    int64_t index; /* loop counter of the TPH, or -1 */
    uint32_t kind, scope, partition, partitions, site, peer;
    int32_t tag;
    uint32_t collective; /* its kind */
    uint32_t sequence;   /* which of the region's collectives; REACHED: how many it has come to */
    uint32_t rank;
} pse_wait;

int pse_mail_create(pse_mail **out, const pse_mail_hooks *hooks);
void pse_mail_destroy(pse_mail *mail);

/* The box of a partition; made if it is not there (a message may have come first).  NULL: no memory. */
pse_box *pse_mail_box(pse_mail *mail, uint64_t tph, uint32_t partition, const pse_region *region,
                      int64_t index);
/* The partition leaves the region, or a TPH ends.  What was never received is a fault. */
void pse_mail_close(pse_mail *mail, uint64_t tph, uint32_t scope, uint32_t partition);
void pse_mail_close_all(pse_mail *mail, uint64_t tph);
/* A TPH goes on elsewhere (kept.c): its boxes go. */
void pse_mail_forget(pse_mail *mail, uint64_t tph);
/* At a pause, or the end of a run: what is left for partitions that are gone; `but`: a TPH that goes on, or
 * 0. */
void pse_mail_check_empty(pse_mail *mail, uint64_t but);

/* A module runs for a partition, at a call site, from pse_mail_enter to pse_mail_leave.  Begin with `box`
 * NULL; a module that goes on after a rest enters with the same visit. */
typedef struct pse_visit {
    pse_mail *mail;
    uint64_t tph;
    int64_t index;
    uint32_t partition, site;
    pse_region region;
    pse_box *box; /* once the module has posted something */
} pse_visit;

void pse_mail_enter(pse_visit *visit);
void pse_mail_leave(void);
/* Whether the partition has to rest; from now on it waits for all that was posted, or, after
 * coven_services.wait, for that. */
bool pse_mail_rest(pse_visit *visit);
bool pse_box_resting(const pse_box *box);

void pse_mail_deliver(pse_mail *mail, const pse_message *message);
void pse_mail_sent(pse_mail *mail, void *token);
/* Go on with what found the arena full; true if anything is left of it. */
bool pse_mail_retry(pse_mail *mail);

const pse_mail_fault *pse_mail_get_fault(const pse_mail *mail);
size_t pse_mail_waits(const pse_mail *mail, pse_wait *rows, size_t limit);
uint64_t pse_mail_resting(const pse_mail *mail); /* boxes that rest */

/* What a box holds at a pause (kept.c): a message that nobody has received yet, or how many collectives its
 * partition has come to. */
typedef struct pse_kept {
    uint32_t scope, partition; /* whose box it is */
    uint32_t is_letter;
    uint32_t from;   /* letters: the partition that sent it */
    uint32_t number; /* of a letter: its tag, or which collective, as in keys; else how many collectives */
    uint32_t site, collective, extra, type;
    uint64_t bytes;
    const void *data; /* as long as its box is left alone */
} pse_kept;

size_t pse_mail_kept(const pse_mail *mail, uint64_t tph, pse_kept *rows, size_t limit);
/* Into a box of a run that goes on; in the order in which they were given.  False: no memory. */
bool pse_mail_put(pse_mail *mail, uint64_t tph, const pse_kept *row);

const coven_services *pse_mail_services(void);

static inline bool pse_is_mail(uint8_t kind)
{
    return kind >= PSE_CARRIES_MAIL_SCALAR && kind <= PSE_CARRIES_MAIL_TAKEN;
}

#ifdef __cplusplus
}
#endif
#endif
