/* What partitions wait for and what they have reached, as rows for the report of a deadlock. */
#include "post.h"

typedef struct listing {
    pse_wait *rows;
    size_t count, limit;
    pse_wait beyond; /* stands for rows that there is no room for */
} listing;

static pse_wait *add(listing *list, const pse_box *box, uint32_t kind)
{
    pse_wait *row = list->count < list->limit ? &list->rows[list->count] : &list->beyond;
    list->count++;
    *row = (pse_wait){.tph = box->tph,
                      .index = box->index,
                      .kind = kind,
                      .scope = box->region.scope,
                      .partition = box->partition,
                      .partitions = box->region.partitions,
                      .rank = box->mail->hooks.rank};
    return row;
}

static void add_requests(listing *list, const pse_box *box, const request *item, uint32_t kind)
{
    for (; item != NULL; item = item->next) {
        if (item->part_of != NULL)
            continue;
        pse_wait *row = add(list, box, kind);
        row->site = item->site;
        row->peer = item->peer;
        row->tag = (int32_t)(item->key & KEY_NUMBER);
    }
}

static void add_box(listing *list, const pse_box *box)
{
    if (!box->open)
        return;
    add(list, box, PSE_REACHED)->sequence = box->collectives;
    for (uint32_t lane = 0; lane < LANES; lane++)
        add_requests(list, box, box->receives[lane].first, PSE_WAITS_RECEIVE);
    add_requests(list, box, box->sends, PSE_WAITS_SEND);
    for (const schedule *item = box->schedules; item != NULL; item = item->next) {
        pse_wait *row = add(list, box, PSE_WAITS_COLLECTIVE);
        row->site = item->site;
        row->collective = item->what.kind;
        row->sequence = (uint32_t)(item->key & KEY_NUMBER);
    }
}

/* Returns how many there are; writes at most `limit`. */
size_t pse_mail_waits(const pse_mail *mail, pse_wait *rows, size_t limit)
{
    listing list = {.rows = rows, .limit = limit};
    for (size_t i = 0; i < mail->bucket_count; i++)
        for (const pse_box *box = mail->buckets[i]; box != NULL; box = box->chained)
            add_box(&list, box);
    for (uint64_t i = mail->closed > RECENT ? mail->closed - RECENT : 0; i < mail->closed; i++) {
        if (list.count < list.limit)
            rows[list.count] = mail->recent[i % RECENT];
        list.count++;
    }
    return list.count;
}

uint64_t pse_mail_resting(const pse_mail *mail)
{
    return mail->resting;
}
