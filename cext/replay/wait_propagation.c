#include "wait_propagation.h"

#include <stdlib.h>

enum {
    MOST_SWEEPS = 64
}; /* Waits that wait for each other in a circle, by wrong clocks, never come to rest. */

/* Sums over all ranges that an index is in: a segment tree, so that nothing is ever subtracted. */
typedef struct range_sums {
    double *node;
    uint64_t leaves;
} range_sums;

static void add_to_range(range_sums *sums, uint64_t first, uint64_t last, double value)
{
    for (first += sums->leaves, last += sums->leaves; first < last; first /= 2, last /= 2) {
        if (first & 1)
            sums->node[first++] += value;
        if (last & 1)
            sums->node[--last] += value;
    }
}

static double sum_at(const range_sums *sums, uint64_t place)
{
    double sum = 0;
    for (place += sums->leaves; place; place /= 2)
        sum += sums->node[place];
    return sum;
}

/* What a wait has got of later ones. */
static double received(const pse_replay_waits *waits, const range_sums *rates, const double *partly,
                       uint64_t wait)
{
    return waits->wait[wait] * sum_at(rates, wait) + partly[wait];
}

/* Of the first wait of the interval only what is in it counts. */
static void pass_on(const pse_replay_waits *waits, range_sums *rates, double *partly, uint64_t wait,
                    double rate)
{
    uint64_t first = waits->first[wait];
    if (waits->before[wait] > 0) {
        partly[first] += rate * (waits->wait[first] - waits->before[wait]);
        first++;
    }
    add_to_range(rates, first, waits->last[wait], rate);
}

/* Pass on what has not been passed on; returns whether there was something. */
static int sweep(const pse_replay_waits *waits, range_sums *rates, double *partly, double *passed)
{
    int has_changed = 0;
    for (uint64_t i = 0; i < waits->count; i++) {
        uint64_t wait = waits->order[i];
        double cost = waits->cost[wait] + received(waits, rates, partly, wait);
        if (cost > passed[wait] && waits->first[wait] < waits->last[wait] && waits->cause[wait] > 0) {
            pass_on(waits, rates, partly, wait, (cost - passed[wait]) / waits->cause[wait]);
            has_changed = 1;
        }
        passed[wait] = cost;
    }
    return has_changed;
}

int pse_replay_propagate(const pse_replay_waits *waits, double *indirect)
{
    range_sums rates = {.node = calloc(2 * waits->count + 2, sizeof(double)), .leaves = waits->count};
    double *passed = calloc(waits->count + 1, sizeof(double));
    double *partly = calloc(waits->count + 1, sizeof(double));
    int failed = !rates.node || !passed || !partly;
    for (int i = 0; !failed && i < MOST_SWEEPS && sweep(waits, &rates, partly, passed); i++)
        ;
    for (uint64_t i = 0; !failed && i < waits->count; i++)
        indirect[i] = received(waits, &rates, partly, i);
    free(rates.node);
    free(passed);
    free(partly);
    return failed ? -1 : 0;
}
