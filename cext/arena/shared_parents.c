/* Shared parents: several partitions of one distributed tag live in one block, and whoever comes first makes
 * it.
 *
 * The block starts with a reference for each partition, so it can't vanish before the last one has come.  An
 * entry counts as taken from the moment that its key is written, which is the last thing that happens to it.
 */
#include "internal.h"

pse_arena_shared_parent *pse_arena_parent_find(pse_arena_control *control, uint64_t key)
{
    for (uint32_t i = 0; i < control->key_end; i++)
        if (control->keys[i].key == key)
            return &control->keys[i];
    return NULL;
}

/* An entry for a new key, or NULL if all are taken. */
pse_arena_shared_parent *pse_arena_parent_free(pse_arena_control *control)
{
    pse_arena_shared_parent *entry = pse_arena_parent_find(control, 0);
    if (entry || control->key_end == PSE_SHARED_PARENTS)
        return entry;
    return &control->keys[control->key_end++];
}

void pse_arena_parent_add(pse_arena_shared_parent *entry, uint64_t key, pse_handle block, uint32_t parts)
{
    entry->block = block;
    entry->parts = parts;
    entry->missing = parts - 1;
    pse_arena_publish(&entry->key, entry->missing ? key : 0);
}

/* Forget entries whose last partition died before it could do so. */
void pse_arena_parent_repair(pse_arena_control *control)
{
    for (uint32_t i = 0; i < control->key_end; i++)
        if (control->keys[i].missing == 0)
            pse_arena_publish(&control->keys[i].key, 0);
}

/* One more partition has come; the last one takes the entry with it. */
pse_handle pse_arena_parent_join(pse_arena_shared_parent *entry)
{
    pse_handle block = entry->block;
    if (--entry->missing == 0)
        pse_arena_publish(&entry->key, 0);
    return block;
}
