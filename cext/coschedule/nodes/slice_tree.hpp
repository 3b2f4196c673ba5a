// The messages of a slice of several nodes: along the edges of a binomial tree, so that a slice takes at most
// three or four for each node, and hops in proportion to the logarithm of their number.
//
// Whoever wants a slice strobes its neighbours in the tree, and they theirs.  A node's say goes up together
// with that of all nodes below it, as soon as it is there; the root adds up, and what concerns the nodes of a
// branch goes down that branch.  What nodes of a branch tell each other turns where the branch begins. Larger
// payloads go straight from node to node (node_thread.hpp).
// Messages between two nodes arrive in the order in which they are sent.
//
// Slices that begin at the root only are asked for along the tree, and their end is told along it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
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
NodeState &operator+=(NodeState &sum, const NodeState &one);

constexpr uint32_t every_node = UINT32_MAX;

// Stands before what a node tells another one, or all others.
struct Packet {
    uint32_t from, to;
    uint32_t waits, reserved; // waits: it counts only if no rank can go on.
    uint64_t bytes;
};

// Nodes from the first up to the end: the branch of the first.
struct Branch {
    uint32_t first, end;
    bool has(uint32_t node) const
    {
        return node >= first && node < end;
    }
    bool is_single() const
    {
        return end - first == 1;
    }
};

// Of a branch's packets take out those that are for single nodes of it;
std::string take_inner(std::string &packets, Branch branch);
// of all, give those for its nodes: what a node has said for all needn't go back to it alone.
std::string packets_for(const std::string &packets, Branch branch);

enum class SliceKind : uint32_t { strobe, up, down, over, want };
constexpr uint32_t slice_kinds = 5;

// What a message says: a node's or a branch's state and packets.
template <class Packets> struct SliceSaid {
    NodeState state{};
    Packets packets{};
};

// Packets are bytes, or, where only their size counts, that.
template <class Packets> class SliceTreeOf
{
  public:
    using Said = SliceSaid<Packets>;
    // Sends a message to a node.
    using Post = std::function<void(uint32_t node, SliceKind kind, const Said &said)>;

    // The parent is the node without this one's lowest bit.
    SliceTreeOf(uint32_t node, uint32_t nodes, Post post)
        : branch_{node, node ? std::min(node + (node & (0u - node)), nodes) : nodes},
          parent_(node & (node - 1)), post_(std::move(post))
    {
        for (uint32_t step = 1; node + step < branch_.end; step *= 2)
            children_.push_back({{node + step, std::min(node + 2 * step, nodes)}});
    }

    // Another node has begun a slice, and this one hasn't.
    bool is_called() const
    {
        auto calls = [](const Child &child) { return child.called || child.came; };
        return !begun_ && (called_ || std::any_of(children_.begin(), children_.end(), calls));
    }
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
    void begin(Said mine, const NodeState &word = {})
    {
        word_ = called_ ? word_ : word;
        begun_ = true;
        asked_ = false;
        said_ = std::move(mine);
        if (!has_all())
            spread();
        advance();
    }
    const NodeState &word() const
    {
        return word_;
    }
    void message(uint32_t node, SliceKind kind, Said said);
    // What all nodes have said is here; end the slice with that.
    bool is_over() const
    {
        return over_;
    }
    const Said &said() const
    {
        return said_;
    }
    Said end()
    {
        begun_ = sent_ = over_ = asked_ = false;
        return std::exchange(said_, {});
    }

    // Ask node 0, from another one, for a strobe: for others below, once before a slice begins and once
    // before it ends.
    void ask()
    {
        if (!std::exchange(asked_, true))
            post_(parent_, SliceKind::want, {});
    }
    // This node has done what the slice says, or a child and all below it have; says on node 0 when all have.
    bool count_over()
    {
        if (++done_ <= children_.size())
            return false;
        done_ = 0;
        if (!is_root())
            post_(parent_, SliceKind::over, {});
        return is_root();
    }
    // Of this node, and all below it.
    Branch branch() const
    {
        return branch_;
    }
    // Nodes whose messages come here.
    std::vector<uint32_t> neighbours() const
    {
        std::vector<uint32_t> found(is_root() ? 0 : 1, parent_);
        for (const Child &child : children_)
            found.push_back(child.branch.first);
        return found;
    }

  private:
    struct Child {
        Branch branch;
        bool called = false, came = false;
        Said said = {};
    };

    bool is_root() const
    {
        return branch_.first == 0;
    }
    bool has_all() const
    {
        return std::all_of(children_.begin(), children_.end(), [](const Child &child) { return child.came; });
    }
    void spread();
    void advance();
    void finish(Said all);

    Branch branch_;
    uint32_t parent_;
    Post post_;
    std::vector<Child> children_;
    bool called_ = false, begun_ = false, sent_ = false, over_ = false; // called: by the parent.
    bool asked_ = false;
    size_t done_ = 0; // Of this node and its children.
    NodeState word_{};
    Said said_;       // Of this node, of its branch, and then of all.
    Packets inner_{}; // Of this branch for nodes of it.
};

// Who has nobody below, or has heard from all there, calls its parent by what it says.  The largest branch
// comes first: its messages have the longest way.
template <class Packets> void SliceTreeOf<Packets>::spread()
{
    for (auto child = children_.rbegin(); child != children_.rend(); ++child)
        if (!child->called && !child->came)
            post_(child->branch.first, SliceKind::strobe, {word_, {}});
    if (!is_root() && !called_)
        post_(parent_, SliceKind::strobe, {});
}

template <class Packets> void SliceTreeOf<Packets>::message(uint32_t node, SliceKind kind, Said said)
{
    if (kind == SliceKind::down) {
        called_ = false;
        said.packets += std::exchange(inner_, {});
        return finish(std::move(said));
    }
    auto from = std::find_if(children_.begin(), children_.end(),
                             [node](const Child &child) { return child.branch.first == node; });
    if (from == children_.end()) {
        called_ = true;
        word_ = said.state;
        return;
    }
    from->called = kind == SliceKind::strobe;
    from->came = kind == SliceKind::up;
    from->said = std::move(said);
    advance();
}

template <class Packets> void SliceTreeOf<Packets>::advance()
{
    if (!begun_ || sent_ || !has_all())
        return;
    for (Child &child : children_) {
        said_.state += child.said.state;
        said_.packets += std::exchange(child.said, {}).packets;
        child.came = false;
    }
    sent_ = true;
    if (is_root())
        return finish(std::move(said_));
    inner_ = take_inner(said_.packets, branch_);
    post_(parent_, SliceKind::up, said_);
}

// Before what is for single nodes comes what the same node has said for all: with it that may use a
// descriptor again.
template <class Packets> void SliceTreeOf<Packets>::finish(Said all)
{
    for (auto child = children_.rbegin(); child != children_.rend(); ++child)
        post_(child->branch.first, SliceKind::down, {all.state, packets_for(all.packets, child->branch)});
    said_ = std::move(all);
    over_ = true;
}

using SliceTree = SliceTreeOf<std::string>;

// As they are sent.
std::string pack(const SliceTree::Said &said);
SliceTree::Said unpack(const std::string &bytes);

} // namespace pse::coschedule
