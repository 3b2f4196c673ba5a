/* Free blocks, in lists by size: eight bins for each doubling of the size.
 *
 * Sizes of small blocks are rounded up to a bin's lower bound, so that any block of the bin serves; among
 * large ones the best fit is looked for.  Lists are last in, first out: what was freed last is what the
 * caches and the page tables of the ranks still know.
 */
#include "internal.h"

static size_t log2_of(uint64_t value)
{
    return 63 - (size_t)__builtin_clzll(value);
}

size_t pse_arena_bin_of(uint64_t size)
{
    size_t doubling = log2_of(size);
    size_t step = (size >> (doubling - 3)) & (PSE_BINS_PER_DOUBLING - 1);
    return (doubling - 8) * PSE_BINS_PER_DOUBLING + step;
}

/* Size of the block for so many bytes of data: header included, a bin's lower bound if small, whole pages if
 * not. */
uint64_t pse_arena_bin_round(uint64_t bytes)
{
    uint64_t size = bytes + PSE_HEADER;
    if (bytes > PSE_SMALL)
        return pse_arena_round_up(size, PSE_PAGE);
    uint64_t step = UINT64_C(1) << (log2_of(size) - 3);
    return pse_arena_round_up(size, step < PSE_LINE ? PSE_LINE : step);
}

void pse_arena_bin_clear(pse_arena_control *control)
{
    for (size_t i = 0; i < PSE_BIN_COUNT; i++)
        control->bins[i] = 0;
    for (size_t i = 0; i < PSE_BIN_COUNT / 64; i++)
        control->bin_map[i] = 0;
}

void pse_arena_bin_insert(pse_arena_control *control, pse_block *block)
{
    size_t bin = pse_arena_bin_of(block->internal[PSE_SIZE]);
    pse_handle handle = pse_arena_handle_of(control, block), next = control->bins[bin];
    block->internal[PSE_NEXT] = next;
    block->internal[PSE_PREVIOUS] = 0;
    if (next)
        pse_arena_block_at(control, next)->internal[PSE_PREVIOUS] = handle;
    control->bins[bin] = handle;
    control->bin_map[bin / 64] |= UINT64_C(1) << bin % 64;
}

void pse_arena_bin_remove(pse_arena_control *control, pse_block *block)
{
    size_t bin = pse_arena_bin_of(block->internal[PSE_SIZE]);
    pse_handle next = block->internal[PSE_NEXT], previous = block->internal[PSE_PREVIOUS];
    if (next)
        pse_arena_block_at(control, next)->internal[PSE_PREVIOUS] = previous;
    if (previous)
        pse_arena_block_at(control, previous)->internal[PSE_NEXT] = next;
    else
        control->bins[bin] = next;
    if (!control->bins[bin])
        control->bin_map[bin / 64] &= ~(UINT64_C(1) << bin % 64);
}

/* The smallest of a bin's first blocks that has between `size` and `most` bytes. */
static pse_block *best_of(const pse_arena_control *control, size_t bin, uint64_t size, uint64_t most)
{
    pse_block *best = NULL;
    pse_handle handle = control->bins[bin];
    for (int i = 0; handle && i < PSE_CANDIDATES; i++) {
        pse_block *block = pse_arena_block_at(control, handle);
        uint64_t has = block->internal[PSE_SIZE];
        if (has == size)
            return block;
        if (has > size && has <= most && (!best || has < best->internal[PSE_SIZE]))
            best = block;
        handle = block->internal[PSE_NEXT];
    }
    return best;
}

/* A block of `size` to `most` bytes, or NULL. */
pse_block *pse_arena_bin_find(const pse_arena_control *control, uint64_t size, uint64_t most)
{
    for (size_t bin = pse_arena_bin_of(size), last = pse_arena_bin_of(most); bin <= last; bin++) {
        pse_block *block = best_of(control, bin, size, most);
        if (block)
            return block;
    }
    return NULL;
}

/* A block of at least `size` bytes, however large, or NULL. */
pse_block *pse_arena_bin_find_larger(const pse_arena_control *control, uint64_t size)
{
    size_t bin = pse_arena_bin_of(size);
    pse_block *block = best_of(control, bin, size, UINT64_MAX);
    for (size_t next = bin + 1; !block && next < PSE_BIN_COUNT; next++) {
        uint64_t rest = control->bin_map[next / 64] >> next % 64;
        if (!rest) {
            next |= 63;
            continue;
        }
        next += (size_t)__builtin_ctzll(rest);
        block = best_of(control, next, size, UINT64_MAX);
    }
    return block;
}
