/* Where messages may go: for every edge, the slots in which its message can be expected.
 *
 * These are the targets of its EXPECT instructions, and whatever slots a SWAP can rename those into.  They
 * are found once, so that a message need not look at every slot of a plan with many partitions.
 */
#include <stdlib.h>

#include "state.h"

static int32_t find_group(int32_t *group, int32_t slot)
{
    while (group[slot] != slot)
        slot = group[slot] = group[group[slot]];
    return slot;
}

/* Slots that swaps connect belong together; `next` chains each group's members from its first. */
static void group_slots(const pse_plan *plan, int32_t *group, int32_t *next)
{
    for (uint32_t slot = 0; slot < plan->slots; slot++)
        group[slot] = (int32_t)slot;
    for (uint32_t i = 0; i < plan->instructions_count; i++) {
        const pse_instruction *at = &plan->instructions[i];
        if (at->operation == PSE_OP_SWAP)
            group[find_group(group, at->a)] = find_group(group, at->b);
    }
    for (uint32_t slot = 0; slot < plan->slots; slot++)
        next[slot] = -1;
    for (uint32_t slot = 0; slot < plan->slots; slot++) {
        int32_t first = find_group(group, (int32_t)slot);
        if (first != (int32_t)slot) {
            next[slot] = next[first];
            next[first] = (int32_t)slot;
        }
    }
}

static bool has_route(const pse_sequencer *s, uint32_t edge, uint32_t count, int32_t slot)
{
    for (uint32_t i = 0; i < count; i++)
        if (s->routes[s->route_first[edge] + i] == slot)
            return true;
    return false;
}

/* Enter the slots of a group for an edge. */
static void add_group(pse_sequencer *s, const int32_t *next, uint32_t edge, int32_t first, uint32_t *filled)
{
    for (int32_t slot = first; slot >= 0; slot = next[slot])
        if (!has_route(s, edge, filled[edge], slot))
            s->routes[s->route_first[edge] + filled[edge]++] = slot;
}

static uint32_t group_size(const int32_t *next, int32_t first)
{
    uint32_t size = 0;
    for (int32_t slot = first; slot >= 0; slot = next[slot])
        size++;
    return size;
}

/* Two passes over the code: room for every edge, then the slots. */
static bool fill_routes(pse_sequencer *s, int32_t *group, const int32_t *next)
{
    const pse_plan *plan = s->plan;
    uint32_t *filled = calloc(plan->edges + 1, sizeof *filled), total = 0;
    if (filled == NULL)
        return false;
    for (uint32_t i = 0; i < plan->instructions_count; i++)
        if (plan->instructions[i].operation == PSE_OP_EXPECT)
            filled[plan->instructions[i].b] += group_size(next, find_group(group, plan->instructions[i].a));
    for (uint32_t edge = 0; edge < plan->edges; edge++) {
        s->route_first[edge] = total;
        total += filled[edge];
        filled[edge] = 0;
    }
    s->routes = calloc(total + 1, sizeof *s->routes);
    for (uint32_t i = 0; s->routes != NULL && i < plan->instructions_count; i++)
        if (plan->instructions[i].operation == PSE_OP_EXPECT)
            add_group(s, next, (uint32_t)plan->instructions[i].b, find_group(group, plan->instructions[i].a),
                      filled);
    memcpy(s->route_count, filled, plan->edges * sizeof *filled);
    free(filled);
    return s->routes != NULL;
}

bool routes_create(pse_sequencer *s)
{
    int32_t *group = calloc(s->plan->slots + 1, sizeof *group);
    int32_t *next = calloc(s->plan->slots + 1, sizeof *next);
    s->route_first = calloc(s->plan->edges + 1, sizeof *s->route_first);
    s->route_count = calloc(s->plan->edges + 1, sizeof *s->route_count);
    bool fine = group != NULL && next != NULL && s->route_first != NULL && s->route_count != NULL;
    if (fine) {
        group_slots(s->plan, group, next);
        fine = fill_routes(s, group, next);
    }
    free(group);
    free(next);
    return fine;
}

void routes_destroy(pse_sequencer *s)
{
    free(s->routes);
    free(s->route_first);
    free(s->route_count);
}
