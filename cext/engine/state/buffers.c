#include "state/buffers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "state/engine_state.h"
#include "state/guarded_memory.h"
#include "strided_copy.h"

#define HUGE_PAGE (UINT64_C(2) << 20)
#define HUGE_BYTES (UINT64_C(4) << 20)

static int private_class(uint64_t bytes)
{
    int class_index = 6;
    while (class_index < PSE_PRIVATE_CLASSES - 1 && (UINT64_C(1) << class_index) < bytes)
        class_index++;
    return class_index;
}

/* Memory for a head and so many bytes; large ones in huge pages where the system gives them, as NumPy's
 * arrays are. */
static pse_block *fresh_private(uint64_t bytes)
{
    size_t head = (sizeof(pse_block) + 63) & ~(size_t)63, size = (head + bytes + 63) & ~(size_t)63;
    pse_block *block = aligned_alloc(bytes < HUGE_BYTES ? 64 : HUGE_PAGE, size);
    if (block == NULL)
        return NULL;
    if (bytes >= HUGE_BYTES)
        madvise(block, size, MADV_HUGEPAGE);
    memset(block, 0, sizeof *block);
    block->data = (uint64_t)((uintptr_t)block + head);
    return block;
}

static pse_block *take_private(pse_engine *s, uint64_t bytes)
{
    int class_index = private_class(bytes);
    pse_block *block = s->buffers.spare[class_index];
    if (s->buffers.guarded)
        return pse_engine_guarded_make(bytes);
    if (block == NULL)
        return fresh_private(UINT64_C(1) << class_index);
    s->buffers.spare[class_index] = (pse_block *)(uintptr_t)block->internal[0];
    return block;
}

pse_block *pse_engine_buffer_make_private(pse_engine *s, uint64_t bytes)
{
    pse_block *block = take_private(s, bytes);
    if (block == NULL)
        return NULL;
    block->flags = PSE_BLOCK_PRIVATE;
    block->bytes = bytes;
    atomic_store_explicit(&block->references, 1, memory_order_relaxed);
    atomic_store_explicit(&block->pinned, 0, memory_order_relaxed);
    atomic_store_explicit(&block->waiter, -1, memory_order_relaxed);
    if (s->buffers.poisoned)
        memset(pse_engine_buffer_data(s, block), PSE_POISON_FRESH, bytes);
    s->buffers.in_use++;
    return block;
}

pse_block *pse_engine_buffer_make(pse_engine *s, uint64_t bytes, int *code)
{
    pse_handle handle;
    *code = 0;
    if (!s->plan->shared || bytes < s->plan->local_limit) {
        pse_block *block = pse_engine_buffer_make_private(s, bytes);
        if (block == NULL)
            *code = PSE_ARENA_NO_MEMORY;
        return block;
    }
    *code = pse_arena_allocate(s->arena, bytes, &handle);
    return *code == 0 ? pse_engine_block_at(s, handle) : NULL;
}

/* What a trace calls a buffer: its handle, which is the same on all ranks, or its address in this one.  A
 * part of a shared block goes by the name of the block. */
static uint64_t identity(const pse_engine *s, const pse_block *block)
{
    if (pse_engine_buffer_is_private(block))
        return (uint64_t)(uintptr_t)block;
    return block->parent != 0 ? block->parent : pse_engine_buffer_handle(s, block);
}

/* Note who made it. */
static void sign(const pse_engine *s, pse_block *block, uint32_t site, uint64_t tph)
{
    block->owner = s->plan->rank;
    block->site = site;
    block->tph = tph;
}

pse_block *pse_engine_buffer_describe_view(const pse_engine *s, pse_block *block, const pse_layout *layout,
                                           uint32_t site, uint64_t tph)
{
    sign(s, block, site, tph);
    block->layout = *layout;
    atomic_store_explicit(&block->waiter, -1, memory_order_relaxed);
    return block;
}

pse_block *pse_engine_buffer_describe(pse_engine *s, pse_block *block, const pse_layout *layout,
                                      uint32_t site, uint64_t tph)
{
    pse_engine_buffer_describe_view(s, block, layout, site, tph);
    if (block->parent != 0)
        sign(s, pse_engine_block_at(s, block->parent), site, tph);
    if (s->recorder != NULL)
        pse_engine_record(s, pse_clock(), PSE_EVENT_ALLOCATE,
                          pse_engine_buffer_is_private(block) ? PSE_MEMORY_LOCAL : 0, site, tph, block->bytes,
                          identity(s, block), 0);
    return block;
}

static void ring_space_waiters(pse_engine *s)
{
    for (uint32_t rank = 0; rank < s->plan->ranks; rank++) {
        pse_slot *slot = pse_board_slot(s->board, rank);
        if (atomic_load(&slot->wants) & PSE_WANT_SPACE)
            pse_channel_bell_ring(slot);
    }
}

static uint64_t recorded_time(const pse_engine *s)
{
    return s->recorder != NULL ? pse_clock() : 0;
}

