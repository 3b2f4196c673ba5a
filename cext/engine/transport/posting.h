/* Messages that leave: into inboxes of the node, or into the outbox for other nodes.  What finds an inbox
 * full waits here, in order. */
#ifndef PSE_ENGINE_POSTING_H
#define PSE_ENGINE_POSTING_H

#include "engine.h"

#define PSE_RINGS 64

typedef struct pse_engine_posting {
    uint32_t to_ring[PSE_RINGS]; /* ranks that got a message and are to be rung once the call is done with */
    uint32_t rings;
    pse_message *overflow; /* messages that found an inbox full */
    uint32_t *overflow_ranks;
    size_t overflow_count, overflow_size;
    uint32_t *held;          /* per rank: how many of these are for it */
    uint32_t held_orders;    /* how many of these are orders of collective calls */
    uint64_t *blocked, turn; /* per rank: the last turn of flushing that found its inbox full */
    pse_outgoing *outbox;
    size_t outbox_count, outbox_size, outbox_given_size;
    pse_outgoing *outbox_given;
    uint64_t *sequences;        /* per rank: messages sent to it */
    uint64_t posted, delivered; /* messages that this rank has posted, and that were delivered to it; also
                                 * that a module's array has left for another node.  But for those by which
                                 * ranks find a deadlock: they move nothing */
} pse_engine_posting;

bool pse_engine_posting_create(pse_engine *s); /* false: no memory */
void pse_engine_posting_destroy(pse_engine *s);

/* To a rank of this node; to a rank of another one.  Without memory the engine fails
 * (pse_engine_out_of_memory). */
void pse_engine_post(pse_engine *s, uint32_t rank, const pse_message *message);
void pse_engine_post_remote(pse_engine *s, uint32_t rank, const pse_message *message);
/* Takes over a reference to the block. */
void pse_engine_post_remote_array(pse_engine *s, uint32_t rank, const pse_message *message, pse_block *block,
                                  void *data, const pse_layout *layout);
/* An entry of the outbox that the caller fills in; NULL: no memory. */
pse_outgoing *pse_engine_new_outgoing(pse_engine *s, uint32_t rank, const pse_message *message);

/* To a rank, wherever it is. */
void pse_engine_tell(pse_engine *s, uint32_t rank, const pse_message *message);

/* Try again what found its inbox full, keeping the order for each rank.  Returns whether anything is left. */
bool pse_engine_flush_overflow(pse_engine *s);

/* Ring those who got messages.  Not before this rank has released what it handed over: whoever wants to write
 * in place would find it held, and sleep again. */
void pse_engine_ring_all(pse_engine *s);

#endif
