/* A table from MPI handles to what a tool knows of them.
 *
 * Open addressing with linear probing; a removed entry's followers move up, so there are no tombstones.  MPI
 * may give one handle to several operations at once (MPICH does for sends that are complete when they start):
 * an entry is a queue, `pse_handle_add` puts at its end and `pse_handle_take` takes from its front.
 *
 * Not for several threads at once: the tool holds its lock.
 */
#ifndef PSE_TOOL_HANDLE_TABLE_H
#define PSE_TOOL_HANDLE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The head of whatever is kept for a handle. */
struct pse_handle_node {
    struct pse_handle_node *next, *last; /* last: of the first node only */
    uintptr_t thread;                    /* that added it: a pse_tool_self */
};

struct pse_handle_table {
    struct pse_handle_slot {
        uintptr_t key;
        struct pse_handle_node *first; /* NULL: the slot is free */
    } *slots;
    size_t size, used; /* size: a power of two, or 0 */
    bool has_grown;    /* else the slots, if there are any, are its owner's */
};

static inline size_t pse_handle_home(const struct pse_handle_table *table, uintptr_t key)
{
    return (size_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 32) & (table->size - 1);
}

/* The slot of a key, or the free one where it belongs. */
static inline struct pse_handle_slot *pse_handle_slot_of(const struct pse_handle_table *table, uintptr_t key)
{
    size_t at = pse_handle_home(table, key);
    while (table->slots[at].first && table->slots[at].key != key)
        at = (at + 1) & (table->size - 1);
    return &table->slots[at];
}

static inline void *pse_handle_find(const struct pse_handle_table *table, uintptr_t key)
{
    return table->size ? pse_handle_slot_of(table, key)->first : NULL;
}

/* Add an entry, which begins with its node, at the end of the key's queue; nonzero: there is no memory. */
int pse_handle_add(struct pse_handle_table *table, uintptr_t key, void *entry);

/* The oldest entry of a key that this thread has added, or else the oldest one.  It is first from then on.
 *
 * MPI gives the handle of a request that is complete to the next thread that asks, whose request may end
 * before the other thread writes down the end of its own: a thread has its own ones first. */
void *pse_handle_find_own(struct pse_handle_table *table, uintptr_t key);

/* Remove and return the oldest entry of a key, NULL if there is none. */
void *pse_handle_take(struct pse_handle_table *table, uintptr_t key);

/* All entries of a table, in no order. */
#define PSE_HANDLE_EACH(table, type, entry)                                                                  \
    for (size_t i_ = 0; i_ < (table)->size; i_++)                                                            \
        for (type *entry = (type *)(table)->slots[i_].first; entry; entry = (type *)entry->node.next)

#endif
