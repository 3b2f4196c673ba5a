#include "state/edge_slots.h"

#include <stdlib.h>
#include <string.h>

#include "state/engine_state.h"

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

static bool has_route(const pse_engine *s, uint32_t edge, uint32_t count, int32_t slot)
{
    for (uint32_t i = 0; i < count; i++)
        if (s->edge_slots.slots[s->edge_slots.first[edge] + i] == slot)
            return true;
    return false;
}

/* Enter the slots of a group for an edge. */
static void add_group(pse_engine *s, const int32_t *next, uint32_t edge, int32_t first, uint32_t *filled)
{
    for (int32_t slot = first; slot >= 0; slot = next[slot])
        if (!has_route(s, edge, filled[edge], slot))
            s->edge_slots.slots[s->edge_slots.first[edge] + filled[edge]++] = slot;
}

static uint32_t group_size(const int32_t *next, int32_t first)
{
    uint32_t size = 0;
    for (int32_t slot = first; slot >= 0; slot = next[slot])
        size++;
    return size;
}

/* Two passes over the code: room for every edge, then the slots. */
static bool fill_routes(pse_engine *s, int32_t *group, const int32_t *next)
{
    const pse_plan *plan = s->plan;
    uint32_t *filled = calloc(plan->edges + 1, sizeof *filled), total = 0;
    if (filled == NULL)
        return false;
    for (uint32_t i = 0; i < plan->instructions_count; i++)
        if (plan->instructions[i].operation == PSE_OP_EXPECT)
            filled[plan->instructions[i].b] += group_size(next, find_group(group, plan->instructions[i].a));
    for (uint32_t edge = 0; edge < plan->edges; edge++) {
        s->edge_slots.first[edge] = total;
        total += filled[edge];
        filled[edge] = 0;
    }
    s->edge_slots.slots = calloc(total + 1, sizeof *s->edge_slots.slots);
    for (uint32_t i = 0; s->edge_slots.slots != NULL && i < plan->instructions_count; i++)
        if (plan->instructions[i].operation == PSE_OP_EXPECT)
            add_group(s, next, (uint32_t)plan->instructions[i].b, find_group(group, plan->instructions[i].a),
                      filled);
    memcpy(s->edge_slots.count, filled, plan->edges * sizeof *filled);
    free(filled);
    return s->edge_slots.slots != NULL;
}

bool pse_engine_edge_slots_create(pse_engine *s)
{
    int32_t *group = calloc(s->plan->slots + 1, sizeof *group);
    int32_t *next = calloc(s->plan->slots + 1, sizeof *next);
    s->edge_slots.first = calloc(s->plan->edges + 1, sizeof *s->edge_slots.first);
    s->edge_slots.count = calloc(s->plan->edges + 1, sizeof *s->edge_slots.count);
    bool fine = group != NULL && next != NULL && s->edge_slots.first != NULL && s->edge_slots.count != NULL;
    if (fine) {
        group_slots(s->plan, group, next);
        fine = fill_routes(s, group, next);
    }
    free(group);
    free(next);
    return fine;
}

void pse_engine_edge_slots_destroy(pse_engine *s)
{
    free(s->edge_slots.slots);
    free(s->edge_slots.first);
    free(s->edge_slots.count);
}
