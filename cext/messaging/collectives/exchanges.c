/* Gather, scatter and their kin as schedules.  Small pieces travel along trees, bundled; large ones straight.
 */
#include "collectives/exchanges.h"

#define BUNDLED_BYTES 4096u

static uint64_t number(const pse_messaging_schedule *plan)
{
    return plan->mailbox->region.partitions;
}

static uint64_t me(const pse_messaging_schedule *plan)
{
    return plan->mailbox->partition;
}

/* The address of an element. */
static void *at(const pse_messaging_schedule *plan, const void *first, uint64_t elements)
{
    return (char *)(uintptr_t)first + elements * plan->item;
}

static bool bundled(const pse_messaging_schedule *plan)
{
    return plan->what.count * plan->item * number(plan) <= BUNDLED_BYTES;
}

/* How far this partition is from the root; partitions in this order are neighbours in the tree. */
static uint64_t distance(const pse_messaging_schedule *plan)
{
    return (me(plan) + number(plan) - (uint64_t)plan->what.root) % number(plan);
}

static uint32_t at_distance(const pse_messaging_schedule *plan, uint64_t far)
{
    return (uint32_t)((far + (uint64_t)plan->what.root) % number(plan));
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Copy pieces that begin with partition `first`'s into the order of partitions, or back. */
static bool turn(pse_messaging_schedule *plan, const void *from, void *into, uint64_t first, bool back)
{
    uint64_t n = plan->what.count, head = number(plan) - first;
    uint64_t left = back ? first : 0, right = back ? 0 : first;
    return pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, at(plan, from, left * n),
                                      at(plan, into, right * n), head * n) &&
           pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, at(plan, from, (back ? 0 : head) * n),
                                      at(plan, into, (back ? head : 0) * n), first * n);
}

static bool gather_bundled(pse_messaging_schedule *plan)
{
    uint64_t n = plan->what.count, count = number(plan), mine = distance(plan), mask = 1;
    bool fine = pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, plan->what.data, plan->scratch, n);
    for (; mask < count && !(mine & mask); mask *= 2)
        if (mine + mask < count)
            fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, at_distance(plan, mine + mask), NULL,
                                               at(plan, plan->scratch, mask * n),
                                               least(mask, count - mine - mask) * n);
    fine &= pse_messaging_schedule_round(plan);
    if (mine == 0)
        return fine && turn(plan, plan->scratch, plan->what.result, (uint64_t)plan->what.root, false);
    return fine &&
           pse_messaging_schedule_add(plan, PSE_STEP_SEND, at_distance(plan, mine - mask), plan->scratch,
                                      NULL, least(mask, count - mine) * n) &&
           pse_messaging_schedule_round(plan);
}

bool pse_messaging_program_gather(pse_messaging_schedule *plan)
{
    uint64_t n = plan->what.count;
    uint32_t root = (uint32_t)plan->what.root;
    if (bundled(plan))
        return gather_bundled(plan);
    if (me(plan) != root)
        return pse_messaging_schedule_add(plan, PSE_STEP_SEND, root, plan->what.data, NULL, n) &&
               pse_messaging_schedule_round(plan);
    bool fine = pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, plan->what.data,
                                           at(plan, plan->what.result, root * n), n);
    for (uint32_t from = 0; from < number(plan); from++)
        if (from != root)
            fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, from, NULL,
                                               at(plan, plan->what.result, from * n), n);
    return fine && pse_messaging_schedule_round(plan);
}

/* In round k everybody gets what the partition 2^k further on has got so far (Bruck et al. 1997). */
bool pse_messaging_program_allgather(pse_messaging_schedule *plan)
{
    uint64_t n = plan->what.count, count = number(plan);
    bool fine = pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, plan->what.data, plan->scratch, n);
    for (uint64_t far = 1; far < count; far *= 2) {
        uint64_t pieces = least(far, count - far);
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, (uint32_t)((me(plan) + far) % count), NULL,
                                           at(plan, plan->scratch, far * n), pieces * n);
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_SEND, (uint32_t)((me(plan) + count - far) % count),
                                           plan->scratch, NULL, pieces * n);
        fine &= pse_messaging_schedule_round(plan);
    }
    return fine && turn(plan, plan->scratch, plan->what.result, me(plan), false);
}

static bool scatter_bundled(pse_messaging_schedule *plan)
{
    uint64_t n = plan->what.count, count = number(plan), mine = distance(plan), mask = 1;
    bool fine = true;
    for (; mask < count && !(mine & mask); mask *= 2)
        continue;
    if (mine == 0)
        fine &= turn(plan, plan->what.data, plan->scratch, (uint64_t)plan->what.root, true);
    else
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, at_distance(plan, mine - mask), NULL,
                                           plan->scratch, least(mask, count - mine) * n) &&
                pse_messaging_schedule_round(plan);
    for (mask /= 2; mask > 0; mask /= 2)
        if (mine + mask < count)
            fine &= pse_messaging_schedule_add(plan, PSE_STEP_SEND, at_distance(plan, mine + mask),
                                               at(plan, plan->scratch, mask * n), NULL,
                                               least(mask, count - mine - mask) * n);
    return fine && pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, plan->scratch, plan->what.result, n) &&
           pse_messaging_schedule_round(plan);
}

bool pse_messaging_program_scatter(pse_messaging_schedule *plan)
{
    uint64_t n = plan->what.count;
    uint32_t root = (uint32_t)plan->what.root;
    if (bundled(plan))
        return scatter_bundled(plan);
    if (me(plan) != root)
        return pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, root, NULL, plan->what.result, n) &&
               pse_messaging_schedule_round(plan);
    bool fine = pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, at(plan, plan->what.data, root * n),
                                           plan->what.result, n);
    for (uint32_t to = 0; to < number(plan); to++)
        if (to != root)
            fine &= pse_messaging_schedule_add(plan, PSE_STEP_SEND, to, at(plan, plan->what.data, to * n),
                                               NULL, n);
    return fine && pse_messaging_schedule_round(plan);
}

bool pse_messaging_program_alltoall(pse_messaging_schedule *plan)
{
    uint64_t n = plan->what.count, count = number(plan), own = me(plan);
    const void *data = plan->what.data;
    void *result = plan->what.result;
    bool fine = pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, at(plan, data, own * n),
                                           at(plan, result, own * n), n);
    for (uint64_t far = 1; far < count; far++) {
        uint64_t from = (own + count - far) % count, to = (own + far) % count;
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, (uint32_t)from, NULL,
                                           at(plan, result, from * n), n);
        fine &=
            pse_messaging_schedule_add(plan, PSE_STEP_SEND, (uint32_t)to, at(plan, data, to * n), NULL, n);
    }
    return fine && pse_messaging_schedule_round(plan);
}

/* Also to oneself: the two counts must agree there as well. */
bool pse_messaging_program_alltoallv(pse_messaging_schedule *plan)
{
    const coven_collective *what = &plan->what;
    uint64_t count = number(plan), own = me(plan);
    bool fine = true;
    for (uint64_t far = 0; far < count; far++) {
        uint64_t from = (own + count - far) % count, to = (own + far) % count;
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, (uint32_t)from, NULL,
                                           at(plan, what->result, what->received_offsets[from]),
                                           what->received_counts[from]);
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_SEND, (uint32_t)to,
                                           at(plan, what->data, what->offsets[to]), NULL, what->counts[to]);
    }
    return fine && pse_messaging_schedule_round(plan);
}
