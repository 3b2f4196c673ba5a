/* The functions of coven.h, as the engine offers them to modules. */
#include "post.h"

static _Thread_local pse_visit *visit;

void pse_mail_enter(pse_visit *now)
{
    visit = now;
    if (now->box != NULL)
        now->box->chosen = false;
}

void pse_mail_leave(void)
{
    visit = NULL;
}

/* The visited partition's box; made at its first use. */
static pse_box *here(void)
{
    if (visit->box == NULL)
        visit->box = pse_mail_box(visit->mail, visit->tph, visit->partition, &visit->region, visit->index);
    return visit->box;
}

static int64_t partition(void)
{
    return visit ? visit->partition : 0;
}

static int64_t partitions(void)
{
    return visit ? visit->region.partitions : 1;
}

static int64_t refuse(pse_box *box, int kind, int64_t peer, int32_t tag, const pse_mail_side *asked)
{
    pse_mail_fault *fault = fault_begin(box->mail, box, kind);
    fault->peer = peer;
    fault->tag = tag;
    fault->here = *asked;
    fault->here.partition = box->partition;
    fault->here.site = visit->site;
    return COVEN_REFUSED;
}

static int64_t no_memory(pse_box *box)
{
    return refuse(box, PSE_MAIL_MEMORY, 0, 0, &(pse_mail_side){0});
}

static bool countable(uint64_t count, uint32_t type)
{
    return count <= (UINT64_C(1) << 47) / type_bytes(type);
}

/* A request for a message to or from `peer`; NULL if it can't be, and why is noted. */
static request *message_request(pse_box *box, int64_t peer, int32_t tag, void *data, size_t count,
                                uint32_t type)
{
    const pse_mail_side asked = {.type = type, .bytes = count};
    int wrong = peer < 0 || peer >= box->region.partitions ? PSE_MAIL_NO_PARTITION
                : tag < 0                                  ? PSE_MAIL_TAG
                : type_bytes(type) == 0                    ? PSE_MAIL_TYPE
                : !countable(count, type)                  ? PSE_MAIL_SIZE
                                                           : PSE_MAIL_FINE;
    request *item = wrong == PSE_MAIL_FINE ? request_new(box) : NULL;
    if (item == NULL) {
        refuse(box, wrong != PSE_MAIL_FINE ? wrong : PSE_MAIL_MEMORY, peer, tag, &asked);
        return NULL;
    }
    item->ticket = ++box->mail->tickets;
    item->key = (uint64_t)box->region.scope << 32 | (uint32_t)tag;
    item->peer = (uint32_t)peer;
    item->site = visit->site;
    item->array = (array){.data = data, .bytes = count * type_bytes(type), .type = (uint8_t)type};
    box->outstanding++;
    return item;
}

static int64_t send(int64_t to, int32_t tag, const void *data, size_t count, uint32_t type)
{
    if (visit == NULL)
        return COVEN_OUTSIDE;
    pse_box *box = here();
    if (box == NULL)
        return COVEN_REFUSED;
    request *item = message_request(box, to, tag, (void *)(uintptr_t)data, count, type);
    if (item == NULL)
        return COVEN_REFUSED;
    int64_t ticket = item->ticket;
    if (!post_send(box, item))
        return no_memory(box);
    schedules_turn(box->mail);
    return ticket;
}

static int64_t receive(int64_t from, int32_t tag, void *data, size_t count, uint32_t type)
{
    if (visit == NULL)
        return COVEN_OUTSIDE;
    pse_box *box = here();
    if (box == NULL)
        return COVEN_REFUSED;
    request *item = message_request(box, from, tag, data, count, type);
    if (item == NULL)
        return COVEN_REFUSED;
    int64_t ticket = item->ticket;
    post_receive(box, item);
    schedules_turn(box->mail);
    return ticket;
}

