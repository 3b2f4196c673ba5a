// The pipe that wakes the thread of a node's leader.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "segment.hpp"

namespace pse::coschedule
{

// That of another process; throws std::system_error.
inline int open_pipe(pid_t process, int descriptor)
{
    std::string name = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    int file = open(name.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        throw std::system_error(errno, std::generic_category(), "open the pipe of the node's leader");
    return file;
}

// Without a leader there is nobody to be woken, and nobody who reads.
inline void wake(Shared &shared, int caller)
{
    if (caller < 0 || shared.cut_off.load() || shared.called.exchange(1))
        return;
    ssize_t written = write(caller, "", 1); // A pipe that is full wakes it as well.
    static_cast<void>(written);
}

} // namespace pse::coschedule
