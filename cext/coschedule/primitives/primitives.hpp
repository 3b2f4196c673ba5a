// The core primitives of the paper's section 2 on one machine: Xfer-And-Signal, Test-Event,
// Compare-And-Write.
//
// Every node has a copy of the global memory, all of them in one nameless memory file.  An operation that
// writes is first noted whole (an intent: what, where, to which nodes, which events), then applied; both
// under one robust lock.  If its process is killed, whoever takes the lock next drops an intent that isn't
// whole and finishes one that is: the operation reaches all nodes or none.  To apply an intent twice is to
// apply it once.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "abi_coschedule.h"

namespace pse::coschedule
{

enum class Comparison : uint32_t { at_least, less, equal, unequal };
enum class Tested : uint32_t { signalled, unsignalled, interrupted };

constexpr uint32_t no_event = PSE_BCS_NONE;

// A global variable is 8 bytes long and lies at a multiple of 8.
using Variable = int64_t;

struct Event {
    std::atomic<uint32_t> signalled; // Futex: how often; grows only under the lock.
    std::atomic<uint32_t> consumed;  // How many of these a test has seen.
    std::atomic<uint32_t> waiting;   // Somebody sleeps, or is about to.
    uint32_t reserved;
};

struct Intent {
    std::atomic<uint32_t> whole; // From now on it happens.
    uint32_t count;              // Nodes that it writes to.
    uint32_t origin, local, local_value;
    uint32_t remote;
    uint64_t offset, bytes;
};

struct MemoryHeader {
    uint64_t magic;
    uint32_t nodes, events;
    uint64_t bytes; // Of a node's copy.
    pthread_mutex_t lock;
    uint64_t finished, dropped; // Intents of processes that were killed.
    Intent intent;
};

// What an operation signals when it has been applied.
struct Signals {
    uint32_t origin, local, remote; // Node and event, event on all nodes; no_event: none.
};

// The caller checks ranges.
class NodeMemory
{
  public:
    NodeMemory(uint32_t nodes, uint64_t bytes, uint32_t events); // Makes it; throws std::system_error.
    NodeMemory(pid_t process, int descriptor);                   // Opens that of another process.
    ~NodeMemory();
    NodeMemory(const NodeMemory &) = delete;
    NodeMemory &operator=(const NodeMemory &) = delete;

    int file() const
    {
        return file_;
    }
    const MemoryHeader &header() const
    {
        return *header_;
    }
    uint8_t *copy(uint32_t node) const
    {
        return copies_ + node * stride();
    }

    void put(const void *data, uint64_t bytes, uint64_t offset, const std::vector<uint32_t> &nodes,
             Signals signals);
    bool compare(uint64_t offset, Comparison comparison, Variable value, const std::vector<uint32_t> &nodes);
    // Writes `written` to `target` on all nodes if the comparison holds on all.
    bool compare_and_write(uint64_t offset, Comparison comparison, Variable value,
                           const std::vector<uint32_t> &nodes, uint64_t target, Variable written);
    void read(uint32_t node, uint64_t offset, uint64_t bytes, void *into);

    // Consume one signal of a node's event; sleep for at most `timeout` ns until there is one.
    Tested test(uint32_t node, uint32_t event, uint64_t timeout);

    // Finish or drop what a killed process left, without waiting for the lock.
    void mend();

  private:
    class Locked;

    size_t stride() const
    {
        return (header_->bytes + 63) & ~uint64_t{63};
    }
    size_t place(uintptr_t base, uint32_t nodes, uint64_t bytes, uint32_t events);
    void map(size_t bytes);
    Event &event(uint32_t node, uint32_t index) const
    {
        return events_[size_t{node} * header_->events + index];
    }
    bool holds(uint64_t offset, Comparison comparison, Variable value,
               const std::vector<uint32_t> &nodes) const;
    void write(const void *data, uint64_t bytes, uint64_t offset, const std::vector<uint32_t> &nodes,
               Signals signals);
    void note_signals(Intent &intent, const std::vector<uint32_t> &nodes, Signals signals);
    void apply(bool again);
    void raise(Event &event, uint32_t value, bool again);
    void recover();
    bool take(Event &event);

    int file_ = -1;
    size_t mapped_ = 0;
    MemoryHeader *header_ = nullptr;
    uint32_t *targets_ = nullptr; // The intent's nodes, and the value that the remote event gets on each.
    uint32_t *values_ = nullptr;
    Event *events_ = nullptr;
    uint8_t *staged_ = nullptr; // The intent's data.
    uint8_t *copies_ = nullptr;
};

} // namespace pse::coschedule
