/* What partitions wait for and what they have reached, as rows for the report of a deadlock. */
#include "collectives/schedule.h"
#include "mailbox.h"

typedef struct wait_listing {
    pse_messaging_wait *rows;
    size_t count, limit;
    pse_messaging_wait beyond; /* stands for rows that there is no room for */
} wait_listing;

static pse_messaging_wait *add(wait_listing *list, const pse_mailbox *mailbox, uint32_t kind)
{
    pse_messaging_wait *row = list->count < list->limit ? &list->rows[list->count] : &list->beyond;
    list->count++;
    *row = (pse_messaging_wait){.tph = mailbox->tph,
                                .index = mailbox->index,
                                .kind = kind,
                                .scope = mailbox->region.scope,
                                .partition = mailbox->partition,
                                .partitions = mailbox->region.partitions,
                                .rank = mailbox->messaging->hooks.rank};
    return row;
}

static void add_requests(wait_listing *list, const pse_mailbox *mailbox, const pse_messaging_request *item,
                         uint32_t kind)
{
    for (; item != NULL; item = item->next) {
        if (item->part_of != NULL)
            continue;
        pse_messaging_wait *row = add(list, mailbox, kind);
        row->site = item->site;
        row->peer = item->peer;
        row->tag = (int32_t)(item->key & PSE_KEY_NUMBER);
    }
}

static void add_mailbox(wait_listing *list, const pse_mailbox *mailbox)
{
    if (!mailbox->open)
        return;
    add(list, mailbox, PSE_MESSAGING_REACHED)->sequence = mailbox->collectives;
    for (uint32_t lane = 0; lane < PSE_LANES; lane++) {
        add_requests(list, mailbox, mailbox->receives[lane].first, PSE_MESSAGING_WAITS_RECEIVE);
        add_requests(list, mailbox, mailbox->sends[lane].first, PSE_MESSAGING_WAITS_SEND);
    }
    for (const pse_messaging_schedule *item = mailbox->schedules; item != NULL; item = item->next) {
        pse_messaging_wait *row = add(list, mailbox, PSE_MESSAGING_WAITS_COLLECTIVE);
        row->site = item->site;
        row->collective = item->what.kind;
        row->sequence = (uint32_t)(item->key & PSE_KEY_NUMBER);
    }
}

/* Returns how many there are; writes at most `limit`. */
size_t pse_messaging_report_waits(const pse_messaging *messaging, pse_messaging_wait *rows, size_t limit)
{
    wait_listing list = {.rows = rows, .limit = limit};
    for (size_t i = 0; i < messaging->bucket_count; i++)
        for (const pse_mailbox *mailbox = messaging->buckets[i]; mailbox != NULL; mailbox = mailbox->chained)
            add_mailbox(&list, mailbox);
    for (uint64_t i = messaging->closed > PSE_RECENT ? messaging->closed - PSE_RECENT : 0;
         i < messaging->closed; i++) {
        if (list.count < list.limit)
            rows[list.count] = messaging->recent[i % PSE_RECENT];
        list.count++;
    }
    return list.count;
}

uint64_t pse_messaging_resting(const pse_messaging *messaging)
{
    return messaging->resting;
}