static void release_private(pse_engine *s, pse_block *block)
{
    uint32_t before = atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel);
    s->released_twice |= before == 0;
    if (before != 1)
        return;
    int class_index = private_class(block->bytes);
    if (!(block->flags & PSE_BLOCK_UNRECORDED))
        pse_engine_record(s, recorded_time(s), PSE_EVENT_FREE, PSE_MEMORY_LOCAL, block->site, block->tph,
                          block->bytes, identity(s, block), block->owner);
    s->buffers.in_use--;
    if (s->buffers.guarded) {
        pse_engine_guarded_free(block, block->bytes);
        return;
    }
    if (s->buffers.poisoned) {
        memset(pse_engine_buffer_data(s, block), PSE_POISON_FREED, block->bytes);
        memset(&block->layout, PSE_POISON_FREED, sizeof block->layout);
    }
    block->internal[0] = (uint64_t)(uintptr_t)s->buffers.spare[class_index];
    s->buffers.spare[class_index] = block;
}

static void release_shared(pse_engine *s, pse_block *block)
{
    /* After the release the block may be another rank's, which records that it allocated it: what is recorded
     * about this release, and its time, are read before. */
    uint64_t now = recorded_time(s);
    int32_t waiter = atomic_load_explicit(&block->waiter, memory_order_acquire);
    uint64_t bytes = block->bytes, tph = block->tph;
    uint32_t site = block->site, owner = block->owner;
    bool is_view = block->parent != 0;
    uint64_t name = pse_engine_buffer_handle(s, block);
    uint32_t left = pse_arena_release(s->arena, name);
    s->released_twice |= left == PSE_ARENA_NOT_HELD;
    if (left == 0) {
        if (!is_view)
            pse_engine_record(s, now, PSE_EVENT_FREE, 0, site, tph, bytes, name, owner);
        if (atomic_load(pse_board_space_wanted(s->board)) != 0)
            ring_space_waiters(s);
        return;
    }
    if (waiter < 0)
        waiter = atomic_load(&block->waiter);
    if (waiter >= 0 && (uint32_t)waiter < s->plan->ranks)
        pse_channel_bell_ring(pse_board_slot(s->board, (uint32_t)waiter));
}

void pse_engine_buffer_release(pse_engine *s, pse_block *block)
{
    if (pse_engine_buffer_is_private(block)) {
        release_private(s, block);
        return;
    }
    /* A view may be the last to hold its parent, which is then to be seen freed. */
    pse_block *parent = block->parent != 0 ? pse_engine_block_at(s, block->parent) : NULL;
    if (parent != NULL)
        pse_arena_retain(s->arena, block->parent, 1);
    release_shared(s, block);
    if (parent != NULL)
        release_shared(s, parent);
}

void pse_engine_poison(pse_engine *s)
{
    s->buffers.poisoned = true;
}

void pse_engine_guard(pse_engine *s)
{
    s->buffers.guarded = true;
}

void *pse_engine_buffer_expose(const pse_engine *s, const pse_block *block)
{
    if (s->buffers.guarded && !pse_engine_buffer_is_private(block))
        pse_arena_protect(s->arena, pse_engine_buffer_handle(s, block));
    return pse_engine_buffer_data(s, block);
}

const unsigned char *pse_engine_buffer_margin(const pse_engine *s, const pse_block *block, uint64_t *bytes)
{
    return pse_engine_buffer_is_private(block)
               ? pse_engine_guarded_margin(block, bytes)
               : pse_arena_margin(s->arena, pse_engine_buffer_handle(s, block), bytes);
}

int64_t pse_engine_private_buffers(const pse_engine *s)
{
    return s->buffers.in_use;
}

void pse_engine_buffer_retain(pse_engine *s, pse_block *block, uint32_t count)
{
    if (pse_engine_buffer_is_private(block))
        atomic_fetch_add_explicit(&block->references, count, memory_order_relaxed);
    else
        pse_arena_retain(s->arena, pse_engine_buffer_handle(s, block), count);
}

bool pse_engine_buffer_is_own(const pse_engine *s, const pse_block *block)
{
    uint32_t references = pse_engine_buffer_is_private(block)
                              ? atomic_load(&block->references)
                              : pse_arena_references(s->arena, pse_engine_buffer_handle(s, block));
    return references == 1 && atomic_load(&block->pinned) == 0;
}

/* Whether this rank's slot is the only holder, so that the block may be written in place.  If not, ask to be
 * rung. */
bool pse_engine_buffer_exclusive(pse_engine *s, pse_block *block)
{
    if (pse_engine_buffer_is_private(block))
        return atomic_load_explicit(&block->references, memory_order_acquire) == 1;
    pse_handle handle = pse_engine_buffer_handle(s, block);
    if (pse_arena_references(s->arena, handle) == 1)
        return true;
    atomic_store(&block->waiter, (int32_t)s->plan->rank);
    if (pse_arena_references(s->arena, handle) != 1)
        return false;
    atomic_store(&block->waiter, -1);
    return true;
}

