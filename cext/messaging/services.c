/* The functions of coven.h, as the engine offers them to modules. */
#include "collectives/exchanges.h"
#include "collectives/operators.h"
#include "collectives/progress.h"
#include "collectives/reductions.h"
#include "collectives/rows.h"
#include "collectives/schedule.h"
#include "mailbox.h"
#include "matching.h"
#include "sending.h"

static _Thread_local pse_messaging_visit *visit;

void pse_messaging_enter(pse_messaging_visit *now)
{
    visit = now;
    if (now->mailbox != NULL)
        now->mailbox->chosen = false;
}

void pse_messaging_leave(void)
{
    visit = NULL;
}

/* The visited partition's mailbox; made at its first use.  NULL: no memory, which is noted. */
static pse_mailbox *here(void)
{
    if (visit->mailbox != NULL)
        return visit->mailbox;
    visit->mailbox =
        pse_messaging_mailbox(visit->messaging, visit->tph, visit->partition, &visit->region, visit->index);
    if (visit->mailbox == NULL) {
        pse_messaging_fault *fault = pse_messaging_begin_fault(visit->messaging, NULL, PSE_MESSAGING_MEMORY);
        fault->here.partition = visit->partition;
        fault->here.site = visit->site;
    }
    return visit->mailbox;
}

static int64_t partition(void)
{
    return visit ? visit->partition : 0;
}

static int64_t partitions(void)
{
    return visit ? visit->region.partitions : 1;
}

static int64_t grid(uint32_t axis)
{
    if (visit == NULL || visit->region.grid == NULL)
        return axis == 0 ? partitions() : 0;
    return axis < PSE_MAX_DIMS ? visit->region.grid[axis] : 0;
}

static int64_t refuse(pse_mailbox *mailbox, int kind, int64_t peer, int32_t tag,
                      const pse_messaging_side *asked)
{
    pse_messaging_fault *fault = pse_messaging_begin_fault(mailbox->messaging, mailbox, kind);
    fault->peer = peer;
    fault->tag = tag;
    fault->here = *asked;
    fault->here.partition = mailbox->partition;
    fault->here.site = visit->site;
    return COVEN_REFUSED;
}

static int64_t no_memory(pse_mailbox *mailbox)
{
    return refuse(mailbox, PSE_MESSAGING_MEMORY, 0, 0, &(pse_messaging_side){0});
}

static bool countable(uint64_t count, uint32_t type)
{
    return count <= (UINT64_C(1) << 47) / pse_messaging_type_bytes(type);
}

/* A request for a message to or from `peer`; NULL if it can't be, and why is noted. */
static pse_messaging_request *message_request(pse_mailbox *mailbox, int64_t peer, int32_t tag, void *data,
                                              size_t count, uint32_t type)
{
    const pse_messaging_side asked = {.type = type, .bytes = count};
    int wrong = peer < 0 || peer >= mailbox->region.partitions ? PSE_MESSAGING_NO_PARTITION
                : tag < 0                                      ? PSE_MESSAGING_TAG
                : pse_messaging_type_bytes(type) == 0          ? PSE_MESSAGING_TYPE
                : !countable(count, type)                      ? PSE_MESSAGING_SIZE
                                                               : PSE_MESSAGING_FINE;
    pse_messaging_request *item = wrong == PSE_MESSAGING_FINE ? pse_messaging_request_new(mailbox) : NULL;
    if (item == NULL) {
        refuse(mailbox, wrong != PSE_MESSAGING_FINE ? wrong : PSE_MESSAGING_MEMORY, peer, tag, &asked);
        return NULL;
    }
    item->key = (uint64_t)mailbox->region.scope << 32 | (uint32_t)tag;
    item->peer = (uint32_t)peer;
    item->site = visit->site;
    item->array = (pse_messaging_array){
        .data = data, .bytes = count * pse_messaging_type_bytes(type), .type = (uint8_t)type};
    pse_messaging_post(mailbox, &item->posted);
    return item;
}

static int64_t send(int64_t to, int32_t tag, const void *data, size_t count, uint32_t type)
{
    if (visit == NULL)
        return COVEN_OUTSIDE;
    pse_mailbox *mailbox = here();
    if (mailbox == NULL)
        return COVEN_REFUSED;
    pse_messaging_request *item = message_request(mailbox, to, tag, (void *)(uintptr_t)data, count, type);
    if (item == NULL)
        return COVEN_REFUSED;
    int64_t ticket = item->posted.ticket;
    if (!pse_messaging_post_send(mailbox, item))
        return no_memory(mailbox);
    pse_messaging_advance_schedules(mailbox->messaging);
    return ticket;
}

static int64_t receive(int64_t from, int32_t tag, void *data, size_t count, uint32_t type)
{
    if (visit == NULL)
        return COVEN_OUTSIDE;
    pse_mailbox *mailbox = here();
    if (mailbox == NULL)
        return COVEN_REFUSED;
    pse_messaging_request *item = message_request(mailbox, from, tag, data, count, type);
    if (item == NULL)
        return COVEN_REFUSED;
    int64_t ticket = item->posted.ticket;
    pse_messaging_post_receive(mailbox, item);
    pse_messaging_advance_schedules(mailbox->messaging);
    return ticket;
}

static bool (*const programs[])(pse_messaging_schedule *) = {
    [COVEN_BARRIER] = pse_messaging_program_barrier,     [COVEN_BCAST] = pse_messaging_program_bcast,
    [COVEN_REDUCE] = pse_messaging_program_reduce,       [COVEN_ALLREDUCE] = pse_messaging_program_allreduce,
    [COVEN_SCAN] = pse_messaging_program_scan,           [COVEN_GATHER] = pse_messaging_program_gather,
    [COVEN_ALLGATHER] = pse_messaging_program_allgather, [COVEN_SCATTER] = pse_messaging_program_scatter,
    [COVEN_ALLTOALL] = pse_messaging_program_alltoall,   [COVEN_ALLTOALLV] = pse_messaging_program_alltoallv,
};

