#include "transport/unwanted.h"

#include <stdlib.h>

#include "state/buffers.h"
#include "state/engine_state.h"
#include "transport/credits.h"

/* All of an unwanted value has come and was dropped: its senders may send the next. */
static void unwanted_complete(pse_engine *s, const pse_engine_unwanted *item)
{
    uint64_t taken = pse_engine_count_taken(s, item->edge);
    for (uint32_t i = 0; i < item->count; i++)
        pse_engine_tell_taken(s, item->sources[i] - 1, item->edge, taken);
}

void pse_engine_drop_unwanted(pse_engine *s, pse_context *context, pse_engine_unwanted **link,
                              const pse_message *message)
{
    pse_engine_unwanted *item = *link;
    pse_block *buffer = pse_engine_message_buffer(s, message);
    if (buffer != NULL) {
        pse_engine_queue_changed(s, message->tph, message->edge, message->source, -1);
        pse_engine_buffer_release(s, buffer);
    }
    item->sources[message->index] = message->source + 1;
    if (--item->missing > 0)
        return;
    unwanted_complete(s, item);
    context->unwanted_count--;
    *link = item->next;
    free(item);
}

void pse_engine_forget(pse_engine *s, pse_context *context, const pse_engine_value *v)
{
    uint32_t count = v->count ? v->count : 1;
    pse_engine_unwanted *item = calloc(1, sizeof *item + count * sizeof *item->sources);
    if (item == NULL) {
        s->out_of_memory = true;
        return;
    }
    item->edge = v->edge;
    item->missing = v->missing;
    item->ticket = v->ticket;
    item->count = count;
    for (uint32_t i = 0; i < v->count; i++)
        item->sources[i] = v->as.pieces[i].here ? v->as.pieces[i].source + 1 : 0;
    pse_engine_unwanted **list = &context->unwanted[item->edge % PSE_ARRIVAL_LISTS];
    item->next = *list;
    *list = item;
    context->unwanted_count++;
}

pse_engine_unwanted **pse_engine_first_unwanted(pse_context *context, const pse_message *message)
{
    pse_engine_unwanted **first = NULL;
    for (pse_engine_unwanted **link = &context->unwanted[message->edge % PSE_ARRIVAL_LISTS]; *link != NULL;
         link = &(*link)->next)
        if ((*link)->edge == message->edge && (*link)->sources[message->index] == 0 &&
            (first == NULL || (*link)->ticket < (*first)->ticket))
            first = link;
    return first;
}
