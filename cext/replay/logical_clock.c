#include "logical_clock.h"

#include <stdlib.h>

/* What is known of events and joins while they are gone through. */
typedef struct progress {
    uint64_t *first_edge, *edge_of; /* the edges that begin at each node, as indices of `after` */
    uint64_t *ready;                /* nodes of which all that happened before is known */
    uint64_t *mover;                /* the event that moved this one or an earlier one of the rank, + 1 */
    uint32_t *missing;              /* how many nodes before it are not known */
    int64_t *earliest;              /* what the known ones say */
    uint64_t ready_count, done;
} progress;

static void end(progress *at)
{
    free(at->first_edge);
    free(at->edge_of);
    free(at->ready);
    free(at->mover);
    free(at->missing);
    free(at->earliest);
}

static int begin(progress *at, const pse_replay_order_of_events *order)
{
    uint64_t nodes = order->events + order->joins;
    *at = (progress){
        .first_edge = calloc(nodes + 2, sizeof(uint64_t)),
        .edge_of = malloc((order->edges + 1) * sizeof(uint64_t)),
        .ready = malloc((nodes + 1) * sizeof(uint64_t)),
        .mover = calloc(nodes + 1, sizeof(uint64_t)),
        .missing = calloc(nodes + 1, sizeof(uint32_t)),
        .earliest = malloc((nodes + 1) * sizeof(int64_t)),
    };
    return at->first_edge && at->edge_of && at->ready && at->mover && at->missing && at->earliest ? 0 : -1;
}

/* Edges by the node that they begin at, and how many end at each. */
static void sort_edges(progress *at, const pse_replay_order_of_events *order)
{
    uint64_t nodes = order->events + order->joins;
    for (uint64_t edge = 0; edge < order->edges; edge++) {
        at->first_edge[order->before[edge] + 2]++;
        at->missing[order->after[edge]]++;
    }
    for (uint64_t node = 2; node <= nodes; node++)
        at->first_edge[node] += at->first_edge[node - 1];
    for (uint64_t edge = 0; edge < order->edges; edge++)
        at->edge_of[at->first_edge[order->before[edge] + 1]++] = edge;
}

static void find_ready(progress *at, const pse_replay_order_of_events *order)
{
    uint64_t nodes = order->events + order->joins;
    for (uint64_t node = nodes; node-- > 0;) {
        at->earliest[node] = INT64_MIN;
        at->missing[node] += node < order->events && !order->is_first[node];
        if (!at->missing[node])
            at->ready[at->ready_count++] = node;
    }
}

static void know(progress *at, uint64_t node)
{
    if (at->missing[node] && !--at->missing[node])
        at->ready[at->ready_count++] = node;
}

/* The corrected time of an event: its own, or that of the rank after an event that was moved, or that of what
 * happened before. */
static int64_t time_of(progress *at, const pse_replay_order_of_events *order, uint64_t event,
                       const int64_t *corrected, uint8_t *moved)
{
    int64_t time = order->time[event];
    uint64_t mover = order->is_first[event] ? 0 : at->mover[event - 1];
    if (mover) {
        int64_t since = time - order->time[mover - 1];
        int64_t amortised = corrected[mover - 1] + since - since / order->amortisation;
        time = amortised > time ? amortised : time;
    }
    if (at->earliest[event] > time) {
        time = at->earliest[event];
        moved[event] = 1;
        mover = event + 1;
    }
    at->mover[event] = mover;
    return time;
}

static void pass_on(progress *at, const pse_replay_order_of_events *order, uint64_t node, int64_t time)
{
    for (uint64_t i = at->first_edge[node]; i < at->first_edge[node + 1]; i++) {
        uint64_t after = order->after[at->edge_of[i]];
        int64_t least = time + order->latency[at->edge_of[i]];
        if (least > at->earliest[after])
            at->earliest[after] = least;
        know(at, after);
    }
    if (node + 1 < order->events && !order->is_first[node + 1])
        know(at, node + 1);
}

static void take(progress *at, const pse_replay_order_of_events *order, uint64_t node, int64_t *corrected,
                 uint8_t *moved)
{
    at->done++;
    corrected[node] = node < order->events ? time_of(at, order, node, corrected, moved) : at->earliest[node];
    pass_on(at, order, node, corrected[node]);
}

int pse_replay_logical_clock(const pse_replay_order_of_events *order, int64_t *corrected, uint8_t *moved,
                             uint64_t *circular)
{
    uint64_t nodes = order->events + order->joins;
    progress at;
    if (begin(&at, order)) {
        end(&at);
        return -1;
    }
    sort_edges(&at, order);
    find_ready(&at, order);
    while (at.ready_count)
        take(&at, order, at.ready[--at.ready_count], corrected, moved);
    *circular = nodes - at.done;
    /* In the order of their ranks: what is before an event in its rank is known. */
    for (uint64_t node = 0; node < nodes && *circular; node++)
        if (at.missing[node])
            corrected[node] =
                node < order->events ? time_of(&at, order, node, corrected, moved) : at.earliest[node];
    end(&at);
    return 0;
}
