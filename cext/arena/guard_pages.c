/* Guard pages: for debugging, every block but a view lies between two pages that no process may touch.
 *
 *   header | guard page | margin, then data up to the end of a page | guard page | rest of a page
 *
 * The pages are forbidden in each process that gets a block's address, and stay so: blocks of a guarded arena
 * keep their sizes for ever.  They all lie in the zone of large blocks, whose headers end on page boundaries.
 */
#include "internal.h"

#include <string.h>
#include <sys/mman.h>

#define PAGES_AROUND 3 /* Two guards, and what the last page shares with the next header. */

uint64_t pse_arena_guarded_size(uint64_t bytes)
{
    return pse_arena_round_up(bytes, PSE_PAGE) + PAGES_AROUND * PSE_PAGE;
}

/* Where the second guard page of a block begins. */
static uint64_t data_end(const pse_arena_control *control, const pse_block *block)
{
    return pse_arena_handle_of(control, block) + PSE_HEADER + block->internal[PSE_SIZE] - 2 * PSE_PAGE;
}

uint64_t pse_arena_place_of_data(const pse_arena_control *control, const pse_block *block, uint64_t bytes)
{
    return control->guarded ? data_end(control, block) - bytes
                            : pse_arena_handle_of(control, block) + PSE_HEADER;
}

static uint64_t margin_begin(const pse_arena_control *control, const pse_block *block)
{
    return pse_arena_handle_of(control, block) + PSE_HEADER + PSE_PAGE;
}

void pse_arena_fill_margin(pse_arena_control *control, const pse_block *block)
{
    uint64_t begin = margin_begin(control, block);
    memset((char *)control + begin, PSE_MARGIN, block->data - begin);
}

const unsigned char *pse_arena_margin(const pse_arena *arena, pse_handle handle, uint64_t *bytes)
{
    const pse_block *block = pse_arena_block_at(arena->control, handle);
    if (block->parent)
        block = pse_arena_block_at(arena->control, block->parent);
    uint64_t begin = margin_begin(arena->control, block);
    *bytes = block->data - begin;
    return (const unsigned char *)arena->control + begin;
}

void pse_arena_guard(pse_arena *arena)
{
    arena->control->guarded = 1;
}

void pse_arena_protect(const pse_arena *arena, pse_handle handle)
{
    const pse_arena_control *control = arena->control;
    if (!control->guarded)
        return;
    const pse_block *block = pse_arena_block_at(control, handle);
    if (block->parent)
        block = pse_arena_block_at(control, block->parent);
    char *base = (char *)arena->control;
    mprotect(base + pse_arena_handle_of(control, block) + PSE_HEADER, PSE_PAGE, PROT_NONE);
    mprotect(base + data_end(control, block), PSE_PAGE, PROT_NONE);
}
