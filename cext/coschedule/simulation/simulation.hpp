// Simulated ranks under the protocol of real ones: each follows a list of acts, slices begin by a virtual
// clock, and what the network and the nodes do takes the time that a table of costs says.
//
// One Protocol schedules all ranks, as it does on one node.  What several nodes add is time: a slice begins
// when its strobe has reached all nodes (Xfer-And-Signal), and a microphase when all nodes have ended the one
// before (Compare-And-Write) and know it (Xfer-And-Signal again).
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "abi_coschedule.h"
#include "protocol.hpp"
#include "segment.hpp"

namespace pse::coschedule
{

// What things take, in ns.
struct Costs {
    double alpha, beta;  // A message between nodes: its start, and each byte.
    double first, level; // A multicast: T(n) = first + level * ⌈log n⌉ to the base `fan`; 0 for one node.
    double copy;         // Each byte of a message on a node.
    double descriptor, match; // The node's work for one that is exchanged, for one that is received.
    double slice;             // The node's work in a slice, whatever is in it.
    double wake;              // A sleeper that is woken runs.
    uint32_t fan;
};

// What every rank does, one rank's acts after the other's.
struct Acts {
    std::vector<pse_bcs_act> all;
    std::vector<uint64_t> begins; // Of each rank's, and the end of the last one's.
};

class Simulation final : public Platform
{
  public:
    Simulation(const Options &options, const Costs &costs, uint32_t ranks_per_node, Acts acts);

    // Whether all ranks come to their end; else they wait for each other.
    bool run();
    uint64_t end() const // ns
    {
        return end_;
    }
    const Segment &segment() const
    {
        return segment_;
    }

    uint64_t now() override
    {
        return now_;
    }
    void microstrobe() override;
    void rank(uint32_t rank) override;
    void helper(uint32_t rank) override;
    void strobe() override;

  private:
    enum class Kind : uint32_t { strobe, go_on, help, moved };
    struct Event {
        uint64_t time, number;
        Kind kind;
        uint32_t rank, index; // moved: the descriptor.
        uint64_t bytes;
        bool operator>(const Event &other) const
        {
            return time != other.time ? time > other.time : number > other.number;
        }
    };
    struct Virtual {
        uint64_t next = 0; // Its next act.
        uint64_t busy = 0; // It computes until then.
        bool waits = false, helped = false;
        std::vector<uint32_t> requests;
    };
    // Descriptors of a node since the last slice.
    struct Load {
        uint64_t exchanged = 0, received = 0;
    };

    void push(Kind kind, double after, uint32_t rank, uint32_t index = none, uint64_t bytes = 0);
    void handle(const Event &event);
    void begin_slice();
    void go_on(uint32_t rank);
    bool act(uint32_t rank);
    bool post(uint32_t rank, const pse_bcs_act &what);
    void wait_for_room(uint32_t rank);
    void describe(Descriptor &one, const pse_bcs_act &what) const;
    bool ends_wait(uint32_t rank);
    void move(uint32_t rank, uint32_t index, Kind then);
    double transfer_time(const Descriptor &one, uint64_t bytes) const;
    double collective_time(const Descriptor &one) const;
    uint32_t levels() const;
    double multicast() const;
    double work(double per_exchanged, double per_received) const;

    Segment segment_;
    Protocol protocol_;
    Costs costs_;
    uint32_t per_node_, nodes_, phase_ = 0;
    Acts acts_;
    std::vector<Virtual> ranks_;
    std::vector<Load> loads_;
    std::vector<uint64_t> links_; // When each node's link is free.
    std::vector<uint32_t> woken_; // In the slice that is being scheduled.
    std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
    uint64_t now_ = 0, end_ = 0, coordinated_ = 0, numbers_ = 0;
    bool armed_ = false, scheduling_ = false;
};

} // namespace pse::coschedule
