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

#ifdef __cplusplus
extern "C" {
#endif

#define PSE_INBOX_PLACES 1024u

enum pse_message_kind {
    PSE_CARRIES_HANDLE = 1, /* `handle` names a block of the node's arena; the receiver owns one reference. */
    PSE_CARRIES_SCALAR = 2, /* `scalar` holds the value. */
    PSE_CARRIES_CREDIT =
        4, /* `integer`: how many messages of this edge the source has taken (from other nodes). */
    PSE_CARRIES_ITERATIONS = 5, /* `integer`: how many iterations of loop `index` the source has completed. */
    PSE_CARRIES_POINTER =
        3, /* `pointer` names a block that the receiver can read as it is (never crosses ranks). */

    /* Messages among partitions (room `messaging`): `edge` is the partition that sends, `index` the one that
     * receives, `sequence` tells messages of one pair apart, `flags` and `extra` say which collective it
     * belongs to. */
    PSE_CARRIES_PARTITION_SCALAR = 6,    /* `scalar` holds `dtype >> 8` bytes. */
    PSE_CARRIES_PARTITION_HANDLE = 7,    /* `handle`, as above. */
    PSE_CARRIES_PARTITION_POINTER = 8,   /* `pointer`, as above. */
    PSE_CARRIES_PARTITION_REFERENCE = 9, /* `reference`: the sender's own array; it is to be told. */
    PSE_CARRIES_PARTITION_COPY = 10,     /* Of this rank's own; never in an inbox. */
    PSE_CARRIES_PARTITION_TAKEN = 11,    /* Answers REFERENCE: the array was copied. */
    PSE_CARRIES_QUESTION = 12, /* Whether a rank has anything left to do (engine, deadlock_detection.c). */
    PSE_CARRIES_ANSWER = 13,
};

typedef struct pse_message {
    uint64_t tph;
    uint32_t edge;
    uint32_t source; /* Rank that sent it. */
    uint32_t index;  /* Which piece, where an edge carries one for each partition. */
    uint8_t kind;
    uint8_t flags; /* PSE_MESSAGE_* of the trace's table: how the bytes travelled. */
    uint16_t dtype;
    uint64_t sequence; /* Counts the messages between one pair of ranks, from 1. */
    union {
        uint64_t handle;
        void *pointer;
        double scalar[2];
        int64_t integer;
        struct {
            uint64_t at, bytes; /* Where in the arena. */
        } reference;
        uint64_t counts[2];
    } value;
    uint32_t site; /* Call site that sent it (messages among partitions). */
    uint32_t extra;
} pse_message;

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
bool pse_channel_inbox_empty(const pse_inbox *inbox);

#ifdef __cplusplus
}
#endif
#endif
