/* A table from MPI handles to what a tool knows of them, for tools that don't rely on the stack for it.
 *
 * Open addressing with linear probing; a removed entry's followers move up, so there are no tombstones.  MPI
 * may give one handle to several operations at once (MPICH does for sends that are complete when they start):
 * an entry is a queue, `handles_add` puts at its end and `handles_take` takes from its front.
 *
 * Not for several threads at once: the tool holds its lock.  May touch: its own memory.
 */
#ifndef PSE_HANDLES_H
#define PSE_HANDLES_H

#include <stdint.h>
#include <stdlib.h>

/* The head of whatever is kept for a handle. */
struct handle_node {
    struct handle_node *next, *last; /* last: of the first node only */
};

struct handles {
    struct handle_slot {
        uintptr_t key;
        struct handle_node *first; /* NULL: the slot is free */
    } *slots;
    size_t size, used; /* size: a power of two, or 0 */
};

static inline size_t handles_home(const struct handles *table, uintptr_t key)
{
    return (size_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 32) & (table->size - 1);
}

/* The slot of a key, or the free one where it belongs. */
static inline struct handle_slot *handles_slot(const struct handles *table, uintptr_t key)
{
    size_t at = handles_home(table, key);
    while (table->slots[at].first && table->slots[at].key != key)
        at = (at + 1) & (table->size - 1);
    return &table->slots[at];
}

static inline void *handles_find(const struct handles *table, uintptr_t key)
{
    return table->size ? handles_slot(table, key)->first : NULL;
}

static inline int handles_grow(struct handles *table)
{
    struct handles larger = {NULL, table->size ? 2 * table->size : 64, table->used};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return -1;
    for (size_t i = 0; i < table->size; i++)
        if (table->slots[i].first)
            *handles_slot(&larger, table->slots[i].key) = table->slots[i];
    free(table->slots);
    *table = larger;
    return 0;
}

/* Nonzero: no memory. */
static inline int handles_add(struct handles *table, uintptr_t key, void *entry)
{
    struct handle_node *node = entry;
    if (2 * (table->used + 1) > table->size && handles_grow(table) != 0)
        return -1;
    struct handle_slot *slot = handles_slot(table, key);
    node->next = NULL;
    if (slot->first) {
        slot->first->last->next = node;
        slot->first->last = node;
    } else {
        node->last = node;
        *slot = (struct handle_slot){key, node};
        table->used++;
    }
    return 0;
}

static inline void handles_close_gap(struct handles *table, size_t gap)
{
    size_t mask = table->size - 1;
    for (size_t at = (gap + 1) & mask; table->slots[at].first; at = (at + 1) & mask) {
        size_t home = handles_home(table, table->slots[at].key);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            table->slots[gap] = table->slots[at];
            gap = at;
        }
    }
    table->slots[gap].first = NULL;
}

/* Remove and return the oldest entry of a key, NULL if there is none. */
static inline void *handles_take(struct handles *table, uintptr_t key)
{
    struct handle_slot *slot = table->size ? handles_slot(table, key) : NULL;
    struct handle_node *node = slot ? slot->first : NULL;
    if (!node)
        return NULL;
    slot->first = node->next;
    if (node->next) {
        node->next->last = node->last;
    } else {
        table->used--;
        handles_close_gap(table, (size_t)(slot - table->slots));
    }
    return node;
}

#endif
