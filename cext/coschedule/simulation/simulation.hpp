// Simulated ranks under the protocol of real ones: each follows a list of acts, slices begin by a virtual
// clock, and what the network and the nodes do takes the time that a table of costs says.
//
// One Protocol schedules all ranks, as it does on one node: on several, each decides the same.  What several
// nodes add is time: that of the messages of a slice, which are SliceTree's (slice_network.hpp); or, where
// switches multiply messages as in the paper, a slice begins when its strobe has reached all nodes
// (Xfer-And-Signal), and a microphase when all nodes have ended the one before (Compare-And-Write) and know
// it (Xfer-And-Signal again).
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "abi_coschedule.h"
#include "protocol.hpp"
#include "segment.hpp"
#include "slice_network.hpp"

namespace pse::coschedule
{

// What things take, in ns.
struct Costs {
    double alpha, beta;  // A message between nodes: its start, and each byte.
    double first, level; // A multicast: T(n) = first + level * ⌈log n⌉ to the base `fan`; 0 for one node.
    uint32_t fan;        // 0: there is none, and slices go along a tree of messages.
    double message;      // A node's work to send a message, or to take one.
    double packet;       // What it does with a packet from another node.
    double copy;         // Each byte of a message on a node.
    double descriptor, match; // The node's work for one that is exchanged, for one that is received.
    double slice;             // The node's work in a slice, whatever is in it.
    double wake;              // A sleeper that is woken runs.
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
    // Between nodes, for slices.
    uint64_t messages() const
    {
        return network_ ? network_->messages() : 0;
    }

    uint64_t now() override
    {
        return now_;
    }
    void microstrobe() override;
    void rank(uint32_t rank) override;
    void helper(uint32_t rank) override;
    void strobe() override;
    void nodes() override
    {
        begin_slice();
    }

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
    struct Woken {
        uint32_t rank, phase; // Of the slice that is being scheduled.
    };

    void push(Kind kind, double after, uint32_t rank, uint32_t index = none, uint64_t bytes = 0);
    void handle(const Event &event);
    void due();
    void begin_slice();
    uint64_t goes_on_at(const Woken &one) const;
    void go_on(uint32_t rank);
    bool act(uint32_t rank);
    void post(uint32_t rank, const pse_bcs_act &what);
    void describe(Descriptor &one, const pse_bcs_act &what) const;
    bool ends_wait(uint32_t rank);
    void move(uint32_t rank, uint32_t index, Kind then);
    void tell(const Descriptor &one);
    void tell_moved(uint32_t index, uint64_t bytes);
    double transfer_time(const Descriptor &one, uint64_t bytes) const;
    double fetch_time(const Descriptor &one) const;
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
    std::vector<Woken> woken_;
    std::unique_ptr<SliceNetwork> network_; // Where slices go along the tree of nodes.
    std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
    uint64_t now_ = 0, end_ = 0, coordinated_ = 0, numbers_ = 0;
    bool armed_ = false, scheduling_ = false;
};

} // namespace pse::coschedule
