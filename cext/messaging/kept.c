/* What boxes hold while the run stands at a pause, for whoever saves it or moves partitions; and back.
 *
 * At a pause no call of a partition is under way, so nothing is posted that is not complete: all that a box
 * holds is messages that nobody has received yet (letters), and how many collectives its partition has come
 * to.
 */
#include "post.h"

typedef struct listing {
    pse_kept *rows;
    size_t count, limit;
} listing;

static void add(listing *list, const pse_kept *row)
{
    if (list->count < list->limit)
        list->rows[list->count] = *row;
    list->count++;
}

static void add_letter(listing *list, const pse_box *box, const letter *item)
{
    const pse_message *message = &item->message;
    add(list, &(pse_kept){.scope = box->region.scope,
                          .partition = box->partition,
                          .is_letter = 1,
                          .from = message->edge,
                          .number = (uint32_t)message->sequence,
                          .site = message->site,
                          .collective = message->flags,
                          .extra = message->extra,
                          .type = item->array.type,
                          .bytes = item->array.bytes,
                          .data = item->array.data});
}

static void add_box(listing *list, const pse_box *box)
{
    if (box->collectives > 0)
        add(list,
            &(pse_kept){.scope = box->region.scope, .partition = box->partition, .number = box->collectives});
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (const letter *item = box->letters[lane].first; item != NULL; item = item->next)
            add_letter(list, box, item);
}

/* Returns how many there are; writes at most `limit`. */
size_t pse_mail_kept(const pse_mail *mail, uint64_t tph, pse_kept *rows, size_t limit)
{
    listing list = {.rows = rows, .limit = limit};
    for (size_t i = 0; i < mail->bucket_count; i++)
        for (const pse_box *box = mail->buckets[i]; box != NULL; box = box->chained)
            if (box->tph == tph)
                add_box(&list, box);
    return list.count;
}

bool pse_mail_put(pse_mail *mail, uint64_t tph, const pse_kept *row)
{
    pse_box *box = box_find(mail, tph, row->scope, row->partition, true);
    if (box == NULL)
        return false;
    if (!row->is_letter) {
        box->collectives = row->number;
        return true;
    }
    array came = {.data = (void *)(uintptr_t)row->data, .bytes = row->bytes, .type = (uint8_t)row->type};
    pse_message message = {.tph = tph,
                           .edge = row->from,
                           .source = mail->hooks.rank,
                           .index = row->partition,
                           .kind = PSE_CARRIES_MAIL_COPY,
                           .flags = (uint8_t)row->collective,
                           .dtype = (uint16_t)row->type,
                           .sequence = (uint64_t)row->scope << 32 | row->number,
                           .site = row->site,
                           .extra = row->extra};
    return file_letter(box, &message, &came, true, NULL);
}
