#include "observer.hpp"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "shared_memory.hpp"

namespace pse::coschedule
{
namespace
{

constexpr uint32_t shown_decisions = 4096;

const char *stepper()
{
    return std::getenv(PSE_BCS_STEPPER);
}

// Connect to the stepper, say where the memory file is, and wait until it has opened that.
bool is_taken(const char *name, int file)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char text[64], answer = 0;
    int length = std::snprintf(text, sizeof text, "%d %d\n", getpid(), file);
    bool taken = connect(connection, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 &&
                 send(connection, text, static_cast<size_t>(length), MSG_NOSIGNAL) == length;
    ssize_t got = -1;
    while (taken && (got = read(connection, &answer, 1)) < 0 && errno == EINTR)
        continue;
    close(connection);
    return taken && got == 1;
}

} // namespace

uint32_t kept_decisions(uint32_t wanted)
{
    return stepper() ? std::max(wanted, shown_decisions) : wanted;
}

void announce(Segment &segment)
{
    if (!stepper())
        return;
    segment.shared().allowed.store(0);
    if (!is_taken(stepper(), segment.file()))
        segment.shared().allowed.store(unlimited);
}

bool is_stepped(const Segment &segment)
{
    if (flock(segment.file(), LOCK_SH | LOCK_NB) != 0)
        return errno == EWOULDBLOCK;
    flock(segment.file(), LOCK_UN);
    return false;
}

Observer::Observer(pid_t process, int file) : segment_(process, file)
{
    if (flock(segment_.file(), LOCK_EX | LOCK_NB) != 0)
        throw std::system_error(EBUSY, std::generic_category(), "look at the ranks");
    segment_.shared().observed.store(1);
}

Observer::~Observer()
{
    segment_.shared().observed.store(0);
    allow(unlimited);
}

void Observer::allow(uint64_t slices)
{
    segment_.shared().allowed.store(slices);
    futex_wake(segment_.shared().permits);
}

void Observer::hold()
{
    lock();
    segment_.shared().allowed.store(segment_.shared().begun.load());
    unlock();
}

// Who finds the lock of a dead rank leaves it to the ranks to say so: they watch each other.
void Observer::lock()
{
    if (pthread_mutex_lock(&segment_.shared().lock) == EOWNERDEAD)
        pthread_mutex_consistent(&segment_.shared().lock);
    segment_.shared().holder = none;
}

void Observer::unlock()
{
    pthread_mutex_unlock(&segment_.shared().lock);
}

} // namespace pse::coschedule