void pse_engine_layout_fill(pse_layout *layout, uint16_t dtype, uint32_t itemsize, int ndim,
                            const int64_t *shape)
{
    int64_t stride = itemsize;
    layout->dtype = (uint8_t)dtype;
    layout->ndim = (uint8_t)ndim;
    layout->reserved = 0;
    layout->itemsize = itemsize;
    for (int axis = ndim - 1; axis >= 0; axis--) {
        layout->shape[axis] = shape[axis];
        layout->strides[axis] = stride;
        stride *= shape[axis];
    }
}

uint64_t pse_engine_layout_bytes(const pse_layout *layout)
{
    uint64_t bytes = layout->itemsize;
    for (int axis = 0; axis < layout->ndim; axis++)
        bytes *= (uint64_t)layout->shape[axis];
    return bytes;
}

bool pse_engine_layout_is(const pse_layout *layout, int ndim, const int64_t *shape)
{
    return layout->ndim == ndim && memcmp(layout->shape, shape, (size_t)ndim * sizeof *shape) == 0;
}

/* Copy a part from one array to another; returns the bytes copied. */
uint64_t pse_engine_buffer_move(const pse_engine *s, const pse_part *part, char *to, const char *from)
{
    for (int32_t i = part->first_move; i < part->first_move + part->moves; i++) {
        const pse_move *move = &s->plan->moves[i];
        pse_kernels_strided_copy(to + move->target, move->target_strides, from + move->source,
                                 move->source_strides, move->shape, (int)move->ndim, move->itemsize);
    }
    return part->bytes;
}

static void copy_whole(const pse_engine *s, pse_block *copy, const pse_block *block)
{
    pse_kernels_strided_copy(pse_engine_buffer_data(s, copy), copy->layout.strides,
                             pse_engine_buffer_data(s, block), block->layout.strides, copy->layout.shape,
                             copy->layout.ndim, copy->layout.itemsize);
}

static void copy_part(const pse_engine *s, pse_block *copy, const pse_block *block, const pse_part *part)
{
    if (part->bytes < pse_engine_layout_bytes(&copy->layout))
        memset(pse_engine_buffer_data(s, copy), 0, pse_engine_layout_bytes(&copy->layout));
    pse_engine_buffer_move(s, part, pse_engine_buffer_data(s, copy), pse_engine_buffer_data(s, block));
}

/* A block for a copy, in the arena or (private) in this rank's memory. */
static pse_block *make_copy(pse_engine *s, const pse_context *context, const pse_call *call,
                            const pse_layout *from, bool private_copy, int *code)
{
    pse_layout layout;
    pse_handle handle;
    pse_block *copy;
    pse_engine_layout_fill(&layout, from->dtype, from->itemsize, from->ndim, from->shape);
    uint64_t bytes = pse_engine_layout_bytes(&layout);
    *code = 0;
    if (private_copy) {
        copy = pse_engine_buffer_make_private(s, bytes);
        if (copy == NULL)
            *code = PSE_ARENA_NO_MEMORY;
    } else {
        *code = pse_arena_allocate(s->arena, bytes, &handle);
        copy = *code == 0 ? pse_engine_block_at(s, handle) : NULL;
    }
    if (copy == NULL)
        return NULL;
    pse_engine_count_up(&pse_board_statistics(s->board, s->plan->rank, call->site)->copied, bytes);
    return pse_engine_buffer_describe(s, copy, &layout, call->site, context->tph);
}

pse_block *pse_engine_buffer_pack(pse_engine *s, const pse_context *context, const pse_call *call,
                                  pse_block *block, const pse_part *part, bool private_copy, int *code)
{
    const pse_layout *from = part ? &part->layout : &block->layout;
    pse_block *copy = make_copy(s, context, call, from, private_copy, code);
    if (copy != NULL && part != NULL)
        copy_part(s, copy, block, part);
    else if (copy != NULL)
        copy_whole(s, copy, block);
    return copy;
}

pse_block *pse_engine_buffer_pack_rows(pse_engine *s, const pse_context *context, const pse_call *call,
                                       pse_block *block, const pse_engine_row_block *rows, bool private_copy,
                                       int *code)
{
    pse_block *copy = make_copy(s, context, call, &rows->layout, private_copy, code);
    if (copy != NULL)
        memcpy(pse_engine_buffer_data(s, copy), (char *)pse_engine_buffer_data(s, block) + rows->offset,
               pse_engine_layout_bytes(&rows->layout));
    return copy;
}

void pse_engine_buffers_destroy(pse_engine *s)
{
    for (int i = 0; i < PSE_PRIVATE_CLASSES; i++) {
        while (s->buffers.spare[i] != NULL) {
            pse_block *block = s->buffers.spare[i];
            s->buffers.spare[i] = (pse_block *)(uintptr_t)block->internal[0];
            free(block);
        }
    }
}
