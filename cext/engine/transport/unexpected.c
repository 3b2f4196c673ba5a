#include "transport/unexpected.h"

#include <stdlib.h>

#include "state/engine_state.h"

static void append(pse_engine_message_list *list, pse_engine_unexpected_message *item)
{
    item->next = NULL;
    if (list->last != NULL)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
}

/* Take out the one after `before` (NULL: the first). */
static pse_engine_unexpected_message *unlink_after(pse_engine_message_list *list,
                                                   pse_engine_unexpected_message *before)
{
    pse_engine_unexpected_message **link = before != NULL ? &before->next : &list->first, *item = *link;
    *link = item->next;
    if (list->last == item)
        list->last = before;
    return item;
}

bool pse_engine_list_append(pse_engine *s, pse_engine_message_list *list, const pse_message *message)
{
    pse_engine_unexpected_message *item = s->unexpected.spare;
    if (item != NULL)
        s->unexpected.spare = item->next;
    else
        item = malloc(sizeof *item);
    if (item == NULL)
        return false;
    item->message = *message;
    append(list, item);
    return true;
}

void pse_engine_list_remove(pse_engine *s, pse_engine_message_list *list,
                            pse_engine_unexpected_message *before)
{
    pse_engine_unexpected_message *item = unlink_after(list, before);
    item->next = s->unexpected.spare;
    s->unexpected.spare = item;
}

void pse_engine_list_free(pse_engine_message_list *list)
{
    while (list->first != NULL)
        free(unlink_after(list, NULL));
}

static pse_engine_message_list *list_of_edge(pse_context *context, uint32_t edge)
{
    return &context->arrivals[edge % PSE_ARRIVAL_LISTS];
}

static pse_engine_message_list *list_of_tph(pse_engine *s, uint64_t tph)
{
    return &s->unexpected.strays[(tph ^ (tph >> 16) ^ (tph >> 40)) % PSE_STRAY_LISTS];
}

void pse_engine_keep_unexpected(pse_engine *s, pse_context *context, const pse_message *message)
{
    if (!pse_engine_list_append(s, list_of_edge(context, message->edge), message))
        s->out_of_memory = true;
}

void pse_engine_keep_stray(pse_engine *s, const pse_message *message)
{
    if (!pse_engine_list_append(s, list_of_tph(s, message->tph), message))
        s->out_of_memory = true;
}

void pse_engine_adopt_strays(pse_engine *s, pse_context *context)
{
    pse_engine_message_list *strays = list_of_tph(s, context->tph);
    pse_engine_unexpected_message *before = NULL, *item = strays->first;
    while (item != NULL) {
        pse_engine_unexpected_message *next = item->next;
        if (item->message.tph == context->tph)
            append(list_of_edge(context, item->message.edge), unlink_after(strays, before));
        else
            before = item;
        item = next;
    }
}

void pse_engine_unexpected_destroy(pse_engine *s)
{
    for (uint32_t i = 0; i < PSE_STRAY_LISTS; i++)
        pse_engine_list_free(&s->unexpected.strays[i]);
    while (s->unexpected.spare != NULL) {
        pse_engine_unexpected_message *item = s->unexpected.spare;
        s->unexpected.spare = item->next;
        free(item);
    }
}
