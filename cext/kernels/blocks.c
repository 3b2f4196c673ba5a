/* See blocks.h.  A block that is left comes in at `take_block`; all else finds out what it is. */

#include "blocks.h"

#include <stdbool.h>
#include <string.h>

/* A record leaves at most the shares of one lane's pixel twice. */
#define ROOM_FOR_A_RECORD (2 * PSE_BLOCKS_CATEGORIES + 2)

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static int64_t most(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* The pixel that has a time of the window: guessed as if all were of one width, then put right. */
static uint32_t pixel_of(const pse_kernels_blocks *found, int64_t time)
{
    const int64_t *edges = found->edges;
    int64_t last = found->pixels - 1;
    double guess = (double)(time - edges[0]) * found->pixels / (double)(edges[last + 1] - edges[0]);
    int64_t pixel = guess >= (double)last ? last : (int64_t)guess;
    while (pixel > 0 && time < edges[pixel])
        pixel--;
    while (pixel < last && time >= edges[pixel + 1])
        pixel++;
    return (uint32_t)pixel;
}

static void empty_lane(pse_kernels_blocks *found, pse_kernels_lane *lane)
{
    memcpy(found->shares + found->share_count, lane->shares, lane->used * sizeof(pse_kernels_share));
    found->share_count += lane->used;
    lane->used = 0;
}

static pse_kernels_share *share_of(pse_kernels_blocks *found, pse_kernels_lane *lane, uint32_t pixel,
                                   uint32_t category)
{
    if (lane->pixel != pixel || lane->used == PSE_BLOCKS_CATEGORIES)
        empty_lane(found, lane);
    lane->pixel = pixel;
    for (uint32_t i = 0; i < lane->used; i++)
        if (lane->shares[i].last.category == category)
            return &lane->shares[i];
    pse_kernels_share *share = &lane->shares[lane->used++];
    memset(share, 0, sizeof *share);
    share->pixel = pixel;
    return share;
}

/* A narrow block touches two pixels at most. */
static void merge_block(pse_kernels_blocks *found, const pse_kernels_block *block, int64_t begin, int64_t end)
{
    pse_kernels_lane *lane = &found->lanes[block->lane];
    uint32_t pixel = pixel_of(found, begin);
    found->merged++;
    for (uint32_t count = 1;; count = 0, pixel++) {
        int64_t edge = found->edges[pixel + 1];
        pse_kernels_share *share = share_of(found, lane, pixel, block->category);
        share->time += least(end, edge) - begin;
        share->count += count;
        share->parts++;
        share->last = *block;
        if (end <= edge || pixel + 1 == found->pixels)
            return;
        begin = edge;
    }
}

static void take_block(pse_kernels_blocks *found, pse_kernels_block block)
{
    int64_t first = found->edges[0], last = found->edges[found->pixels];
    block.begin = least(block.begin, block.end); /* Clocks of damaged traces run backwards. */
    if (block.end < first || block.begin > last)
        return;
    if ((uint64_t)block.end - (uint64_t)block.begin >= (uint64_t)found->narrow)
        found->blocks[found->block_count++] = block;
    else
        merge_block(found, &block, most(block.begin, first), least(block.end, last));
}

static bool is_asked_for(const pse_kernels_blocks *found, uint64_t tph)
{
    if (!found->tphs)
        return true;
    uint64_t low = 0, high = found->tph_count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (found->tphs[middle] < tph)
            low = middle + 1;
        else
            high = middle;
    }
    return low < found->tph_count && found->tphs[low] == tph;
}

static pse_kernels_block block_of(const pse_event *event, uint16_t lane, int64_t begin, uint32_t detail)
{
    return (pse_kernels_block){.begin = begin,
                               .end = (int64_t)event->time,
                               .tph = event->tph,
                               .site = event->site,
                               .detail = detail,
                               .lane = lane,
                               .flags = event->flags};
}

static pse_kernels_block call_of(const pse_kernels_blocks *found, const pse_event *event, int64_t begin,
                                 uint32_t partition)
{
    pse_kernels_block block = block_of(event, PSE_LANE_CALL, begin, partition);
    bool known = event->site < found->sites && is_asked_for(found, event->tph);
    block.category = known ? found->site_categories[event->site] : found->other;
    return block;
}

static pse_kernels_block wait_of(const pse_event *event, int64_t begin)
{
    pse_kernels_block block = block_of(event, PSE_LANE_WAIT, begin, (uint32_t)event->a);
    block.category = event->flags;
    return block;
}

