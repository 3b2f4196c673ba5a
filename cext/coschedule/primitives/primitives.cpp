#include "primitives.hpp"

#include "clock.h"
#include "shared_memory.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <system_error>

namespace pse::coschedule
{
namespace
{

constexpr uint64_t magic = 0x316d656d73636200; // "\0bcsmem1"
constexpr uint64_t second = 1000000000;
constexpr uint64_t look = second / 10; // How often a sleeper looks whether a process was killed.

[[noreturn]] void fail(const char *what, int error)
{
    throw std::system_error(error, std::generic_category(), what);
}

// 0 or errno.
int sleep_on(std::atomic<uint32_t> &word, uint32_t seen, uint64_t timeout)
{
    timespec time{static_cast<time_t>(timeout / second), static_cast<long>(timeout % second)};
    return syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0) == 0 ? 0 : errno;
}

bool is_before(uint32_t one, uint32_t other)
{
    return static_cast<int32_t>(other - one) > 0;
}

bool compare(Variable here, Comparison comparison, Variable value)
{
    switch (comparison) {
    case Comparison::at_least:
        return here >= value;
    case Comparison::less:
        return here < value;
    case Comparison::equal:
        return here == value;
    default:
        return here != value;
    }
}

} // namespace

class NodeMemory::Locked
{
  public:
    Locked(NodeMemory &memory) : lock_(memory.header_->lock)
    {
        enter(memory, pthread_mutex_lock(&lock_));
    }
    Locked(NodeMemory &memory, int outcome) : lock_(memory.header_->lock)
    {
        enter(memory, outcome);
    }
    ~Locked()
    {
        pthread_mutex_unlock(&lock_);
    }
    Locked(const Locked &) = delete;
    Locked &operator=(const Locked &) = delete;

  private:
    void enter(NodeMemory &memory, int outcome)
    {
        if (outcome == EOWNERDEAD) {
            memory.recover();
            pthread_mutex_consistent(&lock_);
        } else if (outcome != 0) {
            fail("lock the global memory", outcome);
        }
    }
    pthread_mutex_t &lock_;
};

// With base 0 it only says how many bytes are needed.
size_t NodeMemory::place(uintptr_t base, uint32_t nodes, uint64_t bytes, uint32_t events)
{
    size_t at = 0;
    header_ = take_room<MemoryHeader>(base, at, 1);
    targets_ = take_room<uint32_t>(base, at, nodes);
    values_ = take_room<uint32_t>(base, at, nodes);
    events_ = take_room<Event>(base, at, size_t{nodes} * events);
    staged_ = take_room<uint8_t>(base, at, bytes);
    copies_ = take_room<uint8_t>(base, at, nodes * ((bytes + 63) & ~uint64_t{63}));
    return at;
}

void NodeMemory::map(size_t bytes)
{
    void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (base == MAP_FAILED) {
        int error = errno;
        close(file_);
        fail("map the global memory", error);
    }
    mapped_ = bytes;
    header_ = static_cast<MemoryHeader *>(base);
}

NodeMemory::NodeMemory(uint32_t nodes, uint64_t bytes, uint32_t events)
{
    file_ = memfd_create("pse-global-memory", MFD_CLOEXEC);
    size_t all = place(0, nodes, bytes, events);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(all)) != 0) {
        int error = errno;
        if (file_ >= 0)
            close(file_);
        fail("make the global memory", error);
    }
    map(all);
    new (header_) MemoryHeader{};
    header_->nodes = nodes;
    header_->events = events;
    header_->bytes = bytes;
    make_robust_lock(header_->lock);
    place(reinterpret_cast<uintptr_t>(header_), nodes, bytes, events);
    header_->magic = magic;
}

NodeMemory::NodeMemory(pid_t process, int descriptor)
{
    std::string name = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    file_ = open(name.c_str(), O_RDWR | O_CLOEXEC);
    struct stat status;
    if (file_ < 0)
        fail("open the global memory", errno);
    if (fstat(file_, &status) != 0 || static_cast<size_t>(status.st_size) < sizeof(MemoryHeader)) {
        close(file_);
        fail("open the global memory", EPROTO);
    }
    map(static_cast<size_t>(status.st_size));
    if (header_->magic != magic) {
        munmap(header_, mapped_);
        close(file_);
        fail("open the global memory", EPROTO);
    }
    place(reinterpret_cast<uintptr_t>(header_), header_->nodes, header_->bytes, header_->events);
}

NodeMemory::~NodeMemory()
{
    munmap(header_, mapped_);
    close(file_);
}

void NodeMemory::put(const void *data, uint64_t bytes, uint64_t offset, const std::vector<uint32_t> &nodes,
                     Signals signals)
{
    Locked locked(*this);
    write(data, bytes, offset, nodes, signals);
}

