/* What waits cost that made other ranks wait later: the backward pass of the delay analysis. */
#ifndef PSE_WAIT_PROPAGATION_H
#define PSE_WAIT_PROPAGATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits of all ranks: by rank, then by their begin. */
typedef struct pse_replay_waits {
    const double *wait;  /* ns */
    const double *cost;  /* ns that are to be explained by what came before: the wait's own, or 0 */
    const double *cause; /* ns that the late rank computed longer, and waited itself, in the interval */
    const uint64_t *first, *last; /* the late rank's waits in the interval: a range */
    const double *before; /* ns of the first of these that are before the interval */
    const uint64_t *order;        /* all of them, the one that ended last at first */
    uint64_t count;
} pse_replay_waits;

/* Pass the costs of each wait back to the waits of the rank that it waited for, `wait / cause` of them to
 * each, of a wait that began before the interval what is in it; indirect[i] is what wait i gets of later ones.  Returns 0, or -1 without memory. */
int pse_replay_propagate(const pse_replay_waits *waits, double *indirect);

#ifdef __cplusplus
}
#endif
#endif
