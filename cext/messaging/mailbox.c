/* The table of mailboxes: each partition's, by TPH and region. */
#include "mailbox.h"

#include <stdlib.h>
#include <string.h>

static size_t bucket_of(const pse_messaging *messaging, uint64_t tph, uint32_t scope, uint32_t partition)
{
    uint64_t mixed = (tph ^ ((uint64_t)scope << 32 | partition)) * 0x9e3779b97f4a7c15ull;
    return (size_t)(mixed >> 20) & (messaging->bucket_count - 1);
}

int pse_messaging_create(pse_messaging **out, const pse_messaging_hooks *hooks)
{
    pse_messaging *messaging = calloc(1, sizeof *messaging);
    *out = messaging;
    if (messaging == NULL)
        return -1;
    messaging->hooks = *hooks;
    messaging->bucket_count = 64;
    messaging->buckets = calloc(messaging->bucket_count, sizeof *messaging->buckets);
    messaging->ready_end = &messaging->ready;
    messaging->postponed_end = &messaging->postponed;
    return messaging->buckets != NULL ? 0 : -1;
}

static void widen(pse_messaging *messaging)
{
    size_t before = messaging->bucket_count;
    pse_mailbox **old = messaging->buckets, **wider = calloc(2 * before, sizeof *wider);
    if (wider == NULL)
        return; /* It works with crowded buckets too. */
    messaging->buckets = wider;
    messaging->bucket_count = 2 * before;
    for (size_t i = 0; i < before; i++)
        for (pse_mailbox *mailbox = old[i], *next; mailbox != NULL; mailbox = next) {
            size_t bucket = bucket_of(messaging, mailbox->tph, mailbox->region.scope, mailbox->partition);
            next = mailbox->chained;
            mailbox->chained = wider[bucket];
            wider[bucket] = mailbox;
        }
    free(old);
}

static pse_mailbox *new_mailbox(pse_messaging *messaging)
{
    pse_mailbox *mailbox = messaging->spare_mailboxes;
    if (mailbox != NULL)
        messaging->spare_mailboxes = mailbox->chained;
    else
        mailbox = malloc(sizeof *mailbox);
    if (mailbox == NULL)
        return NULL;
    memset(mailbox, 0, sizeof *mailbox);
    mailbox->messaging = messaging;
    mailbox->index = -1;
    for (uint32_t lane = 0; lane < PSE_LANES; lane++) {
        mailbox->receives[lane].end = &mailbox->receives[lane].first;
        mailbox->unexpected[lane].end = &mailbox->unexpected[lane].first;
    }
    if (messaging->mailboxes++ > 2 * messaging->bucket_count)
        widen(messaging);
    return mailbox;
}

pse_mailbox *pse_messaging_find_mailbox(pse_messaging *messaging, uint64_t tph, uint32_t scope,
                                        uint32_t partition, bool make)
{
    pse_mailbox *mailbox = messaging->buckets[bucket_of(messaging, tph, scope, partition)];
    while (mailbox != NULL &&
           !(mailbox->tph == tph && mailbox->region.scope == scope && mailbox->partition == partition))
        mailbox = mailbox->chained;
    if (mailbox != NULL || !make || (mailbox = new_mailbox(messaging)) == NULL)
        return mailbox;
    mailbox->tph = tph;
    mailbox->region.scope = scope;
    mailbox->partition = partition;
    pse_mailbox **bucket = &messaging->buckets[bucket_of(messaging, tph, scope, partition)];
    mailbox->chained = *bucket;
    *bucket = mailbox;
    return mailbox;
}

void pse_messaging_unlink_mailbox(pse_mailbox *mailbox)
{
    pse_messaging *messaging = mailbox->messaging;
    pse_mailbox **link =
        &messaging->buckets[bucket_of(messaging, mailbox->tph, mailbox->region.scope, mailbox->partition)];
    while (*link != mailbox)
        link = &(*link)->chained;
    *link = mailbox->chained;
    messaging->mailboxes--;
    mailbox->chained = messaging->spare_mailboxes;
    messaging->spare_mailboxes = mailbox;
}

pse_mailbox *pse_messaging_mailbox(pse_messaging *messaging, uint64_t tph, uint32_t partition,
                                   const pse_messaging_region *region, int64_t index)
{
    pse_mailbox *mailbox = pse_messaging_find_mailbox(messaging, tph, region->scope, partition, true);
    if (mailbox == NULL)
        return NULL;
    mailbox->region = *region;
    mailbox->index = index;
    mailbox->open = true;
    return mailbox;
}

int64_t pse_messaging_post(pse_mailbox *mailbox, pse_messaging_posted *item)
{
    item->ticket = ++mailbox->messaging->tickets;
    pse_messaging_posted **list = &mailbox->posted[(uint64_t)item->ticket % PSE_LANES];
    item->next = *list;
    *list = item;
    mailbox->outstanding++;
    return item->ticket;
}

pse_messaging_posted *pse_messaging_posted_with(const pse_mailbox *mailbox, int64_t ticket)
{
    pse_messaging_posted *item = mailbox->posted[(uint64_t)ticket % PSE_LANES];
    while (item != NULL && item->ticket != ticket)
        item = item->next;
    return item;
}

pse_messaging_fault *pse_messaging_begin_fault(pse_messaging *messaging, const pse_mailbox *mailbox, int kind)
{
    /* Only the first one counts. */
    pse_messaging_fault *fault =
        messaging->fault.kind == PSE_MESSAGING_FINE ? &messaging->fault : &messaging->further;
    memset(fault, 0, sizeof *fault);
    fault->kind = kind;
    fault->index = -1;
    if (mailbox == NULL)
        return fault;
    fault->tph = mailbox->tph;
    fault->index = mailbox->index;
    fault->partitions = mailbox->region.partitions;
    fault->here.partition = mailbox->partition;
    return fault;
}

const pse_messaging_fault *pse_messaging_get_fault(const pse_messaging *messaging)
{
    return &messaging->fault;
}

pse_messaging_request *pse_messaging_request_new(pse_mailbox *mailbox)
{
    pse_messaging *messaging = mailbox->messaging;
    pse_messaging_request *item = messaging->spare_requests;
    if (item != NULL)
        messaging->spare_requests = item->next;
    else
        item = malloc(sizeof *item);
    if (item == NULL)
        return NULL;
    memset(item, 0, sizeof *item);
    item->mailbox = mailbox;
    return item;
}

void pse_messaging_request_free(pse_messaging *messaging, pse_messaging_request *item)
{
    item->next = messaging->spare_requests;
    messaging->spare_requests = item;
}

pse_message pse_messaging_message_of(const pse_messaging_request *item)
{
    const pse_mailbox *mailbox = item->mailbox;
    return (pse_message){.tph = mailbox->tph,
                         .edge = mailbox->partition,
                         .source = mailbox->messaging->hooks.rank,
                         .index = item->peer,
                         .flags = item->collective,
                         .dtype = item->array.type,
                         .sequence = item->key,
                         .site = item->site,
                         .extra = item->extra};
}
