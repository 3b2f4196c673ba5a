// What memory files that processes share are made of: parts on cache lines of their own, a lock that outlives
// whoever dies with it, and words to sleep on.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <ctime>

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

// Sleep until the word differs from `seen`, at most `timeout` ns if that isn't 0; it may also end sooner.
inline void futex_wait(std::atomic<uint32_t> &word, uint32_t seen, uint64_t timeout = 0)
{
    constexpr uint64_t second = 1000000000;
    timespec time{static_cast<time_t>(timeout / second), static_cast<long>(timeout % second)};
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT, seen, timeout ? &time : nullptr,
            nullptr, 0);
}

inline void futex_wake(std::atomic<uint32_t> &word)
{
    word.fetch_add(1);
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace pse::coschedule