static pse_kernels_block region_of(const pse_event *event, int64_t begin, int64_t depth)
{
    pse_kernels_block block = block_of(event, (uint16_t)(PSE_LANE_REGION + depth), begin, (uint32_t)event->a);
    block.category = block.detail;
    return block;
}

static void enter_region(pse_kernels_blocks *found, const pse_event *event)
{
    int64_t depth = found->depth++;
    if (depth < PSE_BLOCKS_STACK)
        found->regions[depth] = region_of(event, (int64_t)event->time, least(depth, PSE_BLOCKS_DEPTH - 1));
}

static void leave_region(pse_kernels_blocks *found, const pse_event *event)
{
    if (found->depth > 0)
        found->depth--;
    if (found->depth < PSE_BLOCKS_DEPTH)
        take_block(found, region_of(event, (int64_t)event->b, found->depth));
    else
        found->deeper++;
}

static bool is_in_window(const pse_kernels_blocks *found, int64_t time, int64_t margin)
{
    return time >= found->edges[0] - margin && time <= found->edges[found->pixels] + margin;
}

static void pick(pse_kernels_blocks *found, const pse_event *event)
{
    found->picked[found->picked_count++] = *event;
}

/* One end of a message; the other may lie outside of the window. */
static void take_message(pse_kernels_blocks *found, const pse_event *event)
{
    int64_t time = (int64_t)event->time, margin = found->edges[found->pixels] - found->edges[0];
    if (!is_in_window(found, time, margin) || !is_asked_for(found, event->tph))
        return;
    found->sends += event->type == PSE_EVENT_SEND && is_in_window(found, time, 0);
    if ((uint32_t)(event->c * 0x9E3779B97F4A7C15u >> 32) <= found->sample)
        pick(found, event);
}

static void take_event(pse_kernels_blocks *found, const pse_event *event)
{
    switch (event->type) {
    case PSE_EVENT_MODULE_ENTER:
        found->call = call_of(found, event, (int64_t)event->time, (uint32_t)event->a);
        found->call_is_open = true;
        break;
    case PSE_EVENT_MODULE_LEAVE:
        take_block(found, call_of(found, event, (int64_t)event->b, (uint32_t)(event->c >> 32)));
        found->call_is_open = false;
        break;
    case PSE_EVENT_WAIT_BEGIN:
        found->wait = wait_of(event, (int64_t)event->time);
        found->wait_is_open = true;
        break;
    case PSE_EVENT_WAIT_END:
        take_block(found, wait_of(event, (int64_t)event->b));
        found->wait_is_open = false;
        break;
    case PSE_EVENT_REGION_ENTER:
        enter_region(found, event);
        break;
    case PSE_EVENT_REGION_LEAVE:
        leave_region(found, event);
        break;
    case PSE_EVENT_SEND:
    case PSE_EVENT_RECEIVE:
        take_message(found, event);
        break;
    case PSE_EVENT_MPI_SEND:
        found->mpi_sends += is_in_window(found, (int64_t)event->time, 0);
        break;
    case PSE_EVENT_CONTEXT_BEGIN:
        if (found->contexts++ < PSE_BLOCKS_CONTEXTS)
            pick(found, event);
        break;
    case PSE_EVENT_TEXT:
    case PSE_EVENT_MARKER:
        pick(found, event);
        break;
    default:
        break;
    }
}

static bool has_room(const pse_kernels_blocks *found)
{
    return found->block_count < found->block_room && found->picked_count < found->picked_room &&
           found->share_count + ROOM_FOR_A_RECORD <= found->share_room;
}

uint64_t pse_kernels_blocks_take(pse_kernels_blocks *found, const pse_event *events, uint64_t count)
{
    uint64_t taken = 0;
    for (; taken < count && has_room(found); taken++)
        take_event(found, &events[taken]);
    if (taken)
        found->last = (int64_t)events[taken - 1].time;
    return taken;
}

static void end_open(pse_kernels_blocks *found, pse_kernels_block block)
{
    block.end = most(found->last, block.begin);
    block.flags |= PSE_BLOCK_OPEN;
    if (block.end >= found->edges[0] && block.begin <= found->edges[found->pixels])
        found->blocks[found->block_count++] = block; /* However narrow: this is where it ended. */
}

void pse_kernels_blocks_finish(pse_kernels_blocks *found)
{
    if (found->call_is_open)
        end_open(found, found->call);
    if (found->wait_is_open)
        end_open(found, found->wait);
    for (int64_t depth = 0; depth < least(found->depth, PSE_BLOCKS_DEPTH); depth++)
        end_open(found, found->regions[depth]);
    for (int lane = 0; lane < PSE_BLOCKS_LANES; lane++)
        empty_lane(found, &found->lanes[lane]);
}
