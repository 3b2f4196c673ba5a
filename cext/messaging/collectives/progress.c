/* Schedules under way.
 *
 * The steps of a round start together; the next round starts when all of them are complete (Hoefler,
 * Lumsdaine and Rehm, "Implementation and performance analysis of non-blocking collective operations for
 * MPI", SC 2007).  One partition's schedule may set off another's on the same rank: they take turns in a
 * queue, so the depth of the stack is bounded.
 */
#include "collectives/progress.h"

#include <string.h>

#include "collectives/operators.h"
#include "collectives/rows.h"
#include "completion.h"
#include "mailbox.h"
#include "matching.h"
#include "sending.h"
#include "trace_hooks.h"

static pse_messaging_request *part(pse_messaging_schedule *plan, const pse_messaging_step *at)
{
    pse_messaging_request *item = pse_messaging_request_new(plan->mailbox);
    if (item == NULL)
        return NULL;
    item->part_of = plan;
    item->key = plan->key;
    item->peer = at->peer;
    item->site = plan->site;
    item->collective = (uint8_t)plan->what.kind;
    item->extra = (uint32_t)plan->what.root | plan->what.op << 24;
    item->array.bytes = at->count * plan->item;
    item->array.type = (uint8_t)plan->what.type;
    return item;
}

static bool communicate(pse_messaging_schedule *plan, const pse_messaging_step *at)
{
    pse_messaging_request *item = part(plan, at);
    if (item == NULL)
        return false;
    plan->pending++;
    if (at->kind == PSE_STEP_SEND) {
        item->array.data = (void *)(uintptr_t)at->from;
        return pse_messaging_post_send(plan->mailbox, item);
    }
    item->array.data = at->into;
    pse_messaging_post_receive(plan->mailbox, item);
    return true;
}

/* Write the rows where they are wanted, or send them; that they are there is a message, too. */
static bool show(pse_messaging_schedule *plan, const pse_messaging_step *at)
{
    uint64_t bytes;
    if (!pse_messaging_show_rows(plan, at, &bytes))
        return true; /* What is wrong is noted. */
    const pse_messaging_step sent = {
        .kind = PSE_STEP_SEND, .peer = at->peer, .count = bytes, .from = at->into};
    return communicate(plan, &sent);
}

static bool run_step(pse_messaging_schedule *plan, const pse_messaging_step *at)
{
    switch (at->kind) {
    case PSE_STEP_COMBINE:
        pse_messaging_combine(&plan->what, at->from, at->with, at->into, at->count);
        return true;
    case PSE_STEP_COPY:
        if (at->count > 0 && at->into != at->from)
            memcpy(at->into, at->from, at->count * plan->item);
        return true;
    case PSE_STEP_ROUND:
        return true;
    case PSE_STEP_SHOW:
        return show(plan, at);
    default:
        return communicate(plan, at);
    }
}

/* Run steps up to the end of a round that is not complete; true if that was the last. */
static bool advance(pse_messaging_schedule *plan)
{
    plan->running = true;
    while (plan->at < plan->steps) {
        const pse_messaging_step *at = &plan->program[plan->at];
        if (at->kind == PSE_STEP_ROUND && plan->pending > 0)
            break;
        plan->at++;
        if (!run_step(plan, at))
            pse_messaging_begin_fault(plan->mailbox->messaging, plan->mailbox, PSE_MESSAGING_MEMORY);
    }
    plan->running = false;
    return plan->at == plan->steps && plan->pending == 0;
}

void pse_messaging_advance_schedules(pse_messaging *messaging)
{
    if (messaging->advancing)
        return;
    messaging->advancing = true;
    while (messaging->ready != NULL) {
        pse_messaging_schedule *plan = messaging->ready;
        messaging->ready = plan->next_ready;
        if (messaging->ready == NULL)
            messaging->ready_end = &messaging->ready;
        plan->ready = false;
        if (!advance(plan))
            continue;
        pse_messaging_trace_ended(plan);
        pse_messaging_schedule_complete(plan);
    }
    messaging->advancing = false;
}

int64_t pse_messaging_schedule_start(pse_messaging_schedule *plan, uint32_t site)
{
    pse_mailbox *mailbox = plan->mailbox;
    int64_t ticket = pse_messaging_post(mailbox, &plan->posted);
    plan->site = site;
    plan->key = (uint64_t)mailbox->region.scope << 32 | PSE_KEY_COLLECTIVE |
                (++mailbox->collectives & PSE_KEY_NUMBER);
    plan->next = mailbox->schedules;
    mailbox->schedules = plan;
    pse_messaging_trace_begun(plan);
    plan->pending++; /* It begins like a round that has just become complete. */
    pse_messaging_part_complete(plan);
    pse_messaging_advance_schedules(mailbox->messaging);
    return ticket;
}
