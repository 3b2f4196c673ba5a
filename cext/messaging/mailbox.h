/* Mailboxes, what they hold, and the table in which they are found. */
#ifndef PSE_MESSAGING_MAILBOX_H
#define PSE_MESSAGING_MAILBOX_H

#include "messaging.h"

/* Key of a message: scope, whether it belongs to a collective, and tag or number of the collective. */
#define PSE_KEY_COLLECTIVE UINT64_C(0x80000000)
#define PSE_KEY_NUMBER UINT64_C(0x7fffffff)

#define PSE_RECENT 256u

/* What is matched is kept apart by the other partition's number, so that searches stay short with many of
 * them. */
#define PSE_LANES 32u

typedef struct pse_messaging_schedule pse_messaging_schedule;

typedef struct pse_messaging_array {
    void *data;
    uint64_t bytes;
    uint8_t type;
} pse_messaging_array;

/* What a module has posted, a message or a collective, while it is not complete. */
typedef struct pse_messaging_posted {
    struct pse_messaging_posted *next; /* in its mailbox's list */
    int64_t ticket;
    bool watched; /* the module waits for it by coven_services.wait */
} pse_messaging_posted;

/* A send or a receive that is not complete. */
typedef struct pse_messaging_request {
    struct pse_messaging_request *next, *previous; /* `previous`: of sends that await their receivers */
    pse_mailbox *mailbox;
    pse_messaging_schedule *part_of; /* NULL: posted by a module */
    pse_messaging_posted posted;
    uint64_t key;
    uint32_t peer, site, extra;
    uint8_t collective;
    bool awaits_receiver; /* it is in its mailbox's list of sends */
    pse_messaging_array array;
} pse_messaging_request;

/* A message that came before anybody asked for it. */
typedef struct pse_messaging_unexpected {
    struct pse_messaging_unexpected *next;
    pse_message message;
    pse_messaging_request *sender; /* by reference, of this rank: who is to be told */
    pse_messaging_array array;
    bool is_reference; /* its array lies with the sender, who waits */
    void *detached;    /* a copy of an array that was such a reference */
    char copy[];       /* of an array of this rank's own */
} pse_messaging_unexpected;

/* A send that found the arena full. */
typedef struct pse_messaging_postponed {
    struct pse_messaging_postponed *next;
    pse_messaging_request *request;
    pse_message message;
    uint32_t rank;
} pse_messaging_postponed;

typedef struct pse_messaging_receive_lane {
    pse_messaging_request *first, **end;
} pse_messaging_receive_lane;

typedef struct pse_messaging_send_lane {
    pse_messaging_request *first, *last;
} pse_messaging_send_lane;

typedef struct pse_messaging_unexpected_lane {
    pse_messaging_unexpected *first, **end;
} pse_messaging_unexpected_lane;

struct pse_mailbox {
    pse_mailbox *chained;
    pse_messaging *messaging;
    uint64_t tph;
    int64_t index;
    pse_messaging_region region;
    uint32_t partition;
    uint32_t collectives;
    uint32_t outstanding; /* posted by modules and not complete */
    uint32_t awaited;     /* ... of these, what the resting partition waits for */
    uint32_t watched;     /* ... of these, what it will wait for by coven_services.wait */
    bool chosen;          /* it called wait */
    bool resting;
    bool open; /* its region has come to this rank */
    pse_messaging_receive_lane receives[PSE_LANES];
    pse_messaging_send_lane sends[PSE_LANES]; /* that await their receivers, in the order they were posted */
    pse_messaging_unexpected_lane unexpected[PSE_LANES];
    pse_messaging_schedule *schedules;
    pse_messaging_posted *posted[PSE_LANES]; /* by ticket */
};

struct pse_messaging {
    pse_messaging_hooks hooks;
    pse_mailbox **buckets;
    size_t bucket_count, mailboxes;
    pse_mailbox *spare_mailboxes;
    pse_messaging_request *spare_requests;
    pse_messaging_schedule *ready, **ready_end;
    bool advancing; /* schedules are being advanced */
    pse_messaging_postponed *postponed, **postponed_end;
    int64_t tickets;
    uint64_t resting;
    uint64_t references;                   /* unexpected messages whose arrays still lie with their senders */
    pse_messaging_wait recent[PSE_RECENT]; /* what partitions that are gone had reached */
    uint64_t closed;
    pse_messaging_fault fault, further;
};

static inline uint32_t pse_messaging_scope_of(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

/* The mailbox of a partition; NULL if there is none and none is to be made, or no memory. */
pse_mailbox *pse_messaging_find_mailbox(pse_messaging *messaging, uint64_t tph, uint32_t scope,
                                        uint32_t partition, bool make);
void pse_messaging_unlink_mailbox(pse_mailbox *mailbox); /* It is empty and goes. */

/* A module posts something: it gets a ticket, which is returned. */
int64_t pse_messaging_post(pse_mailbox *mailbox, pse_messaging_posted *item);
/* What has a ticket and is not complete, or NULL. */
pse_messaging_posted *pse_messaging_posted_with(const pse_mailbox *mailbox, int64_t ticket);

/* Begin to say what went wrong; `mailbox` may be NULL. */
pse_messaging_fault *pse_messaging_begin_fault(pse_messaging *messaging, const pse_mailbox *mailbox,
                                               int kind);

pse_messaging_request *pse_messaging_request_new(pse_mailbox *mailbox); /* NULL: no memory */
void pse_messaging_request_free(pse_messaging *messaging, pse_messaging_request *item);

/* The head of the message that a send becomes. */
pse_message pse_messaging_message_of(const pse_messaging_request *item);

#endif
