#include "standstill/watchdog.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace pse::coschedule
{

// Behind the program's name, which may have any letters, comes the state.
bool is_stopped(pid_t process)
{
    char text[512];
    int file = open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[std::max<ssize_t>(length, 0)] = '\0';
    const char *name_end = std::strrchr(text, ')');
    return name_end && std::strncmp(name_end, ") T", 3) == 0;
}

void Watchdog::look()
{
    if (protocol_.has_failed() || s_.shared().observed.load())
        return;
    look_at_next();
    look_at_own();
}

// Of this node, in a circle; this one itself if there is no other.
uint32_t Watchdog::next_rank() const
{
    uint32_t ranks = s_.options().ranks, next = (me_ + 1) % ranks;
    while (next != me_ && (!s_.is_here(next) || s_.rank(next).left))
        next = (next + 1) % ranks;
    return next;
}

// Any rank is blocked but this one itself.
bool Watchdog::is_waited_for(uint32_t rank) const
{
    const Shared &shared = s_.shared();
    return shared.blocked > s_.rank(rank).blocked.load() || shared.elsewhere > 0;
}

void Watchdog::look_at_next()
{
    uint32_t next = next_rank();
    bool same = std::exchange(next_, next) == next;
    bool stopped = next != me_ && is_waited_for(next) && is_stopped(s_.rank(next).process.load());
    stopped_ = stopped ? (same ? stopped_ : 0) + 1 : 0;
    if (stopped_ > most_looks)
        protocol_.fail(PSE_BCS_FAILURE_STOPPED, next, none);
}

// It may be at work, or in an endless loop: nobody can tell, so it is only said.
void Watchdog::look_at_own()
{
    const Rank &mine = s_.rank(me_);
    uint64_t before = std::exchange(done_, mine.sequence + mine.answers);
    bool busy = !mine.blocked.load() && !mine.left && before == done_ && is_waited_for(me_);
    busy_ = busy ? busy_ + 1 : 0;
    if (busy_ > most_looks && !std::exchange(named_, true))
        name_own();
}

void Watchdog::name_own() const
{
    ProcessPlace here = own_place();
    dprintf(
        STDERR_FILENO,
        "warning: rank %u (process %d on %s) has not come to the coscheduled layer for 10 s, and others wait "
        "there: it computes for long or without end, or waits elsewhere\n",
        me_, here.process, here.host);
}

} // namespace pse::coschedule
