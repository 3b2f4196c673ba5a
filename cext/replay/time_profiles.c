#include "time_profiles.h"

#include <stdlib.h>

enum { LEAST_BLOCK = 1024, FIRST_ROOM = 1024 };

/* Sums over call paths while one interval is gone through, and sums of all spans before each block. */
typedef struct workspace {
    double *sums;
    uint32_t *touched;
    uint64_t touched_count;
    double *before; /* a row of call paths for each block; NULL: all intervals are short */
    uint64_t block; /* spans of a block, no fewer than call paths */
} workspace;

static void add(workspace *work, uint32_t path, double time)
{
    if (!(time > 0))
        return;
    if (work->sums[path] == 0)
        work->touched[work->touched_count++] = path;
    work->sums[path] += time;
}

static void add_spans(workspace *work, const pse_replay_timeline *all, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i < last; i++)
        add(work, all->path[i], all->end[i] - all->begin[i]);
}

static void add_clipped(workspace *work, const pse_replay_timeline *all, uint64_t i, double from, double to)
{
    double begin = all->begin[i] > from ? all->begin[i] : from;
    double end = all->end[i] < to ? all->end[i] : to;
    add(work, all->path[i], end - begin);
}

static int sum_blocks(workspace *work, const pse_replay_timeline *all)
{
    uint64_t blocks = all->spans / work->block + 1;
    work->before = calloc(blocks * all->paths, sizeof(double));
    if (!work->before)
        return -1;
    for (uint64_t block = 1; block < blocks; block++) {
        double *row = &work->before[block * all->paths];
        for (uint64_t path = 0; path < all->paths; path++)
            row[path] = row[path - all->paths];
        for (uint64_t i = (block - 1) * work->block; i < block * work->block; i++)
            row[all->path[i]] += all->end[i] - all->begin[i];
    }
    return 0;
}

/* Add whole spans, by blocks if they are many. */
static int add_range(workspace *work, const pse_replay_timeline *all, uint64_t first, uint64_t last)
{
    if (last - first <= 2 * work->block) {
        add_spans(work, all, first, last);
        return 0;
    }
    if (!work->before && sum_blocks(work, all))
        return -1;
    uint64_t from = (first + work->block - 1) / work->block, to = last / work->block;
    add_spans(work, all, first, from * work->block);
    for (uint64_t path = 0; path < all->paths; path++)
        add(work, (uint32_t)path,
            work->before[to * all->paths + path] - work->before[from * all->paths + path]);
    add_spans(work, all, to * work->block, last);
    return 0;
}

/* The first span of a range whose end is later than a time. */
static uint64_t ends_after(const pse_replay_timeline *all, uint64_t low, uint64_t high, double time)
{
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (all->end[middle] > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int add_thread(workspace *work, const pse_replay_timeline *all, uint64_t thread, double from,
                      double to)
{
    uint64_t end = all->threads[thread + 1];
    uint64_t first = ends_after(all, all->threads[thread], end, from), last = ends_after(all, first, end, to);
    if (last < end)
        add_clipped(work, all, last, from, to);
    if (first < last) {
        add_clipped(work, all, first, from, to);
        return add_range(work, all, first + 1, last);
    }
    return 0;
}

static int in_order(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

static int write_rows(workspace *work, uint64_t interval, pse_replay_profiles *profiles)
{
    if (profiles->count + work->touched_count > profiles->room) {
        uint64_t room = 2 * (profiles->count + work->touched_count) + FIRST_ROOM;
        pse_replay_profile_row *rows = realloc(profiles->rows, room * sizeof *rows);
        if (!rows)
            return -1;
        profiles->rows = rows;
        profiles->room = room;
    }
    qsort(work->touched, work->touched_count, sizeof *work->touched, in_order);
    for (uint64_t i = 0; i < work->touched_count; i++) {
        uint32_t path = work->touched[i];
        profiles->rows[profiles->count++] =
            (pse_replay_profile_row){.interval = (uint32_t)interval, .path = path, .time = work->sums[path]};
        work->sums[path] = 0;
    }
    work->touched_count = 0;
    return 0;
}

int pse_replay_profile(const pse_replay_timeline *timeline, const double *from, const double *to,
                       uint64_t intervals, pse_replay_profiles *profiles)
{
    workspace work = {
        .sums = calloc(timeline->paths + 1, sizeof(double)),
        .touched = malloc((timeline->paths + 1) * sizeof(uint32_t)),
        .block = timeline->paths > LEAST_BLOCK ? timeline->paths : LEAST_BLOCK,
    };
    int failed = !work.sums || !work.touched;
    for (uint64_t i = 0; i < intervals && !failed; i++) {
        for (uint64_t thread = 0; thread < timeline->thread_count && !failed; thread++)
            failed = add_thread(&work, timeline, thread, from[i], to[i]);
        failed = failed || write_rows(&work, i, profiles);
    }
    free(work.sums);
    free(work.touched);
    free(work.before);
    return failed ? -1 : 0;
}
