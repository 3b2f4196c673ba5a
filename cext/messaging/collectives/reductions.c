/* Barrier, broadcast and reductions as schedules.
 *
 * What is combined is always a run of neighbouring partitions, left operand first, and how the runs are
 * split depends on the number of partitions alone: so results have the same bits wherever partitions live
 * and in whatever order messages come, and operations need not be commutative.
 */
#include "collectives/reductions.h"

/* Above this, everybody's combining everything costs more than a second way through the tree. */
#define LARGE_BYTES 32768u

static uint32_t me(const pse_messaging_schedule *plan)
{
    return plan->mailbox->partition;
}

static uint32_t all(const pse_messaging_schedule *plan)
{
    return plan->mailbox->region.partitions;
}

static void *scratch_at(const pse_messaging_schedule *plan, uint64_t items)
{
    return plan->scratch + items * plan->item;
}

/* Dissemination (Hensgen, Finkel and Manber 1988): in round k everybody hears of 2^k more. */
bool pse_messaging_program_barrier(pse_messaging_schedule *plan)
{
    uint64_t count = all(plan);
    bool fine = true;
    for (uint64_t far = 1; far < count; far *= 2) {
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_SEND, (uint32_t)((me(plan) + far) % count), NULL,
                                           NULL, 0);
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE,
                                           (uint32_t)((me(plan) + count - far) % count), NULL, NULL, 0);
        fine &= pse_messaging_schedule_round(plan);
    }
    return fine;
}

static bool bcast_from(pse_messaging_schedule *plan, uint32_t root, void *data)
{
    uint64_t count = all(plan), mine = (me(plan) + count - root) % count, mask = 1;
    bool fine = true;
    for (; mask < count && !(mine & mask); mask *= 2)
        continue;
    if (mine != 0) {
        uint32_t parent = (uint32_t)((mine - mask + root) % count);
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, parent, NULL, data, plan->what.count) &&
                pse_messaging_schedule_round(plan);
    }
    for (mask /= 2; mask > 0; mask /= 2)
        if (mine + mask < count)
            fine &= pse_messaging_schedule_add(plan, PSE_STEP_SEND, (uint32_t)((mine + mask + root) % count),
                                               data, NULL, plan->what.count);
    return fine && pse_messaging_schedule_round(plan);
}

bool pse_messaging_program_bcast(pse_messaging_schedule *plan)
{
    return bcast_from(plan, (uint32_t)plan->what.root, plan->what.result);
}

/* Combine towards partition 0; `*sum` is where it (or this partition's share of it) is afterwards. */
static bool combine_up(pse_messaging_schedule *plan, void *home, const void **sum)
{
    uint64_t n = plan->what.count, count = all(plan);
    void *arrived = scratch_at(plan, n);
    bool fine = true;
    *sum = plan->what.data;
    for (uint64_t mask = 1; mask < count; mask *= 2) {
        if (me(plan) & mask)
            return fine &&
                   pse_messaging_schedule_add(plan, PSE_STEP_SEND, (uint32_t)(me(plan) - mask), *sum, NULL,
                                              n) &&
                   pse_messaging_schedule_round(plan);
        if (me(plan) + mask >= count)
            continue;
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, (uint32_t)(me(plan) + mask), NULL, arrived,
                                           n) &&
                pse_messaging_schedule_round(plan) &&
                pse_messaging_schedule_combine(plan, *sum, arrived, home, n);
        *sum = home;
    }
    return fine;
}

/* The order must not depend on the root: partition 0 combines last and passes it on. */
bool pse_messaging_program_reduce(pse_messaging_schedule *plan)
{
    uint64_t n = plan->what.count;
    uint32_t root = (uint32_t)plan->what.root;
    bool here = me(plan) == 0 && root == 0;
    const void *sum;
    bool fine = combine_up(plan, here ? plan->what.result : (void *)plan->scratch, &sum);
    if (here)
        return fine && pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, sum, plan->what.result, n);
    if (me(plan) == 0)
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_SEND, root, sum, NULL, n);
    if (me(plan) == root)
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, 0, NULL, plan->what.result, n);
    return fine && pse_messaging_schedule_round(plan);
}

