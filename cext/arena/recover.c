/* The lock, and what follows when a rank died while it held it: the free lists are made again from the
 * blocks.
 *
 * The same walk merges free neighbours, which otherwise stay apart (allocate.c says why).
 */
#include "internal.h"

#include <errno.h>

/* Can the walk go on from this block?  Not if somebody wrote beyond an array and hit the header. */
bool pse_arena_is_whole(const pse_block *block, uint64_t room)
{
    uint64_t size = block->internal[PSE_SIZE];
    return (block->magic == PSE_LIVE || block->magic == PSE_FREE) && size >= PSE_HEADER && size <= room &&
           size % PSE_LINE == 0;
}

/* Add the free blocks that follow a free one to it, each by one store. */
static void absorb(pse_arena_control *control, pse_block *block, uint64_t top)
{
    uint64_t begin = pse_arena_handle_of(control, block);
    for (;;) {
        uint64_t size = block->internal[PSE_SIZE], end = begin + size;
        pse_block *next = pse_arena_block_at(control, end);
        if (end >= top || next->magic != PSE_FREE || !pse_arena_is_whole(next, top - end))
            return;
        pse_arena_publish(&block->internal[PSE_SIZE], size + next->internal[PSE_SIZE]);
    }
}

static void count_live(pse_arena_control *control, const pse_block *block)
{
    control->live_blocks++;
    control->in_use += block->internal[PSE_SIZE];
}

/* Put one zone's free blocks into the lists; false if a header was overwritten, and the walk ends there. */
static bool rebuild_zone(pse_arena_control *control, pse_arena_zone *zone, bool merge)
{
    for (uint64_t at = zone->begin; at < zone->top; control->blocks++) {
        pse_block *block = pse_arena_block_at(control, at);
        if (!pse_arena_is_whole(block, zone->top - at))
            return false;
        if (block->magic == PSE_FREE && merge)
            absorb(control, block, zone->top);
        uint64_t end = at + block->internal[PSE_SIZE];
        if (block->magic == PSE_LIVE) {
            count_live(control, block);
        } else if (merge && end == zone->top) {
            pse_arena_publish(&zone->top, at);
            return true;
        } else {
            pse_arena_bin_insert(control, block);
        }
        at = end;
    }
    return true;
}

/* Make lists and counts again from the blocks themselves; false if they don't make a row. */
bool pse_arena_rebuild(pse_arena_control *control, bool merge_small, bool merge_large)
{
    pse_arena_bin_clear(control);
    control->blocks = control->live_blocks = control->in_use = 0;
    control->frees_at_merge = control->frees;
    bool small = rebuild_zone(control, &control->zones[PSE_ZONE_SMALL], merge_small);
    bool large = rebuild_zone(control, &control->zones[PSE_ZONE_LARGE], merge_large);
    pse_arena_note_peak(control);
    return small && large;
}

/* A holder that died leaves its mark until the lists are whole again, so a second death in here does no harm.
 */
void pse_arena_lock(pse_arena_control *control)
{
    if (pthread_mutex_lock(&control->lock) != EOWNERDEAD)
        return;
    pse_arena_rebuild(control, false, false);
    pse_arena_parent_repair(control);
    control->recoveries++;
    pthread_mutex_consistent(&control->lock);
}

void pse_arena_unlock(pse_arena_control *control)
{
    pthread_mutex_unlock(&control->lock);
}