bool NodeMemory::compare(uint64_t offset, Comparison comparison, Variable value,
                         const std::vector<uint32_t> &nodes)
{
    Locked locked(*this);
    return holds(offset, comparison, value, nodes);
}

bool NodeMemory::compare_and_write(uint64_t offset, Comparison comparison, Variable value,
                                   const std::vector<uint32_t> &nodes, uint64_t target, Variable written)
{
    Locked locked(*this);
    if (!holds(offset, comparison, value, nodes))
        return false;
    write(&written, sizeof written, target, nodes, Signals{0, no_event, no_event});
    return true;
}

void NodeMemory::read(uint32_t node, uint64_t offset, uint64_t bytes, void *into)
{
    Locked locked(*this);
    std::memcpy(into, copy(node) + offset, bytes);
}

bool NodeMemory::holds(uint64_t offset, Comparison comparison, Variable value,
                       const std::vector<uint32_t> &nodes) const
{
    return std::all_of(nodes.begin(), nodes.end(), [&](uint32_t node) {
        Variable here;
        std::memcpy(&here, copy(node) + offset, sizeof here);
        return coschedule::compare(here, comparison, value);
    });
}

void NodeMemory::write(const void *data, uint64_t bytes, uint64_t offset, const std::vector<uint32_t> &nodes,
                       Signals signals)
{
    Intent &intent = header_->intent;
    if (bytes)
        std::memcpy(staged_, data, bytes);
    intent.offset = offset;
    intent.bytes = bytes;
    intent.count = static_cast<uint32_t>(nodes.size());
    std::copy(nodes.begin(), nodes.end(), targets_);
    note_signals(intent, nodes, signals);
    intent.whole.store(1);
    apply(false);
}

// The values that counters of events get, so that to signal twice is to signal once.
void NodeMemory::note_signals(Intent &intent, const std::vector<uint32_t> &nodes, Signals signals)
{
    intent.origin = signals.origin;
    intent.local = signals.local;
    intent.remote = signals.remote;
    if (signals.remote != no_event)
        for (size_t at = 0; at < nodes.size(); at++)
            values_[at] = event(nodes[at], signals.remote).signalled.load() + 1;
    if (signals.local == no_event)
        return;
    bool both = signals.local == signals.remote &&
                std::find(nodes.begin(), nodes.end(), signals.origin) != nodes.end();
    intent.local_value = event(signals.origin, signals.local).signalled.load() + (both ? 2 : 1);
}

void NodeMemory::apply(bool again)
{
    Intent &intent = header_->intent;
    for (uint32_t at = 0; at < intent.count; at++)
        std::memcpy(copy(targets_[at]) + intent.offset, staged_, intent.bytes);
    if (intent.remote != no_event)
        for (uint32_t at = 0; at < intent.count; at++)
            raise(event(targets_[at], intent.remote), values_[at], again);
    if (intent.local != no_event)
        raise(event(intent.origin, intent.local), intent.local_value, again);
    intent.whole.store(0);
}

// `again`: the process that was killed may have taken the mark that somebody sleeps, and have woken nobody.
void NodeMemory::raise(Event &event, uint32_t value, bool again)
{
    if (is_before(event.signalled.load(), value))
        event.signalled.store(value);
    if (again || (event.waiting.load() && event.waiting.exchange(0)))
        syscall(SYS_futex, &event.signalled, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void NodeMemory::recover()
{
    if (!header_->intent.whole.load()) {
        header_->dropped++;
        return;
    }
    apply(true);
    header_->finished++;
}

void NodeMemory::mend()
{
    int outcome = pthread_mutex_trylock(&header_->lock);
    if (outcome != EBUSY)
        Locked locked(*this, outcome);
}

bool NodeMemory::take(Event &event)
{
    uint32_t consumed = event.consumed.load();
    while (is_before(consumed, event.signalled.load()))
        if (event.consumed.compare_exchange_weak(consumed, consumed + 1))
            return true;
    return false;
}

Tested NodeMemory::test(uint32_t node, uint32_t index, uint64_t timeout)
{
    Event &one = event(node, index);
    if (take(one))
        return Tested::signalled;
    if (timeout == 0)
        return Tested::unsignalled;
    uint64_t begin = pse_clock();
    for (uint64_t now = begin; now - begin < timeout; now = pse_clock()) {
        one.waiting.store(1);
        uint32_t seen = one.signalled.load();
        if (take(one))
            return Tested::signalled;
        int error = sleep_on(one.signalled, seen, std::min(look, timeout - (now - begin)));
        if (error == ETIMEDOUT)
            mend();
        if (take(one))
            return Tested::signalled;
        if (error == EINTR)
            return Tested::interrupted;
    }
    return Tested::unsignalled;
}

} // namespace pse::coschedule
