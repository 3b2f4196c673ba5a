#define _GNU_SOURCE
#include "doorbell.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backoff.h"
#include "clock.h"

/* Whoever sleeps for less than this polls something else in between (MPI): spinning each time would burn a
 * core. */
#define SPINLESS_NANOSECONDS 50000000u

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void pse_channel_bell_ring(pse_slot *slot)
{
    atomic_fetch_add(&slot->bell, 1u);
    /* Whoever wakes it counts it as awake at once: it wants a core from now on, though it may get one only
     * later. */
    if (atomic_load(&slot->sleeping) && atomic_exchange(&slot->sleeping, 0u))
        syscall(SYS_futex, (uint32_t *)&slot->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void pse_channel_bell_note_core(pse_slot *slot)
{
    atomic_store_explicit(&slot->cpu, (uint32_t)sched_getcpu(), memory_order_relaxed);
}

void pse_channel_bell_note_affinity(pse_slot *slot)
{
    cpu_set_t allowed;
    uint64_t mask = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        for (int core = 0; core < 64; core++)
            if (CPU_ISSET(core, &allowed))
                mask |= UINT64_C(1) << core;
    atomic_store(&slot->affinity, mask);
}

/* Whether rank `other` is awake, and so may want a core. */
static bool awake(pse_slot *other)
{
    uint32_t state = atomic_load_explicit(&other->state, memory_order_relaxed);
    return state != PSE_RANK_ABSENT && state < PSE_RANK_DONE &&
           !atomic_load_explicit(&other->sleeping, memory_order_relaxed);
}

/* A core is free for spinning when fewer awake ranks compete for this rank's cores than there are, and none
 * of them was last seen on the very core that we are on. */
bool pse_channel_bell_core_is_free(pse_board *board, uint32_t rank)
{
    pse_slot *self = pse_board_slot(board, rank);
    uint64_t mask = atomic_load_explicit(&self->affinity, memory_order_relaxed);
    uint32_t core = (uint32_t)sched_getcpu();
    int busy = 0, cores = __builtin_popcountll(mask);
    for (uint32_t other = 0; other < pse_board_get_size(board).ranks; other++) {
        pse_slot *slot = pse_board_slot(board, other);
        if (other == rank || !awake(slot))
            continue;
        if (!(atomic_load_explicit(&slot->affinity, memory_order_relaxed) & mask))
            continue;
        if (atomic_load_explicit(&slot->cpu, memory_order_relaxed) == core)
            return false;
        if (++busy >= cores) /* Slots of many ranks are in no cache: as few as will do. */
            return false;
    }
    return busy < cores;
}

/* Let others run.  If that takes long, somebody computes on this core: sleep at once for a while from now on,
 * since a sleeper that is woken gets the core back sooner than one that yields. */
static bool yield_core(pse_slot *slot, uint64_t now)
{
    if (now < atomic_load_explicit(&slot->yield_after, memory_order_relaxed))
        return false;
    uint64_t busy_until = 0;
    pse_backoff_yield(now, PSE_BACKOFF_YIELD_BUSY, &busy_until);
    if (busy_until)
        atomic_store_explicit(&slot->yield_after, busy_until, memory_order_relaxed);
    return !busy_until;
}

/* Look for a while before going to sleep: on a core of our own by spinning, on a shared one, and not for
 * long, by letting the others run between two looks. */
static bool spin(pse_board *board, uint32_t rank, uint32_t seen, uint64_t awake)
{
    pse_slot *slot = pse_board_slot(board, rank);
    const uint64_t begin = pse_clock();
    for (uint64_t time = 0; time < awake; time = pse_clock() - begin) {
        bool alone = pse_channel_bell_core_is_free(board, rank);
        if (!alone && time > PSE_BACKOFF_AWAKE_FOR_BELL)
            return false;
        for (int look = 0; look < (alone ? PSE_BACKOFF_LOOKS : 1); look++) {
            if (pse_channel_bell_read(slot) != seen)
                return true;
            relax();
        }
        if (!alone && !yield_core(slot, pse_clock()))
            return pse_channel_bell_read(slot) != seen;
    }
    return false;
}

bool pse_channel_bell_wait(pse_board *board, uint32_t rank, uint32_t seen, uint64_t timeout, uint64_t *slept)
{
    return pse_channel_bell_wait_awake(board, rank, seen, timeout, PSE_BACKOFF_AWAKE_FOR_BELL, slept);
}

bool pse_channel_bell_wait_awake(pse_board *board, uint32_t rank, uint32_t seen, uint64_t timeout,
                                 uint64_t awake, uint64_t *slept)
{
    pse_slot *slot = pse_board_slot(board, rank);
    if ((timeout == 0 || timeout >= SPINLESS_NANOSECONDS) && spin(board, rank, seen, awake))
        return true;
    struct timespec limit = {.tv_sec = (time_t)(timeout / 1000000000u),
                             .tv_nsec = (long)(timeout % 1000000000u)};
    pse_channel_bell_note_core(slot);
    atomic_store(&slot->sleeping, 1u);
    bool rang = atomic_load(&slot->bell) != seen;
    if (!rang) {
        uint64_t begin = slept ? pse_clock() : 0;
        long result =
            syscall(SYS_futex, (uint32_t *)&slot->bell, FUTEX_WAIT, seen, timeout ? &limit : NULL, NULL, 0);
        rang = result == 0 || errno == EAGAIN;
        if (slept)
            *slept += pse_clock() - begin;
    }
    atomic_store(&slot->sleeping, 0u);
    pse_channel_bell_note_core(slot);
    return rang;
}