static bool (*const programs[])(schedule *) = {
    [COVEN_BARRIER] = program_barrier,     [COVEN_BCAST] = program_bcast,
    [COVEN_REDUCE] = program_reduce,       [COVEN_ALLREDUCE] = program_allreduce,
    [COVEN_SCAN] = program_scan,           [COVEN_GATHER] = program_gather,
    [COVEN_ALLGATHER] = program_allgather, [COVEN_SCATTER] = program_scatter,
    [COVEN_ALLTOALL] = program_alltoall,   [COVEN_ALLTOALLV] = program_alltoallv,
};

static bool reduces(const coven_collective *what)
{
    return what->kind >= COVEN_REDUCE && what->kind <= COVEN_SCAN;
}

static int fault_of(const pse_box *box, const coven_collective *what)
{
    if (what->kind < COVEN_BARRIER || what->kind > COVEN_ALLTOALLV || type_bytes(what->type) == 0)
        return PSE_MAIL_TYPE;
    if (what->root < 0 || what->root >= box->region.partitions)
        return PSE_MAIL_NO_PARTITION;
    if (!countable(what->count * box->region.partitions, what->type) || what->count > UINT64_C(1) << 47)
        return PSE_MAIL_SIZE;
    bool own_operation = what->function != NULL || what->closure != NULL;
    return reduces(what) && !own_operation && !operation_fits(what->op, what->type) ? PSE_MAIL_TYPE
                                                                                    : PSE_MAIL_FINE;
}

static int64_t collective(const coven_collective *what)
{
    if (visit == NULL)
        return COVEN_OUTSIDE;
    pse_box *box = here();
    if (box == NULL)
        return COVEN_REFUSED;
    int wrong = fault_of(box, what);
    if (wrong != PSE_MAIL_FINE)
        return refuse(
            box, wrong, what->root, 0,
            &(pse_mail_side){
                .kind = what->kind, .extra = what->op << 24, .type = what->type, .bytes = what->count});
    uint64_t scratch = scratch_items(box, what) * type_bytes(what->type);
    schedule *plan = schedule_new(box, what, scratch);
    if (plan == NULL)
        return no_memory(box);
    if (programs[what->kind](plan))
        return schedule_start(plan, visit->site);
    schedule_free(plan);
    return no_memory(box);
}

/* Waiting for a part of what was posted */

static bool *watch_of(pse_box *box, int64_t ticket)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (request *item = box->receives[lane].first; item != NULL; item = item->next)
            if (item->part_of == NULL && item->ticket == ticket)
                return &item->watched;
    for (request *item = box->sends; item != NULL; item = item->next)
        if (item->part_of == NULL && item->ticket == ticket)
            return &item->watched;
    for (struct unsent *item = box->mail->unsent; item != NULL; item = item->next)
        if (item->request->box == box && item->request->part_of == NULL && item->request->ticket == ticket)
            return &item->request->watched;
    for (schedule *item = box->schedules; item != NULL; item = item->next)
        if (item->ticket == ticket)
            return &item->watched;
    return NULL;
}

static void wait_for(const int64_t *tickets, size_t count)
{
    pse_box *box = visit ? visit->box : NULL;
    if (box == NULL)
        return;
    box->chosen = true;
    for (size_t i = 0; i < count; i++) {
        bool *watched = watch_of(box, tickets[i]);
        box->watched += watched != NULL && !*watched;
        if (watched != NULL)
            *watched = true;
    }
}

static int complete(int64_t ticket)
{
    return visit == NULL || visit->box == NULL || watch_of(visit->box, ticket) == NULL;
}

bool pse_mail_rest(pse_visit *now)
{
    pse_box *box = now->box;
    if (box == NULL)
        return false;
    box->awaited = box->chosen ? box->watched : box->outstanding;
    box->resting = box->awaited > 0;
    box->mail->resting += box->resting;
    box->chosen = box->resting && box->chosen;
    return box->resting;
}

bool pse_box_resting(const pse_box *box)
{
    return box->resting;
}

const coven_services *pse_mail_services(void)
{
    static const coven_services services = {COVEN_VERSION, partition,  partitions, send,
                                            receive,       collective, wait_for,   complete};
    return &services;
}