/* Pairs at distance 1, 2, 4, ... exchange what they have; both combine it in the same order.  `active`
 * numbers the partitions that take part; the first `folded` of them stand for two partitions each. */
static bool exchange_doubling(pse_messaging_schedule *plan, uint64_t active, uint64_t participants,
                              uint64_t folded)
{
    uint64_t n = plan->what.count;
    void *result = plan->what.result;
    bool fine = true;
    for (uint64_t mask = 1; mask < participants; mask *= 2) {
        uint64_t other = active ^ mask, peer = other < folded ? 2 * other : other + folded;
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, (uint32_t)peer, NULL, plan->scratch, n) &&
                pse_messaging_schedule_add(plan, PSE_STEP_SEND, (uint32_t)peer, result, NULL, n) &&
                pse_messaging_schedule_round(plan);
        fine &= other < active ? pse_messaging_schedule_combine(plan, plan->scratch, result, result, n)
                               : pse_messaging_schedule_combine(plan, result, plan->scratch, result, n);
    }
    return fine;
}

static bool allreduce_large(pse_messaging_schedule *plan)
{
    const void *sum;
    bool first = me(plan) == 0;
    return combine_up(plan, first ? plan->what.result : (void *)plan->scratch, &sum) &&
           (!first ||
            pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, sum, plan->what.result, plan->what.count)) &&
           bcast_from(plan, 0, plan->what.result);
}

bool pse_messaging_program_allreduce(pse_messaging_schedule *plan)
{
    uint64_t n = plan->what.count, count = all(plan), participants = 1;
    void *result = plan->what.result;
    if (n * plan->item > LARGE_BYTES)
        return allreduce_large(plan);
    while (2 * participants <= count)
        participants *= 2;
    uint64_t folded = count - participants;
    bool in_pair = me(plan) < 2 * folded;
    if (in_pair && me(plan) % 2 == 1)
        return pse_messaging_schedule_add(plan, PSE_STEP_SEND, me(plan) - 1, plan->what.data, NULL, n) &&
               pse_messaging_schedule_round(plan) &&
               pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, me(plan) - 1, NULL, result, n) &&
               pse_messaging_schedule_round(plan);
    bool fine = pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, plan->what.data, result, n);
    if (in_pair)
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, me(plan) + 1, NULL, plan->scratch, n) &&
                pse_messaging_schedule_round(plan) &&
                pse_messaging_schedule_combine(plan, result, plan->scratch, result, n);
    uint64_t active = in_pair ? me(plan) / 2 : me(plan) - folded;
    fine &= exchange_doubling(plan, active, participants, folded);
    if (in_pair)
        fine &= pse_messaging_schedule_add(plan, PSE_STEP_SEND, me(plan) + 1, result, NULL, n) &&
                pse_messaging_schedule_round(plan);
    return fine;
}

/* Inclusive; after round k everybody has the last 2^k up to its own (Hillis and Steele 1986). */
bool pse_messaging_program_scan(pse_messaging_schedule *plan)
{
    uint64_t n = plan->what.count, count = all(plan);
    void *result = plan->what.result;
    bool fine = pse_messaging_schedule_add(plan, PSE_STEP_COPY, 0, plan->what.data, result, n);
    for (uint64_t far = 1; far < count; far *= 2) {
        bool hears = me(plan) >= far;
        if (me(plan) + far < count)
            fine &=
                pse_messaging_schedule_add(plan, PSE_STEP_SEND, (uint32_t)(me(plan) + far), result, NULL, n);
        if (hears)
            fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, (uint32_t)(me(plan) - far), NULL,
                                               plan->scratch, n);
        fine &= pse_messaging_schedule_round(plan);
        if (hears)
            fine &= pse_messaging_schedule_combine(plan, plan->scratch, result, result, n);
    }
    return fine;
}
