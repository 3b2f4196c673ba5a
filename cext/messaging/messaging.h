/* Messages and collectives among partitions: matching and requests.
 *
 * Every partition has a *mailbox* in each TPH and region that it takes part in: what it waits for, messages
 * that came before they were expected, its collectives under way.  Modules post through `coven.h`
 * (services.c).  The engine that owns a `pse_messaging` brings messages and carries them away
 * (`pse_messaging_hooks`), parks partitions that have to rest, and says where each partition lives.
 *
 * Messages of one sender, receiver and tag match in the order in which they were posted.  Up to 16 bytes
 * travel inside the message.  Larger arrays go as a block of the arena; or, where they lie in the arena
 * already or sender and receiver share a rank, by reference: the receiver copies straight out of them and
 * lets the sender know.  Collectives are schedules of such messages (collectives/), combined in an order that
 * depends on nothing but the number of partitions.
 *
 * This room touches its own memory, blocks of the arena that messages name, and the trace (trace_hooks.h).
 * It knows nothing of the engine.
 */
#ifndef PSE_MESSAGING_H
#define PSE_MESSAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "abi_messaging.h"
#include "arena.h"
#include "coven.h"
#include "inbox.h"
#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_messaging pse_messaging;
typedef struct pse_mailbox pse_mailbox;

/* What the engine does for this room. */
typedef struct pse_messaging_hooks {
    void *engine;
    uint32_t rank;
    char *arena_base; /* NULL without an arena */
    uint64_t arena_bytes;
    bool (*is_remote)(void *engine, uint32_t rank); /* reached otherwise than by this node's inboxes */
    void (*post)(void *engine, uint32_t rank, const pse_message *message);
    /* To a remote rank: a message with an array, which is left alone until pse_messaging_sent(token).
     * False if there is no memory. */
    bool (*post_array)(void *engine, uint32_t rank, const pse_message *message, void *data,
                       const pse_layout *layout, void *token);
    /* A block of the arena with a copy of an array; NULL while the arena is full. */
    pse_block *(*pack)(void *engine, const pse_message *message, const void *data, const pse_layout *layout);
    void *(*data)(void *engine, pse_block *block);
    void (*release)(void *engine, pse_block *block);
    pse_recorder *recorder; /* NULL without a trace */
} pse_messaging_hooks;

/* Where the partitions of a region live, for one thread. */
typedef struct pse_messaging_region {
    uint32_t partitions;
    uint32_t scope;         /* tells regions of one TPH apart; the same for all partitions of one */
    const uint32_t *owners; /* rank of every partition */
    const int32_t *grid;    /* PSE_MAX_DIMS extents, 0 beyond the last axis; NULL: in a row */
} pse_messaging_region;

int pse_messaging_create(pse_messaging **out, const pse_messaging_hooks *hooks);
void pse_messaging_destroy(pse_messaging *messaging);

/* The mailbox of a partition; made if it is not there (a message may have come first).  NULL: no memory. */
pse_mailbox *pse_messaging_mailbox(pse_messaging *messaging, uint64_t tph, uint32_t partition,
                                   const pse_messaging_region *region, int64_t index);
/* A TPH ends.  What was never received is a fault. */
void pse_messaging_close_all(pse_messaging *messaging, uint64_t tph);
/* A TPH goes on elsewhere (mailbox_checkpoint.c): its mailboxes go. */
void pse_messaging_forget(pse_messaging *messaging, uint64_t tph);
/* At a pause, or the end of a run: what is left for partitions that are gone; `but`: a TPH that goes on, or
 * 0. */
void pse_messaging_check_empty(pse_messaging *messaging, uint64_t but);

/* A module runs for a partition, at a call site, from pse_messaging_enter to pse_messaging_leave.  Begin with
 * `mailbox` NULL; a module that goes on after a rest enters with the same visit. */
typedef struct pse_messaging_visit {
    pse_messaging *messaging;
    uint64_t tph;
    int64_t index;
    uint32_t partition, site;
    pse_messaging_region region;
    pse_mailbox *mailbox; /* once the module has posted something */
} pse_messaging_visit;

void pse_messaging_enter(pse_messaging_visit *visit);
void pse_messaging_leave(void);
/* Whether the partition has to rest; from now on it waits for all that was posted, or, after
 * coven_services.wait, for that. */
bool pse_messaging_rest(pse_messaging_visit *visit);
bool pse_messaging_is_resting(const pse_mailbox *mailbox);

void pse_messaging_deliver(pse_messaging *messaging, const pse_message *message);
void pse_messaging_sent(pse_messaging *messaging, void *token);
/* Go on with what found the arena full; true if anything is left of it. */
bool pse_messaging_retry(pse_messaging *messaging);

const pse_messaging_fault *pse_messaging_get_fault(const pse_messaging *messaging);
size_t pse_messaging_report_waits(const pse_messaging *messaging, pse_messaging_wait *rows, size_t limit);
uint64_t pse_messaging_resting(const pse_messaging *messaging); /* partitions that rest */

/* Whether senders wait until messages that they sent by reference are received. */
bool pse_messaging_keeps_senders(const pse_messaging *messaging);
/* Copy the arrays of such messages, so that their senders can go on; true if any can.  What there is no
 * memory for is left as it is. */
bool pse_messaging_buffer(pse_messaging *messaging);

size_t pse_messaging_save(const pse_messaging *messaging, uint64_t tph, pse_messaging_saved *rows,
                          size_t limit);
/* Into a mailbox of a run that goes on; in the order in which they were given.  False: no memory. */
bool pse_messaging_restore(pse_messaging *messaging, uint64_t tph, const pse_messaging_saved *row);

const coven_services *pse_messaging_services(void);

static inline bool pse_messaging_owns(uint8_t kind)
{
    return kind >= PSE_CARRIES_PARTITION_SCALAR && kind <= PSE_CARRIES_PARTITION_TAKEN;
}

#ifdef __cplusplus
}
#endif
#endif
