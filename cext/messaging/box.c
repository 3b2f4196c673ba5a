/* Boxes: what each partition waits for, and what waits for it. */
#include "post.h"

static size_t bucket_of(const pse_mail *mail, uint64_t tph, uint32_t scope, uint32_t partition)
{
    uint64_t mixed = (tph ^ ((uint64_t)scope << 32 | partition)) * 0x9e3779b97f4a7c15ull;
    return (size_t)(mixed >> 20) & (mail->bucket_count - 1);
}

int pse_mail_create(pse_mail **out, const pse_mail_hooks *hooks)
{
    pse_mail *mail = calloc(1, sizeof *mail);
    *out = mail;
    if (mail == NULL)
        return -1;
    mail->hooks = *hooks;
    mail->bucket_count = 64;
    mail->buckets = calloc(mail->bucket_count, sizeof *mail->buckets);
    mail->ready_end = &mail->ready;
    mail->unsent_end = &mail->unsent;
    return mail->buckets != NULL ? 0 : -1;
}

static void widen(pse_mail *mail)
{
    size_t before = mail->bucket_count;
    pse_box **old = mail->buckets, **wider = calloc(2 * before, sizeof *wider);
    if (wider == NULL)
        return; /* It works with crowded buckets too. */
    mail->buckets = wider;
    mail->bucket_count = 2 * before;
    for (size_t i = 0; i < before; i++)
        for (pse_box *box = old[i], *next; box != NULL; box = next) {
            size_t bucket = bucket_of(mail, box->tph, box->region.scope, box->partition);
            next = box->chained;
            box->chained = wider[bucket];
            wider[bucket] = box;
        }
    free(old);
}

static pse_box *box_new(pse_mail *mail)
{
    pse_box *box = mail->spare_boxes;
    if (box != NULL)
        mail->spare_boxes = box->chained;
    else
        box = malloc(sizeof *box);
    if (box == NULL)
        return NULL;
    memset(box, 0, sizeof *box);
    box->mail = mail;
    box->index = -1;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        box->receives[lane].end = &box->receives[lane].first;
        box->letters[lane].end = &box->letters[lane].first;
    }
    if (mail->boxes++ > 2 * mail->bucket_count)
        widen(mail);
    return box;
}

pse_box *box_find(pse_mail *mail, uint64_t tph, uint32_t scope, uint32_t partition, bool make)
{
    pse_box *box = mail->buckets[bucket_of(mail, tph, scope, partition)];
    while (box != NULL && !(box->tph == tph && box->region.scope == scope && box->partition == partition))
        box = box->chained;
    if (box != NULL || !make || (box = box_new(mail)) == NULL)
        return box;
    box->tph = tph;
    box->region.scope = scope;
    box->partition = partition;
    pse_box **bucket = &mail->buckets[bucket_of(mail, tph, scope, partition)];
    box->chained = *bucket;
    *bucket = box;
    return box;
}

pse_box *pse_mail_box(pse_mail *mail, uint64_t tph, uint32_t partition, const pse_region *region,
                      int64_t index)
{
    pse_box *box = box_find(mail, tph, region->scope, partition, true);
    if (box == NULL)
        return NULL;
    box->region = *region;
    box->index = index;
    box->open = true;
    return box;
}

pse_mail_fault *fault_begin(pse_mail *mail, const pse_box *box, int kind)
{
    /* Only the first one counts. */
    pse_mail_fault *fault = mail->fault.kind == PSE_MAIL_FINE ? &mail->fault : &mail->further;
    memset(fault, 0, sizeof *fault);
    fault->kind = kind;
    fault->tph = box->tph;
    fault->index = box->index;
    fault->partitions = box->region.partitions;
    fault->here.partition = box->partition;
    return fault;
}

const pse_mail_fault *pse_mail_get_fault(const pse_mail *mail)
{
    return &mail->fault;
}

static void fault_left(pse_box *box, const letter *item)
{
    const pse_message *message = &item->message;
    pse_mail_fault *fault = fault_begin(box->mail, box, PSE_MAIL_LEFT);
    fault->tag = (int32_t)(message->sequence & KEY_NUMBER);
    fault->there = (pse_mail_side){.partition = message->edge,
                                   .site = message->site,
                                   .kind = message->flags,
                                   .extra = message->extra,
                                   .type = item->array.type,
                                   .bytes = item->array.bytes};
}

static void fault_if_left(pse_box *box)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (box->letters[lane].first != NULL)
            fault_left(box, box->letters[lane].first);
}

static void remember(pse_mail *mail, const pse_box *box)
{
    if (box->collectives == 0)
        return;
    mail->recent[mail->closed++ % RECENT] = (pse_wait){.tph = box->tph,
                                                       .index = box->index,
                                                       .kind = PSE_REACHED,
                                                       .scope = box->region.scope,
                                                       .partition = box->partition,
                                                       .partitions = box->region.partitions,
                                                       .sequence = box->collectives,
                                                       .rank = mail->hooks.rank};
}

