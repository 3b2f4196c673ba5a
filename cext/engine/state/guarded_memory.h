/* Private buffers for debugging: each has pages of its own between two that nobody may touch, and is unmapped
 * when it is freed. */
#ifndef PSE_ENGINE_GUARDED_MEMORY_H
#define PSE_ENGINE_GUARDED_MEMORY_H

#include "arena.h"

/* Memory for a head and so many bytes, which end where a page ends; NULL: no memory. */
pse_block *pse_engine_guarded_make(uint64_t bytes);
void pse_engine_guarded_free(pse_block *block, uint64_t bytes);

/* As pse_arena_margin. */
const unsigned char *pse_engine_guarded_margin(const pse_block *block, uint64_t *bytes);

#endif
