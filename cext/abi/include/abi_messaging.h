/* Made from cext/abi/messaging.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_MESSAGING_H
#define PSE_ABI_MESSAGING_H

#include <stddef.h>
#include <stdint.h>

/* What went wrong among partitions. */
enum pse_messaging_fault_kind {
    PSE_MESSAGING_FINE = 0,
    PSE_MESSAGING_NO_PARTITION = 1, /* `peer` does not exist */
    PSE_MESSAGING_TAG = 2, /* a negative tag */
    PSE_MESSAGING_TYPE = 3, /* no element type, or not one for this operation */
    PSE_MESSAGING_SIZE = 4, /* too large to count */
    PSE_MESSAGING_MISMATCH = 5, /* what came is not what was expected */
    /* two partitions call different collectives, or one with other roots or sums */
    PSE_MESSAGING_CONFUSED = 6,
    PSE_MESSAGING_LEFT = 7, /* a message that nobody received */
    PSE_MESSAGING_MEMORY = 8,
};

/* One end of a message. */
typedef struct pse_messaging_side {
    uint32_t partition;
    uint32_t site;
    uint32_t kind; /* collective's kind, 0: a message */
    uint32_t extra; /* its root and operation */
    uint32_t type;
    uint64_t bytes;
} pse_messaging_side;
#ifndef __cplusplus
_Static_assert(sizeof(pse_messaging_side) == 32 && offsetof(pse_messaging_side, partition) == 0 &&
               offsetof(pse_messaging_side, site) == 4 && offsetof(pse_messaging_side, kind) == 8 &&
               offsetof(pse_messaging_side, extra) == 12 && offsetof(pse_messaging_side, type) == 16 &&
               offsetof(pse_messaging_side, bytes) == 24,
               "pse_messaging_side as NumPy has it");
#endif

/* What went wrong, for people; `kind` 0 means nothing did. */
typedef struct pse_messaging_fault {
    int32_t kind;
    int32_t tag;
    uint32_t partitions;
    int64_t peer; /* NO_PARTITION: the number that was asked for */
    int64_t index;
    uint64_t tph;
    pse_messaging_side here; /* receiver, or who posted */
    pse_messaging_side there; /* sender */
} pse_messaging_fault;
#ifndef __cplusplus
_Static_assert(sizeof(pse_messaging_fault) == 104 && offsetof(pse_messaging_fault, kind) == 0 &&
               offsetof(pse_messaging_fault, tag) == 4 && offsetof(pse_messaging_fault, partitions) == 8 &&
               offsetof(pse_messaging_fault, peer) == 16 && offsetof(pse_messaging_fault, index) == 24 &&
               offsetof(pse_messaging_fault, tph) == 32 && offsetof(pse_messaging_fault, here) == 40 &&
               offsetof(pse_messaging_fault, there) == 72,
               "pse_messaging_fault as NumPy has it");
#endif

/* What a mailbox waits for, or has reached. */
enum pse_messaging_wait_kind {
    PSE_MESSAGING_WAITS_RECEIVE = 1,
    PSE_MESSAGING_WAITS_SEND = 2,
    PSE_MESSAGING_WAITS_COLLECTIVE = 3,
    PSE_MESSAGING_REACHED = 4,
};

/* What a mailbox waits for, or has reached; for the report of a deadlock. */
typedef struct pse_messaging_wait {
    uint64_t tph;
    int64_t index; /* loop counter of the TPH, or -1 */
    uint32_t kind;
    uint32_t scope;
    uint32_t partition;
    uint32_t partitions;
    uint32_t site;
    uint32_t peer;
    int32_t tag;
    uint32_t collective; /* its kind */
    uint32_t sequence; /* which of the region's collectives; REACHED: how many it has come to */
    uint32_t rank;
} pse_messaging_wait;
#ifndef __cplusplus
_Static_assert(sizeof(pse_messaging_wait) == 56 && offsetof(pse_messaging_wait, tph) == 0 &&
               offsetof(pse_messaging_wait, index) == 8 && offsetof(pse_messaging_wait, kind) == 16 &&
               offsetof(pse_messaging_wait, scope) == 20 && offsetof(pse_messaging_wait, partition) == 24 &&
               offsetof(pse_messaging_wait, partitions) == 28 && offsetof(pse_messaging_wait, site) == 32 &&
               offsetof(pse_messaging_wait, peer) == 36 && offsetof(pse_messaging_wait, tag) == 40 &&
               offsetof(pse_messaging_wait, collective) == 44 &&
               offsetof(pse_messaging_wait, sequence) == 48 && offsetof(pse_messaging_wait, rank) == 52,
               "pse_messaging_wait as NumPy has it");
#endif

/* What a mailbox holds at a pause: a message that nobody has received yet, or how many collectives its
 * partition has come to. */
typedef struct pse_messaging_saved {
    uint32_t scope; /* whose mailbox it is */
    uint32_t partition;
    uint32_t is_message;
    uint32_t from; /* of a message: the partition that sent it */
    uint32_t number; /* of a message: its tag, or which collective, as in keys; else how many collectives */
    uint32_t site;
    uint32_t collective;
    uint32_t extra;
    uint32_t type;
    uint64_t bytes;
    const void *data; /* as long as its mailbox is left alone */
} pse_messaging_saved;
#ifndef __cplusplus
_Static_assert(sizeof(pse_messaging_saved) == 56 && offsetof(pse_messaging_saved, scope) == 0 &&
               offsetof(pse_messaging_saved, partition) == 4 &&
               offsetof(pse_messaging_saved, is_message) == 8 && offsetof(pse_messaging_saved, from) == 12 &&
               offsetof(pse_messaging_saved, number) == 16 && offsetof(pse_messaging_saved, site) == 20 &&
               offsetof(pse_messaging_saved, collective) == 24 &&
               offsetof(pse_messaging_saved, extra) == 28 && offsetof(pse_messaging_saved, type) == 32 &&
               offsetof(pse_messaging_saved, bytes) == 40 && offsetof(pse_messaging_saved, data) == 48,
               "pse_messaging_saved as NumPy has it");
#endif

#endif