static void empty_lane(pse_box *box, uint32_t lane)
{
    for (request *item = box->receives[lane].first, *next; item != NULL; item = next) {
        next = item->next;
        request_free(box->mail, item);
    }
    for (letter *item = box->letters[lane].first, *next; item != NULL; item = next) {
        next = item->next;
        letter_free(box->mail, item);
    }
}

static void empty(pse_box *box)
{
    pse_mail *mail = box->mail;
    for (uint32_t lane = 0; lane < LANES; lane++)
        empty_lane(box, lane);
    for (request *item = box->sends, *next; item != NULL; item = next) {
        next = item->next;
        request_free(mail, item);
    }
    for (schedule *item = box->schedules, *next; item != NULL; item = next) {
        next = item->next;
        schedule_free(item);
    }
}

static void box_remove(pse_box *box)
{
    pse_mail *mail = box->mail;
    pse_box **link = &mail->buckets[bucket_of(mail, box->tph, box->region.scope, box->partition)];
    while (*link != box)
        link = &(*link)->chained;
    *link = box->chained;
    empty(box);
    mail->boxes--;
    box->chained = mail->spare_boxes;
    mail->spare_boxes = box;
}

static void close_box(pse_mail *mail, pse_box *box)
{
    fault_if_left(box);
    remember(mail, box);
    box_remove(box);
}

void pse_mail_close(pse_mail *mail, uint64_t tph, uint32_t scope, uint32_t partition)
{
    pse_box *box = mail->boxes > 0 ? box_find(mail, tph, scope, partition, false) : NULL;
    if (box != NULL)
        close_box(mail, box);
}

void pse_mail_close_all(pse_mail *mail, uint64_t tph)
{
    for (size_t i = 0; i < mail->bucket_count && mail->boxes > 0; i++)
        for (pse_box *box = mail->buckets[i], *next; box != NULL; box = next) {
            next = box->chained;
            if (box->tph == tph)
                close_box(mail, box);
        }
}

void pse_mail_forget(pse_mail *mail, uint64_t tph)
{
    for (size_t i = 0; i < mail->bucket_count; i++)
        for (pse_box *box = mail->buckets[i], *next; box != NULL; box = next) {
            next = box->chained;
            if (box->tph == tph)
                box_remove(box);
        }
}

void pse_mail_check_empty(pse_mail *mail, uint64_t but)
{
    for (size_t i = 0; i < mail->bucket_count; i++)
        for (pse_box *box = mail->buckets[i]; box != NULL; box = box->chained)
            if (box->tph != but)
                fault_if_left(box);
}

void pse_mail_destroy(pse_mail *mail)
{
    for (size_t i = 0; i < mail->bucket_count; i++)
        while (mail->buckets[i] != NULL)
            box_remove(mail->buckets[i]);
    while (mail->spare_boxes != NULL) {
        pse_box *box = mail->spare_boxes;
        mail->spare_boxes = box->chained;
        free(box);
    }
    while (mail->unsent != NULL) {
        struct unsent *item = mail->unsent;
        mail->unsent = item->next;
        request_free(mail, item->request);
        free(item);
    }
    while (mail->spare_requests != NULL) {
        request *item = mail->spare_requests;
        mail->spare_requests = item->next;
        free(item);
    }
    free(mail->buckets);
    free(mail);
}

request *request_new(pse_box *box)
{
    pse_mail *mail = box->mail;
    request *item = mail->spare_requests;
    if (item != NULL)
        mail->spare_requests = item->next;
    else
        item = malloc(sizeof *item);
    if (item == NULL)
        return NULL;
    memset(item, 0, sizeof *item);
    item->box = box;
    return item;
}

void request_free(pse_mail *mail, request *item)
{
    item->next = mail->spare_requests;
    mail->spare_requests = item;
}

/* What a module posted is complete: its partition may have rested for just that. */
static void posted_complete(pse_box *box, bool watched)
{
    box->outstanding--;
    if (watched)
        box->watched--;
    if (box->resting && (box->chosen ? watched : true) && --box->awaited == 0) {
        box->resting = false;
        box->mail->resting--;
    }
}

void request_complete(request *item)
{
    pse_box *box = item->box;
    schedule *plan = item->part_of;
    bool watched = item->watched;
    request_free(box->mail, item);
    if (plan != NULL)
        schedule_part_complete(plan);
    else
        posted_complete(box, watched);
}

void schedule_complete(schedule *plan)
{
    pse_box *box = plan->box;
    schedule **link = &box->schedules;
    while (*link != plan)
        link = &(*link)->next;
    *link = plan->next;
    bool watched = plan->watched;
    schedule_free(plan);
    posted_complete(box, watched);
}
