/* Find what two sorted lists have in common: the ends of messages. */
#ifndef PSE_MATCH_ENDS_H
#define PSE_MATCH_ENDS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The keys of one list: (way, number), ascending. */
typedef struct pse_recorder_ends {
    const uint64_t *way;
    const uint64_t *number;
    uint64_t count;
} pse_recorder_ends;

/* Write the places of equal keys: left[i] in `a` belongs to right[i] in `b`; each has room for the shorter
 * list. Of keys that come several times, the first belongs to the first and so on.  Returns how many there
 * are. */
uint64_t pse_recorder_match_ends(const pse_recorder_ends *a, const pse_recorder_ends *b, int64_t *left,
                                 int64_t *right);

#ifdef __cplusplus
}
#endif
#endif
