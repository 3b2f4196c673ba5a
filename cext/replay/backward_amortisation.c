#include "backward_amortisation.h"

#include <stdlib.h>

enum { FIRST_ROOM = 256 };

static const int64_t LONG_AGO = -(INT64_C(1) << 62);

/* Where the gradual shift before a jump ends. */
typedef struct ramp {
    const pse_replay_order_of_events *order;
    const int64_t *corrected, *limits;
    pse_replay_shifts *found;
    uint64_t first_row; /* of this ramp */
} ramp;

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* Edges from the last one to the first; of those between joins the later ones are known then. */
static void take_edges(const pse_replay_order_of_events *order, const int64_t *until, int from_joins,
                       int to_joins, int64_t *limits)
{
    for (uint64_t edge = order->edges; edge-- > 0;) {
        const uint64_t before = order->before[edge], after = order->after[edge];
        if ((before >= order->events) == from_joins && (after >= order->events) == to_joins &&
            until[after] != INT64_MAX)
            limits[before] = least(limits[before], until[after] - order->latency[edge]);
    }
}

/* How late each event may be for what happened after it on other ranks; INT64_MAX: that does not matter. */
static int64_t *find_limits(const pse_replay_order_of_events *order, const int64_t *corrected)
{
    const uint64_t nodes = order->events + order->joins;
    int64_t *limits = malloc((nodes + 1) * sizeof *limits);
    if (!limits)
        return NULL;
    for (uint64_t node = 0; node < nodes; node++)
        limits[node] = INT64_MAX;
    take_edges(order, corrected, 0, 0, limits);
    take_edges(order, corrected, 1, 0, limits);
    take_edges(order, limits, 1, 1, limits);
    take_edges(order, limits, 0, 1, limits);
    return limits;
}

static int put(pse_replay_shifts *found, uint64_t event, int64_t time, int64_t shift)
{
    if (found->count == found->room) {
        const uint64_t room = found->room ? 2 * found->room : FIRST_ROOM;
        pse_replay_shift *rows = realloc(found->rows, room * sizeof *rows);
        if (!rows)
            return -1;
        found->rows = rows;
        found->room = room;
    }
    found->rows[found->count++] = (pse_replay_shift){.event = event, .time = time, .shift = shift};
    return 0;
}

/* Whether the second of three ends of lines, each earlier than the one before, is not below the line between
 * the others. */
static int is_above(const pse_replay_shift *late, const pse_replay_shift *middle, int64_t time, int64_t shift)
{
    return (__int128)(middle->shift - shift) * (late->time - time) >=
           (__int128)(late->shift - shift) * (middle->time - time);
}

/* Add an earlier end of a line; those that would bend the shift upwards go. */
static int bend(ramp *at, uint64_t event, int64_t time, int64_t shift)
{
    pse_replay_shifts *found = at->found;
    while (found->count >= at->first_row + 2 &&
           is_above(&found->rows[found->count - 2], &found->rows[found->count - 1], time, shift))
        found->count--;
    return put(found, event, time, shift);
}

/* The shift from a jump back to `begin`; the least shift that was allowed so far is in `allowed`. */
static int go_back(ramp *at, uint64_t jump, uint64_t first, int64_t begin, int64_t *allowed)
{
    for (uint64_t event = jump; event-- > first && at->order->time[event] >= begin;) {
        if (at->limits[event] == INT64_MAX || at->order->time[event] == at->order->time[jump])
            continue;
        const int64_t room = at->limits[event] - at->corrected[event];
        if (room >= *allowed)
            continue;
        *allowed = room > 0 ? room : 0;
        if (bend(at, event, at->order->time[event], *allowed))
            return -1;
    }
    return 0;
}

/* Spread the jump of an event, and what is left of the shift after it; `previous` is the event that was moved
 * before it, or before the rank's first.  `shift` is that right after the jump, and becomes that right after
 * the previous. */
static int spread(ramp *at, uint64_t jump, uint64_t first, uint64_t previous, int64_t *shift)
{
    const int64_t *time = at->order->time, slope = at->order->reach;
    const int has_previous = previous >= first && previous < jump;
    int64_t without = time[jump], begin = LONG_AGO;
    if (has_previous) {
        const int64_t since = time[jump] - time[previous];
        const int64_t amortised = at->corrected[previous] + since - since / at->order->amortisation;
        without = amortised > without ? amortised : without;
        begin = time[previous];
    }
    const int64_t whole = *shift + at->corrected[jump] - without;
    const __int128 reach = (__int128)whole * slope;
    const int reaches = reach >= (__int128)time[jump] - begin;
    if (!reaches)
        begin = time[jump] - (int64_t)reach;
    int64_t allowed = whole, rest = whole - (time[jump] - begin + slope - 1) / slope;
    if (put(at->found, jump, time[jump], *shift))
        return -1;
    at->first_row = at->found->count;
    if (put(at->found, jump, time[jump], whole) ||
        go_back(at, jump, has_previous ? previous + 1 : first, begin, &allowed))
        return -1;
    rest = least(rest > 0 ? rest : 0, allowed);
    *shift = has_previous && reaches ? rest : 0;
    return bend(at, jump, begin, rest);
}

/* All jumps of a rank, the last one first. */
static int spread_all(ramp *at, const uint8_t *moved, uint64_t first, uint64_t end)
{
    int64_t shift = 0;
    uint64_t jump = end;
    for (uint64_t event = end; event-- > first;) {
        if (!moved[event])
            continue;
        if (jump < end && spread(at, jump, first, event, &shift))
            return -1;
        jump = event;
    }
    return jump < end ? spread(at, jump, first, jump, &shift) : 0;
}

int pse_replay_amortise_backward(const pse_replay_order_of_events *order, const int64_t *corrected,
                                 const uint8_t *moved, pse_replay_shifts *found)
{
    int64_t *limits = find_limits(order, corrected);
    if (!limits)
        return -1;
    ramp at = {order, corrected, limits, found, 0};
    int failed = 0;
    for (uint64_t end = order->events, first = end; end > 0 && !failed; end = first) {
        for (first = end - 1; first > 0 && !order->is_first[first]; first--)
            ;
        failed = spread_all(&at, moved, first, end);
    }
    free(limits);
    return failed;
}
