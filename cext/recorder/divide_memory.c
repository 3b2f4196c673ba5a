/* A block lives from its first allocation to the record that frees it.  Blocks are found by where they are
 * and their handle, in an open hash table from which nothing is removed: handles come again. */
#include "divide_memory.h"

#include <stddef.h>
#include <string.h>

_Static_assert(offsetof(pse_recorder_change, writer) == PSE_CHANGE_SIZE,
               "a row is the record without its end");

static uint64_t place_of(const pse_recorder_change *change, const uint32_t *arena)
{
    return change->local ? (uint64_t)1 << 32 | change->writer : arena[change->writer];
}

static uint64_t mixed(uint64_t handle, uint64_t place)
{
    uint64_t key = (handle ^ place * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return key ^ key >> 31;
}

/* The slot of a change's block, or the empty one where it belongs. */
static uint64_t slot_of(const pse_recorder_change *changes, const pse_recorder_change *change,
                        const uint32_t *arena, const pse_recorder_blocks *blocks)
{
    uint64_t place = place_of(change, arena), slot = mixed(change->handle, place) & blocks->mask;
    for (; blocks->row[slot]; slot = (slot + 1) & blocks->mask) {
        const pse_recorder_change *known = &changes[blocks->row[slot] - 1];
        if (known->handle == change->handle && place_of(known, arena) == place)
            break;
    }
    return slot;
}

static uint8_t *write_row(uint8_t *out, const pse_recorder_change *change, uint32_t rank, uint64_t bytes)
{
    pse_recorder_change row = *change;
    row.rank = rank;
    row.bytes = (int64_t)bytes;
    memcpy(out, &row, PSE_CHANGE_SIZE);
    return out + PSE_CHANGE_SIZE;
}

/* Put an allocation behind the others of its block. */
static void join(const pse_recorder_blocks *blocks, uint64_t slot, uint64_t number)
{
    uint64_t last = blocks->last[slot];
    blocks->next[number - 1] = last ? blocks->next[last - 1] : number;
    if (last)
        blocks->next[last - 1] = number;
    blocks->row[slot] = blocks->last[slot] = number;
}

/* Free what each has allocated; the rank that the record names gets the rest. */
static uint8_t *free_block(const pse_recorder_change *changes, const pse_recorder_change *freed,
                           const pse_recorder_blocks *blocks, uint64_t slot, uint8_t *out)
{
    uint64_t rest = 0 - (uint64_t)freed->bytes, last = blocks->last[slot]; /* Unsigned: damaged ones wrap. */
    for (uint64_t number = last; last;) {
        number = blocks->next[number - 1];
        const pse_recorder_change *made = &changes[number - 1];
        out = write_row(out, freed, made->writer, 0 - (uint64_t)made->bytes);
        rest += (uint64_t)made->bytes;
        if (number == last)
            break;
    }
    blocks->last[slot] = 0;
    return rest ? write_row(out, freed, freed->rank, rest) : out;
}

uint64_t pse_recorder_divide_memory(const pse_recorder_change *changes, const int64_t *order, uint64_t count,
                                    const uint32_t *arena, const pse_recorder_blocks *blocks, uint8_t *out)
{
    uint8_t *begin = out;
    for (uint64_t i = 0; i < count; i++) {
        const pse_recorder_change *change = &changes[order[i]];
        uint64_t slot = slot_of(changes, change, arena, blocks);
        if (change->freed) {
            out = free_block(changes, change, blocks, slot, out);
        } else {
            join(blocks, slot, (uint64_t)order[i] + 1);
            out = write_row(out, change, change->writer, (uint64_t)change->bytes);
        }
    }
    return (uint64_t)(out - begin) / PSE_CHANGE_SIZE;
}
