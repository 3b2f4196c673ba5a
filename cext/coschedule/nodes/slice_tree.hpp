// The messages of a slice of several nodes: along the edges of a binomial tree, so that a slice takes at most
// three or four for each node, and hops in proportion to the logarithm of their number.
//
// Whoever wants a slice strobes its neighbours in the tree, and they theirs.  A node's say goes up together
// with that of all nodes below it, as soon as it is there; the root adds up, and what concerns the nodes of a
// branch goes down that branch.  Messages between two nodes arrive in the order in which they are sent.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pse::coschedule
{

// What a node tells all others in a slice; of several nodes: the sum.
struct NodeState {
    uint64_t slice;        // Its number; of several nodes: the highest.
    uint64_t records;      // For any node.
    uint64_t length, late; // ns; node 0: of slices, and how late this one began.
    uint32_t blocked, left;
    uint32_t quiescent; // Nodes of which all ranks are blocked or have left.
    uint32_t decides;   // Nodes where something goes on if that is so on all.
};

constexpr uint32_t every_node = UINT32_MAX;

// Stands before what a node tells another one, or all others.
struct Parcel {
    uint32_t from, to;
    uint32_t waits, reserved; // waits: it counts only if no rank can go on.
    uint64_t bytes;
};

class SliceTree
{
  public:
    enum Kind : uint32_t { strobe, up, down, kinds };
    // Sends a message to a node.
    using Post = std::function<void(uint32_t node, uint32_t kind, const std::string &bytes)>;
    struct Said {
        NodeState state{};
        std::string parcels;
    };

    SliceTree(uint32_t node, uint32_t nodes, Post post);

    // Another node has begun a slice, and this one hasn't.
    bool is_called() const;
    // From above it has been called to that.
    bool is_strobed() const
    {
        return !begun_ && called_;
    }
    bool is_begun() const
    {
        return begun_;
    }
    // `word` goes down the tree with the strobe; who was called from above passes on the word that came.
    void begin(Said mine, const std::string &word = {});
    const std::string &word() const
    {
        return word_;
    }
    void message(uint32_t node, uint32_t kind, const std::string &bytes);
    // What all nodes have said is here; end the slice with that.
    bool is_over() const
    {
        return over_;
    }
    Said end();
    // Nodes whose messages come here.
    std::vector<uint32_t> neighbours() const;

  private:
    struct Child {
        uint32_t node, end; // Its branch has the nodes from itself up to the end.
        bool called = false, came = false;
        std::string said = {};
    };

    bool has_all() const;
    void spread();
    void advance();
    void finish(Said all);

    uint32_t node_, parent_;
    Post post_;
    std::vector<Child> children_;
    bool called_ = false, begun_ = false, sent_ = false, over_ = false; // called: by the parent.
    std::string word_;
    Said said_; // Of this node, of its branch, and then of all.
};

} // namespace pse::coschedule
