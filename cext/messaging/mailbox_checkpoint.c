/* What mailboxes hold while the run stands at a pause, for whoever saves it or moves partitions; and back.
 *
 * At a pause no call of a partition is under way, so nothing is posted that is not complete: all that a
 * mailbox holds is messages that nobody has received yet, and how many collectives its partition has come to.
 */
#include "mailbox.h"
#include "matching.h"

typedef struct saved_listing {
    pse_messaging_saved *rows;
    size_t count, limit;
} saved_listing;

static void add(saved_listing *list, const pse_messaging_saved *row)
{
    if (list->count < list->limit)
        list->rows[list->count] = *row;
    list->count++;
}

static void add_message(saved_listing *list, const pse_mailbox *mailbox, const pse_messaging_unexpected *item)
{
    const pse_message *message = &item->message;
    add(list, &(pse_messaging_saved){.scope = mailbox->region.scope,
                                     .partition = mailbox->partition,
                                     .is_message = 1,
                                     .from = message->edge,
                                     .number = (uint32_t)message->sequence,
                                     .site = message->site,
                                     .collective = message->flags,
                                     .extra = message->extra,
                                     .type = item->array.type,
                                     .bytes = item->array.bytes,
                                     .data = item->array.data});
}

static void add_mailbox(saved_listing *list, const pse_mailbox *mailbox)
{
    if (mailbox->collectives > 0)
        add(list, &(pse_messaging_saved){.scope = mailbox->region.scope,
                                         .partition = mailbox->partition,
                                         .number = mailbox->collectives});
    for (uint32_t lane = 0; lane < PSE_LANES; lane++)
        for (const pse_messaging_unexpected *item = mailbox->unexpected[lane].first; item != NULL;
             item = item->next)
            add_message(list, mailbox, item);
}

/* Returns how many there are; writes at most `limit`. */
size_t pse_messaging_save(const pse_messaging *messaging, uint64_t tph, pse_messaging_saved *rows,
                          size_t limit)
{
    saved_listing list = {.rows = rows, .limit = limit};
    for (size_t i = 0; i < messaging->bucket_count; i++)
        for (const pse_mailbox *mailbox = messaging->buckets[i]; mailbox != NULL; mailbox = mailbox->chained)
            if (mailbox->tph == tph)
                add_mailbox(&list, mailbox);
    return list.count;
}

bool pse_messaging_restore(pse_messaging *messaging, uint64_t tph, const pse_messaging_saved *row)
{
    pse_mailbox *mailbox = pse_messaging_find_mailbox(messaging, tph, row->scope, row->partition, true);
    if (mailbox == NULL)
        return false;
    if (!row->is_message) {
        mailbox->collectives = row->number;
        return true;
    }
    pse_messaging_array came = {
        .data = (void *)(uintptr_t)row->data, .bytes = row->bytes, .type = (uint8_t)row->type};
    pse_message message = {.tph = tph,
                           .edge = row->from,
                           .source = messaging->hooks.rank,
                           .index = row->partition,
                           .kind = PSE_CARRIES_PARTITION_COPY,
                           .flags = (uint8_t)row->collective,
                           .dtype = (uint16_t)row->type,
                           .sequence = (uint64_t)row->scope << 32 | row->number,
                           .site = row->site,
                           .extra = row->extra};
    return pse_messaging_add_unexpected(mailbox, &message, &came, true, NULL);
}
