/* A TPH ends: its mailboxes go, and what was never received is a fault. */
#include <stdlib.h>

#include "collectives/schedule.h"
#include "mailbox.h"
#include "matching.h"

static void fault_left(pse_mailbox *mailbox, const pse_messaging_unexpected *item)
{
    const pse_message *message = &item->message;
    pse_messaging_fault *fault = pse_messaging_begin_fault(mailbox->messaging, mailbox, PSE_MESSAGING_LEFT);
    fault->tag = (int32_t)(message->sequence & PSE_KEY_NUMBER);
    fault->there = (pse_messaging_side){.partition = message->edge,
                                        .site = message->site,
                                        .kind = message->flags,
                                        .extra = message->extra,
                                        .type = item->array.type,
                                        .bytes = item->array.bytes};
}

static void fault_if_left(pse_mailbox *mailbox)
{
    for (uint32_t lane = 0; lane < PSE_LANES; lane++)
        if (mailbox->unexpected[lane].first != NULL)
            fault_left(mailbox, mailbox->unexpected[lane].first);
}

/* The report of a deadlock may have to say how far a partition came that is gone. */
static void remember(pse_messaging *messaging, const pse_mailbox *mailbox)
{
    if (mailbox->collectives == 0)
        return;
    messaging->recent[messaging->closed++ % PSE_RECENT] =
        (pse_messaging_wait){.tph = mailbox->tph,
                             .index = mailbox->index,
                             .kind = PSE_MESSAGING_REACHED,
                             .scope = mailbox->region.scope,
                             .partition = mailbox->partition,
                             .partitions = mailbox->region.partitions,
                             .sequence = mailbox->collectives,
                             .rank = messaging->hooks.rank};
}

static void free_requests(pse_messaging *messaging, pse_messaging_request *item)
{
    for (pse_messaging_request *next; item != NULL; item = next) {
        next = item->next;
        pse_messaging_request_free(messaging, item);
    }
}

static void empty_lane(pse_mailbox *mailbox, uint32_t lane)
{
    free_requests(mailbox->messaging, mailbox->receives[lane].first);
    free_requests(mailbox->messaging, mailbox->sends[lane].first);
    for (pse_messaging_unexpected *item = mailbox->unexpected[lane].first, *next; item != NULL; item = next) {
        next = item->next;
        pse_messaging_free_unexpected(mailbox->messaging, item);
    }
}

static void remove_mailbox(pse_mailbox *mailbox)
{
    for (uint32_t lane = 0; lane < PSE_LANES; lane++)
        empty_lane(mailbox, lane);
    for (pse_messaging_schedule *item = mailbox->schedules, *next; item != NULL; item = next) {
        next = item->next;
        pse_messaging_schedule_free(item);
    }
    pse_messaging_unlink_mailbox(mailbox);
}

static void close_mailbox(pse_messaging *messaging, pse_mailbox *mailbox)
{
    fault_if_left(mailbox);
    remember(messaging, mailbox);
    remove_mailbox(mailbox);
}

void pse_messaging_close_all(pse_messaging *messaging, uint64_t tph)
{
    for (size_t i = 0; i < messaging->bucket_count && messaging->mailboxes > 0; i++)
        for (pse_mailbox *mailbox = messaging->buckets[i], *next; mailbox != NULL; mailbox = next) {
            next = mailbox->chained;
            if (mailbox->tph == tph)
                close_mailbox(messaging, mailbox);
        }
}

void pse_messaging_forget(pse_messaging *messaging, uint64_t tph)
{
    for (size_t i = 0; i < messaging->bucket_count; i++)
        for (pse_mailbox *mailbox = messaging->buckets[i], *next; mailbox != NULL; mailbox = next) {
            next = mailbox->chained;
            if (mailbox->tph == tph)
                remove_mailbox(mailbox);
        }
}

void pse_messaging_check_empty(pse_messaging *messaging, uint64_t but)
{
    for (size_t i = 0; i < messaging->bucket_count; i++)
        for (pse_mailbox *mailbox = messaging->buckets[i]; mailbox != NULL; mailbox = mailbox->chained)
            if (mailbox->tph != but)
                fault_if_left(mailbox);
}

static void free_postponed(pse_messaging *messaging)
{
    while (messaging->postponed != NULL) {
        pse_messaging_postponed *item = messaging->postponed;
        messaging->postponed = item->next;
        pse_messaging_request_free(messaging, item->request);
        free(item);
    }
}

static void free_spares(pse_messaging *messaging)
{
    while (messaging->spare_mailboxes != NULL) {
        pse_mailbox *mailbox = messaging->spare_mailboxes;
        messaging->spare_mailboxes = mailbox->chained;
        free(mailbox);
    }
    while (messaging->spare_requests != NULL) {
        pse_messaging_request *item = messaging->spare_requests;
        messaging->spare_requests = item->next;
        free(item);
    }
}

void pse_messaging_destroy(pse_messaging *messaging)
{
    if (messaging == NULL)
        return;
    for (size_t i = 0; messaging->buckets != NULL && i < messaging->bucket_count; i++)
        while (messaging->buckets[i] != NULL)
            remove_mailbox(messaging->buckets[i]);
    free_postponed(messaging);
    free_spares(messaging);
    free(messaging->buckets);
    free(messaging);
}
