// What memory files that processes share are made of: parts on cache lines of their own, and a lock that
// outlives whoever dies with it.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace pse::coschedule
{

// Room for `count` objects at `at`, which moves behind them; with base 0 it only counts.
template <class T> T *take_room(uintptr_t base, size_t &at, size_t count)
{
    at = (at + 63) & ~size_t{63};
    T *here = reinterpret_cast<T *>(base + at);
    at += count * sizeof(T);
    return here;
}

inline void make_robust_lock(pthread_mutex_t &lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

} // namespace pse::coschedule
