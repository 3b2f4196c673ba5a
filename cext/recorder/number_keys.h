/* Number keys of which there are few in the order in which they first come. */
#ifndef PSE_NUMBER_KEYS_H
#define PSE_NUMBER_KEYS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The keys that are known so far. */
typedef struct pse_recorder_keys {
    uint64_t *key;  /* By number. */
    uint64_t count; /* How many there are. */
    uint64_t room;  /* How many there may be. */
    uint32_t *slot; /* A number from 1; 0 for an empty slot. */
    uint64_t mask;  /* Slots less 1; a power of two of them, more than `room`. */
} pse_recorder_keys;

/* Write the number of each of `count` keys; returns how many were numbered, fewer if there is no room. */
uint64_t pse_recorder_number_keys(const uint64_t *keys, uint64_t count, pse_recorder_keys *known,
                                  int64_t *numbers);

#ifdef __cplusplus
}
#endif
#endif
