/* Schedules: a collective as rounds of sends and receives, with local work between them.
 *
 * The steps of a round start together; the next round starts when all of them are complete (Hoefler,
 * Lumsdaine and Rehm, "Implementation and performance analysis of non-blocking collective operations for
 * MPI", SC 2007).  One partition's schedule may set off another's on the same rank: they take turns in a
 * queue, so the depth of the stack is bounded.
 */
#include "notes.h"

schedule *schedule_new(pse_box *box, const coven_collective *what, uint64_t scratch)
{
    schedule *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return NULL;
    plan->box = box;
    plan->what = *what;
    plan->item = type_bytes(what->type);
    plan->scratch = scratch > 0 ? malloc(scratch) : NULL;
    if (plan->scratch != NULL || scratch == 0)
        return plan;
    free(plan);
    return NULL;
}

void schedule_free(schedule *plan)
{
    free(plan->program);
    free(plan->scratch);
    free(plan);
}

static step *new_step(schedule *plan)
{
    if (plan->steps == plan->room) {
        uint32_t room = plan->room ? 2 * plan->room : 16;
        step *wider = realloc(plan->program, room * sizeof *wider);
        if (wider == NULL)
            return NULL;
        plan->program = wider;
        plan->room = room;
    }
    return &plan->program[plan->steps++];
}

bool schedule_add(schedule *plan, uint8_t kind, uint32_t peer, const void *from, void *into, uint64_t count)
{
    step *next = new_step(plan);
    if (next != NULL)
        *next = (step){.kind = kind, .peer = peer, .count = count, .from = from, .into = into};
    return next != NULL;
}

bool schedule_combine(schedule *plan, const void *left, const void *right, void *into, uint64_t count)
{
    step *next = new_step(plan);
    if (next != NULL)
        *next = (step){.kind = STEP_COMBINE, .count = count, .from = left, .with = right, .into = into};
    return next != NULL;
}

bool schedule_round(schedule *plan)
{
    return schedule_add(plan, STEP_ROUND, 0, NULL, NULL, 0);
}

static request *part(schedule *plan, const step *at)
{
    request *item = request_new(plan->box);
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

static bool communicate(schedule *plan, const step *at)
{
    request *item = part(plan, at);
    if (item == NULL)
        return false;
    plan->pending++;
    if (at->kind == STEP_SEND) {
        item->array.data = (void *)(uintptr_t)at->from;
        return post_send(plan->box, item);
    }
    item->array.data = at->into;
    post_receive(plan->box, item);
    return true;
}

static bool run_step(schedule *plan, const step *at)
{
    switch (at->kind) {
    case STEP_COMBINE:
        operate(plan, at->from, at->with, at->into, at->count);
        return true;
    case STEP_COPY:
        if (at->count > 0 && at->into != at->from)
            memcpy(at->into, at->from, at->count * plan->item);
        return true;
    case STEP_ROUND:
        return true;
    default:
        return communicate(plan, at);
    }
}

/* Run steps up to the end of a round that is not complete; true if that was the last. */
static bool advance(schedule *plan)
{
    plan->running = true;
    while (plan->at < plan->steps) {
        const step *at = &plan->program[plan->at];
        if (at->kind == STEP_ROUND && plan->pending > 0)
            break;
        plan->at++;
        if (!run_step(plan, at))
            fault_begin(plan->box->mail, plan->box, PSE_MAIL_MEMORY);
    }
    plan->running = false;
    return plan->at == plan->steps && plan->pending == 0;
}

void schedule_part_complete(schedule *plan)
{
    pse_mail *mail = plan->box->mail;
    if (--plan->pending > 0 || plan->running || plan->ready)
        return;
    plan->ready = true;
    plan->next_ready = NULL;
    *mail->ready_end = plan;
    mail->ready_end = &plan->next_ready;
}

void schedules_turn(pse_mail *mail)
{
    if (mail->turning)
        return;
    mail->turning = true;
    while (mail->ready != NULL) {
        schedule *plan = mail->ready;
        mail->ready = plan->next_ready;
        if (mail->ready == NULL)
            mail->ready_end = &mail->ready;
        plan->ready = false;
        if (!advance(plan))
            continue;
        note_ended(plan);
        schedule_complete(plan);
    }
    mail->turning = false;
}

/* The schedule belongs to its box from now on. */
int64_t schedule_start(schedule *plan, uint32_t site)
{
    pse_box *box = plan->box;
    int64_t ticket = ++box->mail->tickets;
    plan->site = site;
    plan->ticket = ticket;
    plan->key = (uint64_t)box->region.scope << 32 | KEY_COLLECTIVE | (++box->collectives & KEY_NUMBER);
    plan->next = box->schedules;
    box->schedules = plan;
    box->outstanding++;
    note_begun(plan);
    plan->pending++; /* It begins like a round that has just become complete. */
    schedule_part_complete(plan);
    schedules_turn(box->mail);
    return ticket;
}
