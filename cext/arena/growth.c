/* Taking memory from the system, in steps, with an error code where there is none.
 *
 * A page of a memory file that can't be had when it is touched is a SIGBUS, or the OOM killer.  So memory is
 * taken with fallocate before anyone sees it, and not at all if it would need the last that the system has:
 * fallocate itself would set off the OOM killer in a cgroup.
 *
 * Lock order: `growth` is taken alone, never with `lock`; a long step of one rank doesn't stop the others
 * from allocating what is there.  It guards nothing that could be half-done: `committed` moves after each
 * step.
 */
#define _GNU_SOURCE
#include "available_memory.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

/* One fallocate: small enough that a signal, which undoes it, can't keep it from ever ending. */
#define STEP (UINT64_C(64) << 20)
/* The share of the available memory that is left to the system. */
#define RESERVE 32

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void lock_growth(pse_arena_control *control)
{
    if (pthread_mutex_lock(&control->growth) == EOWNERDEAD)
        pthread_mutex_consistent(&control->growth);
}

/* Where a zone would end if it took all that the other one has not. */
static uint64_t zone_limit(const pse_arena_control *control, enum pse_zone_index index)
{
    const pse_arena_zone *zone = &control->zones[index], *other = &control->zones[1 - index];
    return pse_arena_zone_base(zone) + control->capacity - (other->committed - pse_arena_zone_base(other));
}

/* Could one of the zones hold such a block if all others were free?  Memory never moves from zone to zone. */
bool pse_arena_fits_ever(const pse_arena_control *control, uint64_t size)
{
    for (int i = 0; i < PSE_ZONE_COUNT; i++) {
        uint64_t end = pse_arena_round_up(control->zones[i].begin + size, PSE_GRANULE);
        if (end <= zone_limit(control, i) || end <= control->zones[i].committed)
            return true;
    }
    return false;
}

/* Memory is taken a little ahead so that a run of small requests is one system call. */
static uint64_t ahead(const pse_arena_control *control, enum pse_zone_index index)
{
    uint64_t most = index == PSE_ZONE_SMALL ? UINT64_C(1) << 20 : UINT64_C(4) << 20;
    return lesser(most, control->capacity / 64);
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

/* Take memory as huge pages: one small page of each, then all of them at once, cleared by the kernel as it
 * makes them. This works where huge pages of shared memory are off by default; where it does not, small pages
 * do. */
static bool take_huge(pse_arena *arena, uint64_t begin, uint64_t bytes)
{
    char *at = (char *)arena->control + begin;
    for (uint64_t piece = 0; piece < bytes; piece += PSE_HUGE) {
        if (fallocate(arena->fd, 0, (off_t)(begin + piece), PSE_PAGE) != 0)
            return false;
        *(volatile char *)(at + piece) = 0;
    }
    return madvise(at, bytes, MADV_COLLAPSE) == 0;
}

/* Take memory from `begin` on, at most up to `end`; returns how much, or 0 with errno. */
static uint64_t take(pse_arena *arena, const pse_arena_zone *zone, uint64_t begin, uint64_t end)
{
    uint64_t past = begin % PSE_HUGE, bytes = lesser(STEP, end - begin);
    if (zone == &arena->control->zones[PSE_ZONE_LARGE]) {
        uint64_t huge = bytes / PSE_HUGE * PSE_HUGE;
        if (past == 0 && huge > 0 && take_huge(arena, begin, huge))
            return huge;
        if (past > 0)
            bytes = lesser(bytes, PSE_HUGE - past);
    }
    return fallocate(arena->fd, 0, (off_t)begin, (off_t)bytes) == 0 ? bytes : 0;
}

/* Move the end of a zone's memory to `need` at least, to `target` if the system has so much. */
static int commit(pse_arena *arena, pse_arena_zone *zone, uint64_t need, uint64_t target)
{
    pse_arena_memory memory;
    uint64_t begin = zone->committed;
    pse_arena_read_available_memory("", &memory);
    uint64_t most = memory.available - memory.available / RESERVE;
    if (need - begin > most)
        return PSE_ARENA_NO_MEMORY;
    target = most < target - begin ? need : target;
    while (begin < target) {
        uint64_t bytes = take(arena, zone, begin, target);
        if (bytes > 0)
            atomic_store_explicit(&zone->committed, begin += bytes, memory_order_release);
        else if (errno != EINTR)
            return errno == ENOMEM || errno == ENOSPC ? PSE_ARENA_NO_MEMORY : PSE_ARENA_SYSTEM;
    }
    return 0;
}

/* Take memory for so many bytes more at the zone's top. */
int pse_arena_grow(pse_arena *arena, enum pse_zone_index index, uint64_t bytes)
{
    pse_arena_control *control = arena->control;
    pse_arena_zone *zone = &control->zones[index];
    lock_growth(control);
    uint64_t top = __atomic_load_n(&zone->top, __ATOMIC_ACQUIRE) + bytes;
    uint64_t limit = zone_limit(control, index);
    uint64_t need = pse_arena_round_up(top, PSE_GRANULE);
    uint64_t target = lesser(limit, pse_arena_round_up(top + ahead(control, index), PSE_GRANULE));
    int code = 0;
    if (need > limit)
        code = PSE_ARENA_FULL;
    else if (need > zone->committed)
        code = commit(arena, zone, need, target);
    pthread_mutex_unlock(&control->growth);
    return code;
}

/* Map a range that lies in taken memory; kernels before 5.14 can't, and page faults do it then. */
static void map_range(pse_arena *arena, uint64_t begin, uint64_t end, int advice)
{
    begin &= ~(uint64_t)(PSE_GRANULE - 1);
    madvise((char *)arena->control + begin, end - begin, advice);
}

/* Clear and map the pages of a fresh block at once: measured, a fifth cheaper than a page fault for each. */
void pse_arena_populate(pse_arena *arena, uint64_t begin, uint64_t end)
{
    map_range(arena, begin, end, MADV_POPULATE_WRITE);
}

uint64_t pse_arena_prefault(pse_arena *arena, uint64_t limit)
{
    uint64_t high = __atomic_load_n(&arena->control->zones[PSE_ZONE_LARGE].high, __ATOMIC_ACQUIRE);
    if (arena->prefaulted >= high)
        return 0;
    uint64_t end = arena->prefaulted + lesser(limit, high - arena->prefaulted);
    map_range(arena, arena->prefaulted, end, MADV_POPULATE_READ);
    arena->prefaulted = end;
    return high - end;
}
