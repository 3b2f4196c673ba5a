/* Buffers as the engine sees them: blocks of the arena, or blocks of the rank's own memory with the same
 * head.
 *
 * Small buffers, and all of them with shared_memory = off, are private: they are kept in lists by power of
 * two and never given back, so their pages stay warm.
 */
#ifndef PSE_ENGINE_BUFFERS_H
#define PSE_ENGINE_BUFFERS_H

#include "engine.h"

#define PSE_PRIVATE_CLASSES 48

/* Public flag of a block: it lives in this rank's own memory, not in the arena. */
#define PSE_BLOCK_PRIVATE 1u
/* ... and its data are a module's own; its head is gone when it is sent. */
#define PSE_BLOCK_BORROWED 2u
/* ... several tags stand for it, so whoever changes one of them goes on with a copy. */
#define PSE_BLOCK_LENT 4u
/* ... and no trace has it: the value of a string. */
#define PSE_BLOCK_UNRECORDED 8u

typedef struct pse_engine_buffers {
    pse_block *spare[PSE_PRIVATE_CLASSES];
    int64_t in_use; /* private buffers made and not freed yet */
    bool poisoned;  /* they are overwritten when made and when freed */
    bool guarded;   /* every buffer has pages of its own, between two that nobody may touch */
} pse_engine_buffers;

/* Rows of an array, one behind the other. */
typedef struct pse_engine_row_block {
    pse_layout layout;
    uint64_t offset; /* bytes from the array's begin */
} pse_engine_row_block;

/* Make a buffer; NULL and *code = PSE_ARENA_* if there is no room. */
pse_block *pse_engine_buffer_make(pse_engine *s, uint64_t bytes, int *code);
pse_block *pse_engine_buffer_make_private(pse_engine *s, uint64_t bytes); /* NULL: no memory */
/* What lies before the data of a guarded buffer: see pse_arena_margin. */
const unsigned char *pse_engine_buffer_margin(const pse_engine *s, const pse_block *block, uint64_t *bytes);
void pse_engine_buffer_release(pse_engine *s, pse_block *block);
void pse_engine_buffer_retain(pse_engine *s, pse_block *block, uint32_t count);

/* Copy a part of `block` (NULL: all of it) into a block of its own, C-ordered, in the arena or (private) in
 * this rank's memory. */
pse_block *pse_engine_buffer_pack(pse_engine *s, const pse_context *context, const pse_call *call,
                                  pse_block *block, const pse_part *part, bool private_copy, int *code);
/* The same for rows of it. */
pse_block *pse_engine_buffer_pack_rows(pse_engine *s, const pse_context *context, const pse_call *call,
                                       pse_block *block, const pse_engine_row_block *rows, bool private_copy,
                                       int *code);
/* Copy a part from one array to another; returns the bytes copied. */
uint64_t pse_engine_buffer_move(const pse_engine *s, const pse_part *part, char *to, const char *from);
/* Whether one slot or message is all that holds the block, and no module keeps it. */
bool pse_engine_buffer_is_own(const pse_engine *s, const pse_block *block);
/* Whether this rank's slot is the only holder, so that the block may be written in place.  If not, ask to be
 * rung. */
bool pse_engine_buffer_exclusive(pse_engine *s, pse_block *block);
/* Write the head of a buffer that this rank has just made, and record that it was allocated; returns it. */
pse_block *pse_engine_buffer_describe(pse_engine *s, pse_block *block, const pse_layout *layout,
                                      uint32_t site, uint64_t tph);
/* Write the head of a view of a buffer whose memory another head stands for. */
pse_block *pse_engine_buffer_describe_view(const pse_engine *s, pse_block *block, const pse_layout *layout,
                                           uint32_t site, uint64_t tph);
/* The address of the data for a module: from now on what lies beside them is forbidden, if that is wanted. */
void *pse_engine_buffer_expose(const pse_engine *s, const pse_block *block);
void pse_engine_buffers_destroy(pse_engine *s);

void pse_engine_layout_fill(pse_layout *layout, uint16_t dtype, uint32_t itemsize, int ndim,
                            const int64_t *shape);
uint64_t pse_engine_layout_bytes(const pse_layout *layout);
bool pse_engine_layout_is(const pse_layout *layout, int ndim, const int64_t *shape);

static inline bool pse_engine_buffer_is_private(const pse_block *block)
{
    return (block->flags & PSE_BLOCK_PRIVATE) != 0;
}

#endif
