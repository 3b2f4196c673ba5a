/* Where a block comes from, and where it goes.
 *
 * In this order: a free block that fits (warm); fresh memory at the zone's top; and only when there is none,
 * pieces of larger blocks and merged neighbours.  A program that asks for the same sizes again and again so
 * gets the same blocks again and again, whose pages every rank has mapped.  There is one exception: where
 * most of the memory lies idle, large requests break up free blocks before they take fresh memory, so that a
 * program whose sizes change doesn't end up with several times the memory that it uses.
 */
#include "internal.h"

#include <string.h>

static bool is_small(const pse_arena_request *request)
{
    return request->zone == PSE_ZONE_SMALL;
}

/* Bytes of free blocks. */
static uint64_t idle(const pse_arena_control *control)
{
    uint64_t bytes = 0;
    for (int i = 0; i < PSE_ZONE_COUNT; i++)
        bytes += control->zones[i].top - control->zones[i].begin;
    return bytes - control->in_use;
}

/* Give back to the lists what a block has beyond `size`.  The remainder becomes a block before the first one
 * ends where it begins, so the row is whole at every moment. */
static void split(pse_arena_control *control, pse_block *block, uint64_t size)
{
    uint64_t rest = block->internal[PSE_SIZE] - size;
    if (rest < PSE_HEADER + PSE_LINE)
        return;
    pse_block *tail = pse_arena_block_at(control, pse_arena_handle_of(control, block) + size);
    tail->magic = PSE_FREE;
    tail->internal[PSE_SIZE] = rest;
    pse_arena_publish(&block->internal[PSE_SIZE], size);
    control->blocks++;
    pse_arena_bin_insert(control, tail);
}

/* A free block that is at most an eighth too large; it is used whole. */
static pse_block *take_fitting(pse_arena_control *control, const pse_arena_request *request)
{
    uint64_t most = request->size + (is_small(request) ? 0 : request->size / 8);
    pse_block *block = pse_arena_bin_find(control, request->size, most);
    if (block)
        pse_arena_bin_remove(control, block);
    return block;
}

static pse_block *take_larger(pse_arena_control *control, const pse_arena_request *request)
{
    uint64_t size =
        pse_arena_round_up(request->size, PSE_PAGE); /* Data of large blocks stays on page boundaries. */
    pse_block *block = pse_arena_bin_find_larger(control, size);
    if (!block)
        return NULL;
    pse_arena_bin_remove(control, block);
    split(control, block, size);
    return block;
}

static pse_block *take_top(pse_arena_control *control, pse_arena_request *request, enum pse_zone_index index)
{
    pse_arena_zone *zone = &control->zones[index];
    uint64_t begin = zone->top, end = begin + request->size;
    if (end > zone->committed)
        return NULL;
    pse_block *block = pse_arena_block_at(control, begin);
    block->magic = PSE_FREE;
    block->internal[PSE_SIZE] = request->size;
    request->cold = end > zone->high;
    if (request->cold)
        pse_arena_publish(&zone->high, end);
    pse_arena_publish(&zone->top, end);
    control->blocks++;
    return block;
}

/* Break up free blocks although fresh memory might be had? */
static bool is_thrifty(const pse_arena_control *control, const pse_arena_request *request)
{
    return !is_small(request) && idle(control) >= control->in_use + request->size;
}

/* Merging walks over all blocks: it is paid for by as many frees. */
static bool may_merge(const pse_arena_control *control)
{
    return control->frees - control->frees_at_merge >= control->blocks;
}

static pse_block *take_thrifty(pse_arena_control *control, pse_arena_request *request)
{
    if (!is_thrifty(control, request))
        return NULL;
    pse_block *block = take_larger(control, request);
    if (block || !may_merge(control))
        return block;
    pse_arena_rebuild(control, false, true);
    return take_larger(control, request);
}

/* No memory is left to be taken: merge all that is free, and don't mind the zones. */
static pse_block *take_desperate(pse_arena_control *control, pse_arena_request *request)
{
    pse_block *block = take_larger(control, request);
    if (block)
        return block;
    pse_arena_rebuild(control, true, true);
    block = take_larger(control, request);
    if (!block)
        block = take_top(control, request, request->zone);
    return block ? block : take_top(control, request, 1 - request->zone);
}

static void count(pse_arena_control *control, const pse_block *block, const pse_arena_request *request)
{
    control->allocations++;
    control->recycled += !request->cold;
    control->live_blocks++;
    control->in_use += block->internal[PSE_SIZE];
    pse_arena_note_peak(control);
}

/* Until its magic says so, a block is not live: a rank that dies before has taken nothing. */
static void make_live(pse_arena_control *control, pse_block *block, const pse_arena_request *request)
{
    atomic_store_explicit(&block->references, request->references, memory_order_relaxed);
    atomic_store_explicit(&block->pinned, 0, memory_order_relaxed);
    atomic_store_explicit(&block->waiter, -1, memory_order_relaxed);
    block->owner = block->site = block->flags = 0;
    block->tph = 0;
    block->bytes = request->bytes;
    block->data = request->parent ? request->data : pse_arena_place_of_data(control, block, request->bytes);
    block->parent = request->parent;
    block->layout.dtype = PSE_BYTE;
    block->layout.ndim = 0;
    if (!request->parent && atomic_load_explicit(&control->poison, memory_order_relaxed))
        memset((char *)control + block->data, PSE_POISON_FRESH, request->bytes);
    if (!request->parent && control->guarded)
        pse_arena_fill_margin(control, block);
    pse_arena_publish(&block->magic, PSE_LIVE);
}

pse_block *pse_arena_take(pse_arena_control *control, pse_arena_request *request, bool desperate)
{
    request->cold = false;
    pse_block *block = take_fitting(control, request);
    if (!block && !control->guarded)
        block = take_thrifty(control, request);
    if (!block)
        block = take_top(control, request, request->zone);
    if (!block && desperate && !control->guarded)
        block = take_desperate(control, request);
    if (!block)
        return NULL;
    make_live(control, block, request);
    count(control, block, request);
    return block;
}
