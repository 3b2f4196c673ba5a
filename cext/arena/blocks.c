/* Blocks as the ranks see them: allocate, share, view, count references. */
#include "internal.h"

#include <string.h>

enum { MUST_GROW = 1 };

static pse_arena_request request_for(const pse_arena *arena, uint64_t bytes, uint32_t references)
{
    bool guarded = arena->control->guarded;
    return (pse_arena_request){.bytes = bytes,
                               .size = guarded ? pse_arena_guarded_size(bytes) : pse_arena_bin_round(bytes),
                               .references = references,
                               .zone = bytes > PSE_SMALL || guarded ? PSE_ZONE_LARGE : PSE_ZONE_SMALL};
}

/* With the lock held: a block for a key, the one that is there or a new one. */
static int take_shared(pse_arena_control *control, pse_arena_request *request, uint64_t key, bool desperate,
                       pse_handle *out)
{
    pse_arena_shared_parent *entry = pse_arena_parent_find(control, key);
    if (entry) {
        if (entry->parts != request->references ||
            pse_arena_block_at(control, entry->block)->bytes != request->bytes)
            return PSE_ARENA_MISMATCH;
        *out = pse_arena_parent_join(entry);
        return 0;
    }
    entry = pse_arena_parent_free(control);
    if (!entry)
        return PSE_ARENA_FULL;
    pse_block *block = pse_arena_take(control, request, desperate);
    if (!block)
        return MUST_GROW;
    *out = pse_arena_handle_of(control, block);
    pse_arena_parent_add(entry, key, *out, request->references);
    return 0;
}

static int take(pse_arena_control *control, pse_arena_request *request, uint64_t key, bool desperate,
                pse_handle *out)
{
    if (key)
        return take_shared(control, request, key, desperate, out);
    pse_block *block = pse_arena_take(control, request, desperate);
    if (block)
        *out = pse_arena_handle_of(control, block);
    return block ? 0 : MUST_GROW;
}

static int take_locked(pse_arena *arena, pse_arena_request *request, uint64_t key, bool desperate,
                       pse_handle *out)
{
    pse_arena_lock(arena->control);
    int code = take(arena->control, request, key, desperate, out);
    pse_arena_unlock(arena->control);
    return code;
}

/* Another rank may take what this one has just grown: it then grows again, until there is nothing left to
 * grow. */
static int obtain(pse_arena *arena, pse_arena_request *request, uint64_t key, pse_handle *out)
{
    if (request->bytes > arena->control->capacity || !pse_arena_fits_ever(arena->control, request->size))
        return PSE_ARENA_TOO_LARGE;
    for (;;) {
        int code = take_locked(arena, request, key, false, out);
        if (code != MUST_GROW)
            return code;
        int growth = pse_arena_grow(arena, request->zone, request->size);
        if (!growth)
            continue;
        code = take_locked(arena, request, key, true, out);
        return code == MUST_GROW ? growth : code;
    }
}

int pse_arena_allocate(pse_arena *arena, uint64_t bytes, pse_handle *out)
{
    pse_arena_request request = request_for(arena, bytes, 1);
    int code = obtain(arena, &request, 0, out);
    if (!code && request.cold && request.zone == PSE_ZONE_LARGE)
        pse_arena_populate(arena, *out, *out + request.size);
    return code;
}

int pse_arena_allocate_shared(pse_arena *arena, uint64_t key, uint32_t parts, uint64_t bytes, pse_handle *out)
{
    pse_arena_request request = request_for(arena, bytes, parts);
    return obtain(arena, &request, key, out);
}

/* The root's reference is taken first: the view can't outlive it, whoever dies when. */
int pse_arena_view(pse_arena *arena, pse_handle parent, uint64_t offset, uint64_t bytes, pse_handle *out)
{
    const pse_block *of = pse_arena_block_at(arena->control, parent);
    if (offset > of->bytes || bytes > of->bytes - offset)
        return PSE_ARENA_TOO_LARGE;
    pse_handle root = of->parent ? of->parent : parent;
    pse_arena_request request = {.bytes = bytes,
                                 .size = pse_arena_bin_round(0),
                                 .references = 1,
                                 .zone = PSE_ZONE_SMALL,
                                 .parent = root,
                                 .data = of->data + offset};
    pse_arena_retain(arena, root, 1);
    int code = obtain(arena, &request, 0, out);
    if (code)
        pse_arena_release(arena, root);
    return code;
}

void pse_arena_retain(pse_arena *arena, pse_handle block, uint32_t count)
{
    atomic_fetch_add_explicit(&pse_arena_block_at(arena->control, block)->references, count,
                              memory_order_relaxed);
}

static void free_locked(pse_arena_control *control, pse_block *block)
{
    pse_arena_lock(control);
    pse_arena_publish(&block->magic, PSE_FREE);
    pse_arena_bin_insert(control, block);
    control->in_use -= block->internal[PSE_SIZE];
    control->live_blocks--;
    atomic_fetch_add_explicit(&control->frees, 1, memory_order_release);
    pse_arena_unlock(control);
}

/* Nobody holds the block any more.  A view goes before its hold on the root does. */
static void free_block(pse_arena *arena, pse_block *block)
{
    pse_arena_control *control = arena->control;
    pse_handle parent = block->parent;
    if (atomic_load_explicit(&control->poison, memory_order_relaxed)) {
        if (!parent)
            memset(pse_arena_data(arena, pse_arena_handle_of(control, block)), PSE_POISON_FREED,
                   block->bytes);
        memset(&block->layout, PSE_POISON_FREED, sizeof block->layout);
    }
    free_locked(control, block);
    if (parent)
        pse_arena_release(arena, parent);
}

uint32_t pse_arena_release(pse_arena *arena, pse_handle handle)
{
    pse_block *block = pse_arena_block_at(arena->control, handle);
    /* Look before: once this reference is given up, whoever has the last one may free the block. */
    bool live = block->magic == PSE_LIVE;
    uint32_t before = live ? atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) : 0;
    if (before == 0)
        return PSE_ARENA_NOT_HELD;
    if (before == 1)
        free_block(arena, block);
    return before - 1;
}

uint32_t pse_arena_references(const pse_arena *arena, pse_handle block)
{
    return atomic_load_explicit(&pse_arena_block_at(arena->control, block)->references, memory_order_acquire);
}

pse_block *pse_arena_block(const pse_arena *arena, pse_handle handle)
{
    const pse_arena_control *control = arena->control;
    if (handle < control->zones[0].begin || handle > control->file_bytes - PSE_HEADER || handle % PSE_LINE)
        return NULL;
    pse_block *block = pse_arena_block_at(control, handle);
    return block->magic == PSE_LIVE ? block : NULL;
}

char *pse_arena_base(const pse_arena *arena)
{
    return (char *)arena->control;
}

uint64_t pse_arena_reach(const pse_arena *arena)
{
    return arena->control->file_bytes;
}

void *pse_arena_data(const pse_arena *arena, pse_handle block)
{
    return (char *)arena->control + pse_arena_block_at(arena->control, block)->data;
}

uint64_t pse_arena_frees(const pse_arena *arena)
{
    return atomic_load_explicit(&arena->control->frees, memory_order_acquire);
}

void pse_arena_poison(pse_arena *arena, bool on)
{
    atomic_store_explicit(&arena->control->poison, on, memory_order_relaxed);
}
