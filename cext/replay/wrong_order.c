#include "wrong_order.h"

#include <math.h>

/* The late messages that are looked at; the last one may be of the call that is at work. */
typedef struct kept_messages {
    uint64_t message[PSE_REPLAY_KEPT];
    uint64_t used, next;
    uint64_t last;
    double latest; /* No message before the last was sent later. */
} kept_messages;

static void keep(kept_messages *kept, const double *sent, uint64_t message)
{
    if (kept->used && sent[kept->last] > kept->latest)
        kept->latest = sent[kept->last];
    kept->last = message;
    kept->message[kept->next] = message;
    kept->next = (kept->next + 1) % PSE_REPLAY_KEPT;
    kept->used += kept->used < PSE_REPLAY_KEPT;
}

/* Whether a message was sent before one that is kept; mostly none was. */
static int overtakes(const kept_messages *kept, const double *sent, const uint32_t *call, uint64_t message)
{
    return kept->used && (sent[message] < kept->latest ||
                          (sent[message] < sent[kept->last] && call[message] != call[kept->last]));
}

void pse_replay_wrong_order(const double *sent, const uint8_t *late, const uint32_t *sender,
                            const uint32_t *call, uint64_t count, uint8_t *order)
{
    kept_messages kept = {.used = 0, .latest = -INFINITY};
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t looked_at = overtakes(&kept, sent, call, i) ? kept.used : 0;
        for (uint64_t k = 0; k < looked_at; k++) {
            uint64_t other = kept.message[k];
            if (order[other] == PSE_ORDER_RIGHT && sent[i] < sent[other] && call[i] != call[other])
                order[other] = sender[i] == sender[other] ? PSE_ORDER_SAME_SOURCE : PSE_ORDER_OTHER_SOURCE;
        }
        if (late[i])
            keep(&kept, sent, i);
    }
}
