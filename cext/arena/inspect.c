/* Looking at the arena: counts, live blocks, and whether everything is as it should be. */
#include "internal.h"

static uint64_t seen(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void pse_arena_glance(const pse_arena *arena, pse_arena_statistics *out)
{
    const pse_arena_control *control = arena->control;
    *out = (pse_arena_statistics){
        .capacity = seen(&control->capacity),
        .in_use = seen(&control->in_use),
        .peak = seen(&control->peak),
        .allocations = seen(&control->allocations),
        .recycled = seen(&control->recycled),
        .live_blocks = seen(&control->live_blocks),
        .recoveries = seen(&control->recoveries),
    };
    for (int i = 0; i < PSE_ZONE_COUNT; i++)
        out->grown += seen(&control->zones[i].high) - seen(&control->zones[i].begin);
}

void pse_arena_read_statistics(pse_arena *arena, pse_arena_statistics *out)
{
    pse_arena_lock(arena->control);
    pse_arena_glance(arena, out);
    pse_arena_unlock(arena->control);
}

/* Insert a block into a list that is sorted by size; the smallest falls off a full list. */
static size_t insert_sorted(const pse_arena_control *control, pse_handle *list, size_t count, size_t limit,
                            pse_handle new)
{
    uint64_t bytes = pse_arena_block_at(control, new)->bytes;
    size_t at = count < limit ? count : limit - 1;
    if (count == limit && pse_arena_block_at(control, list[at])->bytes >= bytes)
        return count;
    for (; at > 0 && pse_arena_block_at(control, list[at - 1])->bytes < bytes; at--)
        list[at] = list[at - 1];
    list[at] = new;
    return count < limit ? count + 1 : count;
}

static size_t list_zone(const pse_arena_control *control, const pse_arena_zone *zone, pse_handle *out,
                        size_t count, size_t limit)
{
    for (uint64_t at = zone->begin; at < zone->top;
         at += pse_arena_block_at(control, at)->internal[PSE_SIZE]) {
        const pse_block *block = pse_arena_block_at(control, at);
        if (!pse_arena_is_whole(block, zone->top - at))
            break;
        if (block->magic == PSE_LIVE)
            count = insert_sorted(control, out, count, limit, at);
    }
    return count;
}

size_t pse_arena_live(pse_arena *arena, pse_handle *out, size_t limit)
{
    pse_arena_control *control = arena->control;
    size_t count = 0;
    pse_arena_lock(control);
    for (int i = 0; limit && i < PSE_ZONE_COUNT; i++)
        count = list_zone(control, &control->zones[i], out, count, limit);
    pse_arena_unlock(control);
    return count;
}

/* What a walk over all blocks finds. */
typedef struct census {
    uint64_t blocks, live, in_use, idle;
} census;

static bool is_sound(const pse_arena *arena, const pse_block *block)
{
    if (block->magic == PSE_FREE)
        return true;
    if (!block->parent)
        return block->data == pse_arena_place_of_data(arena->control, block, block->bytes) &&
               block->bytes <= block->internal[PSE_SIZE] - PSE_HEADER;
    const pse_block *root = pse_arena_block(arena, block->parent);
    return root && !root->parent && block->data >= root->data &&
           block->data + block->bytes <= root->data + root->bytes;
}

static bool survey(const pse_arena *arena, const pse_arena_zone *zone, census *found)
{
    const pse_arena_control *control = arena->control;
    uint64_t at = zone->begin;
    if (zone->top > zone->high || (zone->top > zone->begin && zone->high > zone->committed))
        return false;
    while (at < zone->top) {
        const pse_block *block = pse_arena_block_at(control, at);
        if (!pse_arena_is_whole(block, zone->top - at) || !is_sound(arena, block))
            return false;
        bool live = block->magic == PSE_LIVE;
        found->blocks++;
        found->live += live;
        found->idle += !live;
        found->in_use += live ? block->internal[PSE_SIZE] : 0;
        at += block->internal[PSE_SIZE];
    }
    return true;
}

/* Number of blocks in a bin, or UINT64_MAX if one of them doesn't belong there. */
static uint64_t bin_length(const pse_arena_control *control, size_t bin, uint64_t most)
{
    uint64_t count = 0;
    pse_handle previous = 0;
    for (pse_handle handle = control->bins[bin]; handle; count++) {
        if (handle > control->file_bytes - PSE_HEADER)
            return UINT64_MAX;
        const pse_block *block = pse_arena_block_at(control, handle);
        if (count > most || block->magic != PSE_FREE || pse_arena_bin_of(block->internal[PSE_SIZE]) != bin ||
            block->internal[PSE_PREVIOUS] != previous)
            return UINT64_MAX;
        previous = handle;
        handle = block->internal[PSE_NEXT];
    }
    return count;
}

static bool bins_hold(const pse_arena_control *control, uint64_t idle)
{
    uint64_t sum = 0;
    for (size_t bin = 0; bin < PSE_BIN_COUNT; bin++) {
        bool marked = control->bin_map[bin / 64] >> bin % 64 & 1;
        uint64_t length = bin_length(control, bin, idle);
        if (length == UINT64_MAX || marked != (length > 0))
            return false;
        sum += length;
    }
    return sum == idle;
}

static bool keys_are_sound(const pse_arena_control *control)
{
    for (uint32_t i = 0; i < control->key_end; i++) {
        const pse_arena_shared_parent *entry = &control->keys[i];
        if (entry->key &&
            (pse_arena_block_at(control, entry->block)->magic != PSE_LIVE || entry->missing >= entry->parts))
            return false;
    }
    return true;
}

bool pse_arena_is_valid(pse_arena *arena)
{
    pse_arena_control *control = arena->control;
    census found = {0};
    pse_arena_lock(control);
    bool valid = survey(arena, &control->zones[0], &found) && survey(arena, &control->zones[1], &found) &&
                 found.blocks == control->blocks && found.live == control->live_blocks &&
                 found.in_use == control->in_use && found.in_use <= control->peak &&
                 bins_hold(control, found.idle) && keys_are_sound(control);
    pse_arena_unlock(control);
    return valid;
}
