#include "number_keys.h"

static uint64_t slot_of(const pse_recorder_keys *known, uint64_t key)
{
    uint64_t mixed = key * 0x9e3779b97f4a7c15u, slot = (mixed ^ mixed >> 32) & known->mask;
    while (known->slot[slot] && known->key[known->slot[slot] - 1] != key)
        slot = (slot + 1) & known->mask;
    return slot;
}

uint64_t pse_recorder_number_keys(const uint64_t *keys, uint64_t count, pse_recorder_keys *known,
                                  int64_t *numbers)
{
    for (uint64_t i = 0; i < count; i++) {
        if (i && keys[i] == keys[i - 1]) {
            numbers[i] = numbers[i - 1];
            continue;
        }
        uint64_t slot = slot_of(known, keys[i]);
        if (!known->slot[slot]) {
            if (known->count == known->room)
                return i;
            known->key[known->count++] = keys[i];
            known->slot[slot] = (uint32_t)known->count;
        }
        numbers[i] = (int64_t)known->slot[slot] - 1;
    }
    return count;
}
