#include "completion.h"

#include "collectives/schedule.h"

/* What a module posted is complete: its partition may have rested for just that. */
static void posted_complete(pse_mailbox *mailbox, const pse_messaging_posted *item)
{
    pse_messaging_posted **link = &mailbox->posted[(uint64_t)item->ticket % PSE_LANES];
    while (*link != item)
        link = &(*link)->next;
    *link = item->next;
    const bool watched = item->watched;
    mailbox->outstanding--;
    if (watched)
        mailbox->watched--;
    if (mailbox->resting && (mailbox->chosen ? watched : true) && --mailbox->awaited == 0) {
        mailbox->resting = false;
        mailbox->messaging->resting--;
    }
}

void pse_messaging_part_complete(pse_messaging_schedule *plan)
{
    pse_messaging *messaging = plan->mailbox->messaging;
    if (--plan->pending > 0 || plan->running || plan->ready)
        return;
    plan->ready = true;
    plan->next_ready = NULL;
    *messaging->ready_end = plan;
    messaging->ready_end = &plan->next_ready;
}

void pse_messaging_request_complete(pse_messaging_request *item)
{
    pse_mailbox *mailbox = item->mailbox;
    pse_messaging_schedule *plan = item->part_of;
    if (plan == NULL)
        posted_complete(mailbox, &item->posted);
    pse_messaging_request_free(mailbox->messaging, item);
    if (plan != NULL)
        pse_messaging_part_complete(plan);
}

void pse_messaging_schedule_complete(pse_messaging_schedule *plan)
{
    pse_mailbox *mailbox = plan->mailbox;
    pse_messaging_schedule **link = &mailbox->schedules;
    while (*link != plan)
        link = &(*link)->next;
    *link = plan->next;
    posted_complete(mailbox, &plan->posted);
    pse_messaging_schedule_free(plan);
}

void pse_messaging_await_receiver(pse_messaging_request *item)
{
    pse_messaging_send_lane *lane = &item->mailbox->sends[item->peer % PSE_LANES];
    item->awaits_receiver = true;
    item->next = NULL;
    item->previous = lane->last;
    if (lane->last != NULL)
        lane->last->next = item;
    else
        lane->first = item;
    lane->last = item;
}

void pse_messaging_send_complete(pse_messaging_request *item)
{
    pse_messaging_send_lane *lane = &item->mailbox->sends[item->peer % PSE_LANES];
    if (item->awaits_receiver) {
        *(item->previous != NULL ? &item->previous->next : &lane->first) = item->next;
        *(item->next != NULL ? &item->next->previous : &lane->last) = item->previous;
    }
    pse_messaging_request_complete(item);
}