/* Elements of scratch memory that a collective needs. */
static uint64_t scratch_items(const pse_mailbox *mailbox, const coven_collective *what)
{
    switch (what->kind) {
    case COVEN_REDUCE:
    case COVEN_ALLREDUCE:
    case COVEN_SCAN:
        return 2 * what->count;
    case COVEN_GATHER:
    case COVEN_ALLGATHER:
    case COVEN_SCATTER:
        return mailbox->region.partitions * what->count;
    default:
        return 0;
    }
}

static bool reduces(const coven_collective *what)
{
    return what->kind >= COVEN_REDUCE && what->kind <= COVEN_SCAN;
}

static int fault_of(const pse_mailbox *mailbox, const coven_collective *what)
{
    if (what->kind < COVEN_BARRIER || what->kind > COVEN_ALLTOALLV ||
        pse_messaging_type_bytes(what->type) == 0)
        return PSE_MESSAGING_TYPE;
    if (what->root < 0 || what->root >= mailbox->region.partitions)
        return PSE_MESSAGING_NO_PARTITION;
    if (!countable(what->count * mailbox->region.partitions, what->type) || what->count > UINT64_C(1) << 47)
        return PSE_MESSAGING_SIZE;
    bool own_operation = what->function != NULL || what->closure != NULL;
    return reduces(what) && !own_operation && !pse_messaging_operation_fits(what->op, what->type)
               ? PSE_MESSAGING_TYPE
               : PSE_MESSAGING_FINE;
}

static int64_t collective(const coven_collective *what)
{
    if (visit == NULL)
        return COVEN_OUTSIDE;
    pse_mailbox *mailbox = here();
    if (mailbox == NULL)
        return COVEN_REFUSED;
    int wrong = fault_of(mailbox, what);
    if (wrong != PSE_MESSAGING_FINE)
        return refuse(
            mailbox, wrong, what->root, 0,
            &(pse_messaging_side){
                .kind = what->kind, .extra = what->op << 24, .type = what->type, .bytes = what->count});
    uint64_t scratch = scratch_items(mailbox, what) * pse_messaging_type_bytes(what->type);
    pse_messaging_schedule *plan = pse_messaging_schedule_new(mailbox, what, scratch);
    if (plan == NULL)
        return no_memory(mailbox);
    if (programs[what->kind](plan))
        return pse_messaging_schedule_start(plan, visit->site);
    pse_messaging_schedule_free(plan);
    return no_memory(mailbox);
}

/* Bytes that a partition shows to others. */
static uint64_t shown_bytes(const coven_rows *rows)
{
    uint64_t shown = 0;
    for (size_t at = 0; at < rows->entries; at++)
        shown += rows->list[at * rows->stride] >= 0;
    return shown * rows->width;
}

static int64_t exchange_rows(const coven_rows *rows)
{
    if (visit == NULL)
        return COVEN_OUTSIDE;
    pse_mailbox *mailbox = here();
    if (mailbox == NULL)
        return COVEN_REFUSED;
    const coven_collective what = {
        .kind = COVEN_NEIGHBOR_ALLTOALLV, .type = COVEN_U8, .count = shown_bytes(rows)};
    if (!pse_messaging_rows_are_listed(mailbox, rows))
        return refuse(mailbox, PSE_MESSAGING_NO_PARTITION, mailbox->region.partitions, 0,
                      &(pse_messaging_side){.kind = what.kind});
    pse_messaging_schedule *plan =
        pse_messaging_schedule_new(mailbox, &what, pse_messaging_rows_scratch(mailbox, rows));
    if (plan == NULL)
        return no_memory(mailbox);
    plan->rows = *rows;
    if (pse_messaging_program_rows(plan))
        return pse_messaging_schedule_start(plan, visit->site);
    pse_messaging_schedule_free(plan);
    return no_memory(mailbox);
}

/* Waiting for a part of what was posted */

static void wait_for(const int64_t *tickets, size_t count)
{
    pse_mailbox *mailbox = visit ? visit->mailbox : NULL;
    if (mailbox == NULL)
        return;
    mailbox->chosen = true;
    for (size_t i = 0; i < count; i++) {
        pse_messaging_posted *item = pse_messaging_posted_with(mailbox, tickets[i]);
        mailbox->watched += item != NULL && !item->watched;
        if (item != NULL)
            item->watched = true;
    }
}

static int complete(int64_t ticket)
{
    return visit == NULL || visit->mailbox == NULL ||
           pse_messaging_posted_with(visit->mailbox, ticket) == NULL;
}

bool pse_messaging_rest(pse_messaging_visit *now)
{
    pse_mailbox *mailbox = now->mailbox;
    if (mailbox == NULL)
        return false;
    mailbox->awaited = mailbox->chosen ? mailbox->watched : mailbox->outstanding;
    mailbox->resting = mailbox->awaited > 0;
    mailbox->messaging->resting += mailbox->resting;
    mailbox->chosen = mailbox->resting && mailbox->chosen;
    return mailbox->resting;
}

bool pse_messaging_is_resting(const pse_mailbox *mailbox)
{
    return mailbox->resting;
}

const coven_services *pse_messaging_services(void)
{
    static const coven_services services = {COVEN_VERSION, partition, partitions, send, receive,
                                            collective,    wait_for,  complete,   grid, exchange_rows};
    return &services;
}
