/* Entries of handle tables: what is given back is taken again, since calloc and free would take longer than
 * all else that is recorded of a message.  The first ones of a kind stand beside what else each call needs.
 *
 * The lock is held.
 */
#ifndef PSE_TRACE_ENTRIES_H
#define PSE_TRACE_ENTRIES_H

#include <string.h>

#include "handle_table.h"
#include "hot.h"
#include "tool_memory.h"

struct trace_entries {
    struct pse_handle_node *spare; /* given back */
    char *next, *end;              /* of the first ones, those that nobody has had */
    size_t size;                   /* of one */
};

/* Entries of a kind, as many as mostly are in use at once: each begins with a line of the cache. */
#define PSE_TRACE_ENTRIES(name, type, count)                                                                 \
    PSE_TRACE_HOT_TABLE static union {                                                                       \
        type entry;                                                                                          \
        char lines[(sizeof(type) + PSE_TRACE_LINE - 1) / PSE_TRACE_LINE * PSE_TRACE_LINE];                   \
    } __attribute__((aligned(PSE_TRACE_LINE))) first_##name[count];                                          \
    PSE_TRACE_HOT_TABLE static struct trace_entries name = {                                                 \
        NULL, (char *)first_##name, (char *)(first_##name + (count)), sizeof *first_##name}

/* An entry, all zero. */
static inline void *pse_trace_new_entry(struct trace_entries *entries)
{
    struct pse_handle_node *spare = entries->spare;
    if (spare) {
        entries->spare = spare->next;
        return memset(spare, 0, entries->size);
    }
    if (entries->next == entries->end)
        return pse_tool_memory(entries->size);
    entries->next += entries->size;
    return entries->next - entries->size;
}

/* NULL is allowed. */
static inline void pse_trace_end_entry(struct trace_entries *entries, void *entry)
{
    struct pse_handle_node *node = entry;
    if (!node)
        return;
    node->next = entries->spare;
    entries->spare = node;
}

#endif
