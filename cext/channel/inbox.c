#include "inbox.h"

void pse_channel_inbox_initialise(pse_inbox *inbox)
{
    inbox->head = 0;
    atomic_store_explicit(&inbox->tail, 0, memory_order_relaxed);
    for (uint64_t place = 0; place < PSE_INBOX_PLACES; place++)
        atomic_store_explicit(&inbox->places[place].turn, place, memory_order_relaxed);
}

bool pse_channel_inbox_put(pse_inbox *inbox, const pse_message *message)
{
    uint64_t tail = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
    for (;;) {
        pse_place *place = &inbox->places[tail % PSE_INBOX_PLACES];
        int64_t ahead = (int64_t)(atomic_load_explicit(&place->turn, memory_order_acquire) - tail);
        if (ahead < 0)
            return false;
        if (ahead > 0) {
            tail = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&inbox->tail, &tail, tail + 1, memory_order_relaxed,
                                                         memory_order_relaxed)) {
            place->message = *message;
            atomic_store_explicit(&place->turn, tail + 1, memory_order_release);
            return true;
        }
    }
}

bool pse_channel_inbox_take(pse_inbox *inbox, pse_message *message)
{
    uint64_t head = inbox->head;
    pse_place *place = &inbox->places[head % PSE_INBOX_PLACES];
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != head + 1)
        return false;
    *message = place->message;
    atomic_store_explicit(&place->turn, head + PSE_INBOX_PLACES, memory_order_release);
    inbox->head = head + 1;
    return true;
}
