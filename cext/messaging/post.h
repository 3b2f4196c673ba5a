/* What the files of this room share: boxes, requests, letters, schedules. */
#ifndef PSE_POST_H
#define PSE_POST_H

#include <stdlib.h>
#include <string.h>

#include "mail.h"

/* Key of a message: scope, whether it belongs to a collective, and tag or number of the collective. */
#define KEY_COLLECTIVE UINT64_C(0x80000000)
#define KEY_NUMBER UINT64_C(0x7fffffff)

/* Arrays up to this size are copied when they are sent, so that the sender need not wait for the receiver. */
#define EAGER_BYTES 16384u
#define RECENT 256u

/* What is matched is kept apart by the sender's number, so that searches stay short with many partitions. */
#define LANES 32u

typedef struct schedule schedule;

typedef struct array {
    void *data;
    uint64_t bytes;
    uint8_t type;
} array;

/* A send or a receive that is not complete. */
typedef struct request {
    struct request *next;
    pse_box *box;
    schedule *part_of; /* NULL: posted by a module */
    int64_t ticket;
    uint64_t key;
    uint32_t peer, site, extra;
    uint8_t collective;
    bool watched;
    array array;
} request;

/* A message that came before anybody asked for it.  `copy`: of an array of this rank's own. */
typedef struct letter {
    struct letter *next;
    pse_message message;
    request *sender; /* by reference, of this rank: who is to be told */
    array array;
    char copy[];
} letter;

enum step_kind { STEP_SEND, STEP_RECEIVE, STEP_COMBINE, STEP_COPY, STEP_ROUND };

/* COMBINE: `into` = `from` op `with`; `count` in elements.  ROUND: what is under way must be complete. */
typedef struct step {
    uint8_t kind;
    uint32_t peer;
    uint64_t count;
    void *into;
    const void *from, *with;
} step;

struct schedule {
    schedule *next;       /* of the box */
    schedule *next_ready; /* of the mail */
    pse_box *box;
    int64_t ticket;
    uint64_t key;
    uint32_t site, pending, at, steps, room;
    bool running, ready, watched;
    uint64_t begun; /* for the trace */
    coven_collective what;
    uint32_t item; /* bytes of an element */
    step *program;
    char *scratch;
};

struct pse_box {
    pse_box *chained;
    pse_mail *mail;
    uint64_t tph;
    int64_t index;
    pse_region region;
    uint32_t partition;
    uint32_t collectives;
    uint32_t outstanding; /* posted by modules and not complete */
    uint32_t awaited;     /* ... of these, what the resting partition waits for */
    uint32_t watched;     /* ... of these, what it will wait for by coven_services.wait */
    bool chosen;          /* it called wait */
    bool resting;
    bool open; /* its region has come to this rank */
    struct receives {
        request *first, **end;
    } receives[LANES];
    request *sends;
    struct letters {
        letter *first, **end;
    } letters[LANES];
    schedule *schedules;
};

struct pse_mail {
    pse_mail_hooks hooks;
    pse_box **buckets;
    size_t bucket_count, boxes;
    pse_box *spare_boxes;
    request *spare_requests;
    schedule *ready, **ready_end;
    bool turning; /* schedules are being advanced */
    struct unsent {
        struct unsent *next;
        request *request;
        pse_message message;
        uint32_t rank;
    } *unsent, **unsent_end;
    int64_t tickets;
    uint64_t resting;
    pse_wait recent[RECENT]; /* what partitions that are gone had reached */
    uint64_t closed;
    pse_mail_fault fault, further;
};

static inline uint32_t scope_of(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

/* box.c */
pse_box *box_find(pse_mail *mail, uint64_t tph, uint32_t scope, uint32_t partition, bool make);
pse_mail_fault *fault_begin(pse_mail *mail, const pse_box *box, int kind);
request *request_new(pse_box *box);
void request_free(pse_mail *mail, request *item);
void request_complete(request *item);
void schedule_complete(schedule *plan);
void schedule_free(schedule *plan);

/* match.c: they take the request; it may be complete when they return */
void post_receive(pse_box *box, request *item);
request *take_receive(pse_box *box, uint32_t from, uint64_t key);
void meet(pse_mail *mail, request *wanted, const pse_message *message, const array *came, request *sender);
bool file_letter(pse_box *box, const pse_message *message, const array *came, bool copied, request *sender);
void letter_free(pse_mail *mail, letter *item);

/* send.c */
pse_message message_of(const request *item);
bool post_send(pse_box *box, request *item);
void send_complete(request *item);
void send_acknowledged(request *item, uint8_t kind);

/* schedule.c */
schedule *schedule_new(pse_box *box, const coven_collective *what, uint64_t scratch);
bool schedule_add(schedule *plan, uint8_t kind, uint32_t peer, const void *from, void *into, uint64_t count);
bool schedule_combine(schedule *plan, const void *left, const void *right, void *into, uint64_t count);
bool schedule_round(schedule *plan);
int64_t schedule_start(schedule *plan, uint32_t site);
void schedule_part_complete(schedule *plan);
void schedules_turn(pse_mail *mail);

/* reductions.c, exchanges.c: the program of a collective; false: no memory. */
bool program_barrier(schedule *plan);
bool program_bcast(schedule *plan);
bool program_reduce(schedule *plan);
bool program_allreduce(schedule *plan);
bool program_scan(schedule *plan);
bool program_gather(schedule *plan);
bool program_allgather(schedule *plan);
bool program_scatter(schedule *plan);
bool program_alltoall(schedule *plan);
bool program_alltoallv(schedule *plan);
uint64_t scratch_items(const pse_box *box, const coven_collective *what); /* elements of scratch memory */

/* operations.c */
uint32_t type_bytes(uint32_t type); /* 0: not a type */
bool operation_fits(uint32_t op, uint32_t type);
void operate(const schedule *plan, const void *left, const void *right, void *into, uint64_t count);

#endif
