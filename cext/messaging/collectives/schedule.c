/* Making a schedule, step by step. */
#include "collectives/schedule.h"

#include <stdlib.h>

#include "collectives/operators.h"

pse_messaging_schedule *pse_messaging_schedule_new(pse_mailbox *mailbox, const coven_collective *what,
                                                   uint64_t scratch)
{
    pse_messaging_schedule *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return NULL;
    plan->mailbox = mailbox;
    plan->what = *what;
    plan->item = pse_messaging_type_bytes(what->type);
    plan->scratch = scratch > 0 ? malloc(scratch) : NULL;
    if (plan->scratch != NULL || scratch == 0)
        return plan;
    free(plan);
    return NULL;
}

void pse_messaging_schedule_free(pse_messaging_schedule *plan)
{
    free(plan->program);
    free(plan->scratch);
    free(plan);
}

static pse_messaging_step *new_step(pse_messaging_schedule *plan)
{
    if (plan->steps == plan->room) {
        uint32_t room = plan->room ? 2 * plan->room : 16;
        pse_messaging_step *wider = realloc(plan->program, room * sizeof *wider);
        if (wider == NULL)
            return NULL;
        plan->program = wider;
        plan->room = room;
    }
    return &plan->program[plan->steps++];
}

bool pse_messaging_schedule_add(pse_messaging_schedule *plan, uint8_t kind, uint32_t peer, const void *from,
                                void *into, uint64_t count)
{
    pse_messaging_step *next = new_step(plan);
    if (next != NULL)
        *next = (pse_messaging_step){.kind = kind, .peer = peer, .count = count, .from = from, .into = into};
    return next != NULL;
}

bool pse_messaging_schedule_combine(pse_messaging_schedule *plan, const void *left, const void *right,
                                    void *into, uint64_t count)
{
    pse_messaging_step *next = new_step(plan);
    if (next != NULL)
        *next = (pse_messaging_step){
            .kind = PSE_STEP_COMBINE, .count = count, .from = left, .with = right, .into = into};
    return next != NULL;
}

bool pse_messaging_schedule_show(pse_messaging_schedule *plan, uint32_t peer, const int64_t *entries,
                                 uint64_t rows, const void *place, void *packed)
{
    pse_messaging_step *next = new_step(plan);
    if (next != NULL)
        *next = (pse_messaging_step){.kind = PSE_STEP_SHOW,
                                     .peer = peer,
                                     .count = rows,
                                     .from = entries,
                                     .with = place,
                                     .into = packed};
    return next != NULL;
}

bool pse_messaging_schedule_round(pse_messaging_schedule *plan)
{
    return pse_messaging_schedule_add(plan, PSE_STEP_ROUND, 0, NULL, NULL, 0);
}
