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

#include "clock.h"
#include "nodes/caller.hpp"
#include "shared_memory.hpp"

namespace pse::coschedule
{
namespace
{

constexpr uint32_t shown_decisions = 4096;
constexpr uint64_t patience = 1000000000; // ns, for nodes that don't say what their ranks do.

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

// Slices are held in the memory of node 0, so whoever holds them must be on its machine.
void warn_of_distance(const std::string &host)
{
    ProcessPlace here = own_place();
    if (host != here.host)
        dprintf(STDERR_FILENO,
                "warning: these ranks are not stepped: rank 0 is on %s, and pse bcs step on %s; start it on "
                "%s, or "
                "attach it there:  pse bcs step --attach %d\n",
                here.host, host.c_str(), here.host, here.process);
}

} // namespace

bool has_stepper()
{
    return stepper() != nullptr;
}

uint32_t kept_decisions(uint32_t wanted)
{
    return stepper() ? std::max(wanted, shown_decisions) : wanted;
}

void announce(Segment &segment)
{
    if (!stepper())
        return;
    segment.shared().allowed.store(0);
    if (segment.options().node > 0) // Node 0 says when it may go on.
        return segment.shared().observed.store(1);
    std::string place = stepper();
    size_t colon = place.find(':');
    if (is_taken(place.substr(colon + 1).c_str(), segment.file()))
        return;
    segment.shared().allowed.store(unlimited);
    warn_of_distance(place.substr(0, colon));
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
    told_ = segment_.shared().logged;
    segment_.shared().observed.store(1);
    if (!segment_.is_single())
        caller_ =
            open_pipe(segment_.rank(segment_.options().leader).process.load(), segment_.shared().caller);
}

Observer::~Observer()
{
    segment_.shared().observed.store(0);
    allow(unlimited);
    if (caller_ >= 0)
        close(caller_);
}

void Observer::call_nodes()
{
    wake(segment_.shared(), caller_);
}

void Observer::look()
{
    Shared &shared = segment_.shared();
    if (segment_.is_single())
        return;
    uint64_t wanted = shared.looks.fetch_add(1) + 1, end = pse_clock() + patience;
    call_nodes();
    for (uint32_t sight; (sight = shared.sights.load()), shared.seen.load() < wanted;) {
        if (shared.failure.load() || shared.cut_off.load() || pse_clock() > end)
            return;
        futex_wait(shared.sights, sight, patience / 100);
    }
}

std::vector<pse_bcs_match> Observer::new_matches()
{
    std::vector<pse_bcs_match> found;
    const Shared &shared = segment_.shared();
    uint64_t room = segment_.options().logged;
    auto take = [&](const pse_bcs_match *ring, uint64_t &told, uint64_t written) {
        for (told = std::max(told, written - std::min(written, room)); told < written; told++)
            found.push_back(ring[told % room]);
    };
    take(segment_.matches(), told_, shared.logged);
    take(segment_.shown_matches(), shown_, shared.shown_matches);
    return found;
}

void Observer::allow(uint64_t slices)
{
    segment_.shared().allowed.store(slices);
    futex_wake(segment_.shared().permits);
    call_nodes();
}

void Observer::hold()
{
    lock();
    segment_.shared().allowed.store(segment_.shared().begun.load());
    unlock();
    call_nodes();
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
