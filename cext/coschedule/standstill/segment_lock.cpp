#include "standstill/segment_lock.hpp"

#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "standstill/watchdog.hpp"

namespace pse::coschedule
{
namespace
{

// Without the lock nobody can be told in the layer: this process ends, and the job with it.
[[noreturn]] void give_up(Shared &shared, uint32_t holder, pid_t process)
{
    if (!shared.told.exchange(1))
        dprintf(STDERR_FILENO,
                "error: rank %u stands still for 10 s, and has what coscheduled ranks share\n"
                "help: its process %d is stopped (SIGSTOP): continue such a process sooner (kill -CONT)\n",
                holder, process);
    _exit(1);
}

} // namespace

// Who is stopped while it has the lock holds up all others.
int SegmentLock::wait()
{
    for (uint32_t looks = 0;;) {
        timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += look_ms / 1000;
        int result = pthread_mutex_timedlock(&shared_.lock, &until);
        if (result != ETIMEDOUT)
            return result;
        uint32_t holder = __atomic_load_n(&shared_.holder, __ATOMIC_RELAXED);
        bool stopped = holder != none && is_stopped(protocol_.process_of(holder));
        looks = stopped ? looks + 1 : 0;
        if (looks > most_looks)
            give_up(shared_, holder, protocol_.process_of(holder));
    }
}

} // namespace pse::coschedule
