#include "transport/posting.h"

#include <stdlib.h>
#include <string.h>

#include "state/engine_state.h"

bool pse_engine_posting_create(pse_engine *s)
{
    s->posting.sequences = calloc(s->plan->ranks, sizeof *s->posting.sequences);
    s->posting.held = calloc(s->plan->ranks, sizeof *s->posting.held);
    s->posting.blocked = calloc(s->plan->ranks, sizeof *s->posting.blocked);
    return s->posting.sequences != NULL && s->posting.held != NULL && s->posting.blocked != NULL;
}

void pse_engine_posting_destroy(pse_engine *s)
{
    free(s->posting.overflow);
    free(s->posting.overflow_ranks);
    free(s->posting.held);
    free(s->posting.blocked);
    free(s->posting.outbox);
    free(s->posting.outbox_given);
    free(s->posting.sequences);
}

/* Make room for one more; false: no memory. */
static bool grow(void **array, size_t size, size_t item)
{
    void *wider = realloc(*array, size * item);
    if (wider != NULL)
        *array = wider;
    return wider != NULL;
}

static size_t doubled(size_t size)
{
    return size ? 2 * size : 64;
}

static void count_posted(pse_engine *s, const pse_message *message)
{
    if (message->kind != PSE_CARRIES_QUESTION && message->kind != PSE_CARRIES_ANSWER)
        s->posting.posted++;
}

void pse_engine_ring_all(pse_engine *s)
{
    for (uint32_t i = 0; i < s->posting.rings; i++)
        pse_channel_bell_ring(pse_board_slot(s->board, s->posting.to_ring[i]));
    s->posting.rings = 0;
}

static bool widen_overflow(pse_engine *s)
{
    pse_engine_posting *posting = &s->posting;
    if (posting->overflow_count < posting->overflow_size)
        return true;
    size_t size = doubled(posting->overflow_size);
    if (!grow((void **)&posting->overflow, size, sizeof *posting->overflow) ||
        !grow((void **)&posting->overflow_ranks, size, sizeof *posting->overflow_ranks))
        return false;
    posting->overflow_size = size;
    return true;
}

/* The inbox is full: keep the message, behind those that wait for it already. */
static void hold(pse_engine *s, uint32_t rank, const pse_message *message)
{
    pse_engine_posting *posting = &s->posting;
    if (!widen_overflow(s)) {
        s->out_of_memory = true;
        return;
    }
    posting->overflow[posting->overflow_count] = *message;
    posting->overflow_ranks[posting->overflow_count++] = rank;
    posting->held[rank]++;
    posting->held_orders += message->kind == PSE_CARRIES_ORDER;
}

void pse_engine_post(pse_engine *s, uint32_t rank, const pse_message *message)
{
    count_posted(s, message);
    if (s->posting.held[rank] > 0 || !pse_channel_inbox_put(pse_board_inbox(s->board, rank), message)) {
        hold(s, rank, message);
        return;
    }
    if (s->posting.rings == PSE_RINGS)
        pse_engine_ring_all(s);
    s->posting.to_ring[s->posting.rings++] = rank;
}

bool pse_engine_flush_overflow(pse_engine *s)
{
    pse_engine_posting *posting = &s->posting;
    size_t left = 0;
    posting->turn++;
    for (size_t i = 0; i < posting->overflow_count; i++) {
        uint32_t rank = posting->overflow_ranks[i];
        const pse_message *message = &posting->overflow[i];
        if (posting->blocked[rank] != posting->turn &&
            pse_channel_inbox_put(pse_board_inbox(s->board, rank), message)) {
            posting->held[rank]--;
            posting->held_orders -= message->kind == PSE_CARRIES_ORDER;
            pse_channel_bell_ring(pse_board_slot(s->board, rank));
        } else {
            posting->blocked[rank] = posting->turn;
            posting->overflow[left] = *message;
            posting->overflow_ranks[left++] = rank;
        }
    }
    posting->overflow_count = left;
    return left > 0;
}

pse_outgoing *pse_engine_new_outgoing(pse_engine *s, uint32_t rank, const pse_message *message)
{
    pse_engine_posting *posting = &s->posting;
    if (posting->outbox_count == posting->outbox_size) {
        size_t size = doubled(posting->outbox_size);
        if (!grow((void **)&posting->outbox, size, sizeof *posting->outbox)) {
            s->out_of_memory = true;
            return NULL;
        }
        posting->outbox_size = size;
    }
    pse_outgoing *entry = &posting->outbox[posting->outbox_count++];
    memset(entry, 0, sizeof *entry);
    entry->rank = rank;
    entry->message = *message;
    count_posted(s, message);
    return entry;
}

void pse_engine_post_remote(pse_engine *s, uint32_t rank, const pse_message *message)
{
    pse_engine_new_outgoing(s, rank, message);
}

void pse_engine_post_remote_array(pse_engine *s, uint32_t rank, const pse_message *message, pse_block *block,
                                  void *data, const pse_layout *layout)
{
    pse_outgoing *entry = pse_engine_new_outgoing(s, rank, message);
    if (entry == NULL)
        return;
    entry->buffer = block;
    entry->layout = *layout;
    entry->data = data;
}

void pse_engine_tell(pse_engine *s, uint32_t rank, const pse_message *message)
{
    if (s->plan->remote[rank])
        pse_engine_post_remote(s, rank, message);
    else
        pse_engine_post(s, rank, message);
}
