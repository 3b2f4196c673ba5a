// What nodes tell each other in simulated slices: the messages of SliceTree, with what they take on the way.
//
// A node does one thing after the other.  It begins a slice when its strobe comes, and goes on when what all
// have told is there; whether it sleeps until then, and what each message and each byte takes, Costs say.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "nodes/slice_tree.hpp"

namespace pse::coschedule
{

struct Costs;

// Of a node, since the last slice: descriptors that it exchanges, and receives.
struct Load {
    uint64_t exchanged = 0, received = 0;
};

// Packets of which only the size counts, which SliceNetwork knows.
struct UnseenPackets {
    UnseenPackets &operator+=(const UnseenPackets &)
    {
        return *this;
    }
};
UnseenPackets take_inner(UnseenPackets &packets, Branch branch);
UnseenPackets packets_for(const UnseenPackets &packets, Branch branch);

class SliceNetwork
{
  public:
    SliceNetwork(uint32_t nodes, const Costs &costs);

    // In the next slice a node tells another one, or every_node, so many bytes.
    void tell(uint32_t from, uint32_t to, uint64_t bytes);
    // In the next slice, in which it waits for that, so many go straight to a node.
    void send(uint32_t from, uint32_t to, uint64_t bytes);
    // That slice, which begins on node 0 at a time (ns).
    void run(uint64_t begin, const std::vector<Load> &loads);

    // When a node knew what all had told, and when it had scheduled that;
    uint64_t heard(uint32_t node) const
    {
        return nodes_[node].heard;
    }
    uint64_t ended(uint32_t node) const
    {
        return nodes_[node].ended;
    }
    // when the last one knew it, and when node 0 knew that all had ended.
    uint64_t all_heard() const
    {
        return all_heard_;
    }
    uint64_t all_ended() const
    {
        return all_ended_;
    }
    uint64_t messages() const
    {
        return messages_;
    }

  private:
    using Tree = SliceTreeOf<UnseenPackets>;
    struct Event {
        uint64_t time, number;
        uint32_t from, to;
        SliceKind kind;
        uint64_t bytes;
        bool straight;
        bool operator>(const Event &other) const
        {
            return time != other.time ? time > other.time : number > other.number;
        }
    };
    struct Node {
        Tree tree;
        uint64_t free = 0, link = 0; // When it has nothing to do any more; when its link is free.
        uint64_t heard = 0, ended = 0;
        std::vector<std::pair<uint32_t, uint64_t>> straight = {}; // To which nodes, and how many bytes.
        uint64_t awaited = 0;                                     // How many such messages are to come.
    };
    // Bytes that nodes of a branch tell all others, tell nodes outside, and are told from there; and how many
    // packets the first of them is told, less those that it tells all.
    struct Told {
        uint64_t to_all = 0, out = 0, in = 0;
        int64_t packets = 0;
    };

    Branch branch_of(uint32_t node) const
    {
        return nodes_[node].tree.branch();
    }
    void begin_on(uint32_t node, const Load &load);
    void post(uint32_t from, uint32_t to, SliceKind kind);
    void post(uint32_t from, uint32_t to, SliceKind kind, uint64_t bytes, bool straight);
    void deliver(const Event &event, const Load &load);
    void go_on(uint32_t node, const Load &load);
    void count_over(Node &one);
    uint64_t bytes_of(uint32_t from, uint32_t to, SliceKind kind) const;
    void work(double ns)
    {
        clock_ += static_cast<uint64_t>(ns);
    }

    const Costs &costs_;
    std::vector<Node> nodes_;
    std::vector<Told> told_; // By the branch's first node.
    int64_t packets_to_all_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
    uint64_t clock_ = 0; // Of the node that does something.
    uint64_t all_heard_ = 0, all_ended_ = 0, messages_ = 0;
};

} // namespace pse::coschedule
