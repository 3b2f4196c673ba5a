/* The controlled logical clock: times of events that keep the order which messages prove, and the ranks'
 * own times where these do.
 *
 * After R. Rabenseifner: The controlled logical clock, ICPP workshops 1997, and D. Becker, R. Rabenseifner,
 * F. Wolf, J. Linford: Scalable timestamp synchronization for event traces of message-passing applications,
 * Parallel Computing 35 (2009). */
#ifndef PSE_LOGICAL_CLOCK_H
#define PSE_LOGICAL_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_replay_order_of_events {
    const int64_t *time;            /* ns; events by rank, then in the rank's order */
    const uint8_t *is_first;        /* whether an event is the first one of its rank */
    uint64_t events, joins;         /* Joins are numbered after events; they have no time, and no rank. */
    const uint64_t *before, *after; /* edges: `before` happened before `after` */
    const int64_t *latency;         /* ns between both ends of an edge at least */
    uint64_t edges;
    int64_t amortisation; /* One n-th of the rank's own time is gained after an event was moved. */
    int64_t reach;        /* Before it, n times the time by which it was moved is stretched. */
} pse_replay_order_of_events;

/* Give each event and join a corrected time, and mark the events that were moved beyond what the rank's
 * earlier ones were.  Those that wait for each other in a circle keep their rank's order only; `circular`
 * gets their number.  Returns 0, or -1 without memory. */
int pse_replay_logical_clock(const pse_replay_order_of_events *order, int64_t *corrected, uint8_t *moved,
                             uint64_t *circular);

#ifdef __cplusplus
}
#endif
#endif
