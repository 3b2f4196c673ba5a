/* Changes of a handle table: growing, adding and taking. */
#include "handle_table.h"

#include "tool.h"

static int grow(struct pse_handle_table *table)
{
    struct pse_handle_table larger = {NULL, table->size ? 2 * table->size : 64, table->used, true};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return -1;
    for (size_t i = 0; i < table->size; i++)
        if (table->slots[i].first)
            *pse_handle_slot_of(&larger, table->slots[i].key) = table->slots[i];
    if (table->has_grown)
        free(table->slots);
    *table = larger;
    return 0;
}

int pse_handle_add(struct pse_handle_table *table, uintptr_t key, void *entry)
{
    struct pse_handle_node *node = entry;
    if (2 * (table->used + 1) > table->size && grow(table) != 0)
        return -1;
    struct pse_handle_slot *slot = pse_handle_slot_of(table, key);
    node->next = NULL;
    node->thread = pse_tool_self();
    if (slot->first) {
        slot->first->last->next = node;
        slot->first->last = node;
    } else {
        node->last = node;
        *slot = (struct pse_handle_slot){key, node};
        table->used++;
    }
    return 0;
}

/* Put an entry, which another one is before, first. */
static void put_first(struct pse_handle_slot *slot, struct pse_handle_node *before)
{
    struct pse_handle_node *entry = before->next;
    before->next = entry->next;
    entry->last = slot->first->last == entry ? before : slot->first->last;
    entry->next = slot->first;
    slot->first = entry;
}

void *pse_handle_find_own(struct pse_handle_table *table, uintptr_t key)
{
    const uintptr_t self = pse_tool_self();
    struct pse_handle_node *before = pse_handle_find(table, key);
    if (!before || before->thread == self)
        return before;
    struct pse_handle_slot *slot = pse_handle_slot_of(table, key);
    while (before->next && before->next->thread != self)
        before = before->next;
    if (before->next)
        put_first(slot, before);
    return slot->first;
}

static void close_gap(struct pse_handle_table *table, size_t gap)
{
    size_t mask = table->size - 1;
    for (size_t at = (gap + 1) & mask; table->slots[at].first; at = (at + 1) & mask) {
        size_t home = pse_handle_home(table, table->slots[at].key);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            table->slots[gap] = table->slots[at];
            gap = at;
        }
    }
    table->slots[gap].first = NULL;
}

void *pse_handle_take(struct pse_handle_table *table, uintptr_t key)
{
    struct pse_handle_slot *slot = table->size ? pse_handle_slot_of(table, key) : NULL;
    struct pse_handle_node *node = slot ? slot->first : NULL;
    if (!node)
        return NULL;
    slot->first = node->next;
    if (node->next) {
        node->next->last = node->last;
    } else {
        table->used--;
        close_gap(table, (size_t)(slot - table->slots));
    }
    return node;
}
