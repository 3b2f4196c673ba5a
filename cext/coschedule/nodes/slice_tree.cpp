#include "nodes/slice_tree.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pse::coschedule
{
namespace
{

std::string pack(const NodeState &state, const std::string &parcels)
{
    return std::string(reinterpret_cast<const char *>(&state), sizeof state) + parcels;
}

SliceTree::Said unpack(const std::string &bytes)
{
    SliceTree::Said said;
    std::memcpy(&said.state, bytes.data(), sizeof said.state);
    said.parcels = bytes.substr(sizeof said.state);
    return said;
}

void add(NodeState &sum, const NodeState &one)
{
    sum.slice = std::max(sum.slice, one.slice);
    sum.records += one.records;
    sum.blocked += one.blocked;
    sum.left += one.left;
    sum.quiescent += one.quiescent;
    sum.decides += one.decides;
}

// Those for nodes from first to end: what a branch has said for all needn't go back to a node alone in it.
std::string parcels_for(const std::string &all, uint32_t first, uint32_t end)
{
    std::string found;
    Parcel head;
    for (size_t at = 0; at < all.size(); at += sizeof head + head.bytes) {
        std::memcpy(&head, all.data() + at, sizeof head);
        bool alone = end - first == 1 && head.from == first;
        if (head.to == every_node ? !alone : head.to >= first && head.to < end)
            found.append(all, at, sizeof head + head.bytes);
    }
    return found;
}

} // namespace

// The parent is the node without this one's lowest bit.
SliceTree::SliceTree(uint32_t node, uint32_t nodes, Post post)
    : node_(node), parent_(node & (node - 1)), post_(std::move(post))
{
    uint32_t lowest = node & (0u - node);
    for (uint32_t step = 1; node + step < nodes && (node == 0 || step < lowest); step *= 2)
        children_.push_back({node + step, std::min(node + 2 * step, nodes)});
}

bool SliceTree::is_called() const
{
    auto calls = [](const Child &child) { return child.called || child.came; };
    return !begun_ && (called_ || std::any_of(children_.begin(), children_.end(), calls));
}

bool SliceTree::has_all() const
{
    return std::all_of(children_.begin(), children_.end(), [](const Child &child) { return child.came; });
}

std::vector<uint32_t> SliceTree::neighbours() const
{
    std::vector<uint32_t> found(node_ ? 1 : 0, parent_);
    for (const Child &child : children_)
        found.push_back(child.node);
    return found;
}

void SliceTree::begin(Said mine, const std::string &word)
{
    word_ = called_ ? word_ : word;
    begun_ = true;
    said_ = std::move(mine);
    if (!has_all())
        spread();
    advance();
}

// Who has nobody below, or has heard from all there, calls its parent by what it says.
void SliceTree::spread()
{
    for (const Child &child : children_)
        if (!child.called && !child.came)
            post_(child.node, strobe, word_);
    if (node_ && !called_)
        post_(parent_, strobe, {});
}

void SliceTree::message(uint32_t node, uint32_t kind, const std::string &bytes)
{
    if (kind == down) {
        called_ = false;
        return finish(unpack(bytes));
    }
    auto from = std::find_if(children_.begin(), children_.end(),
                             [node](const Child &child) { return child.node == node; });
    if (from == children_.end()) {
        called_ = true;
        word_ = bytes;
        return;
    }
    from->called = kind == strobe;
    from->came = kind == up;
    from->said = bytes;
    advance();
}

void SliceTree::advance()
{
    if (!begun_ || sent_ || !has_all())
        return;
    for (Child &child : children_) {
        Said branch = unpack(std::exchange(child.said, {}));
        add(said_.state, branch.state);
        said_.parcels += branch.parcels;
        child.came = false;
    }
    sent_ = true;
    if (node_)
        post_(parent_, up, pack(said_.state, said_.parcels));
    else
        finish(std::move(said_));
}

void SliceTree::finish(Said all)
{
    for (const Child &child : children_)
        post_(child.node, down, pack(all.state, parcels_for(all.parcels, child.node, child.end)));
    said_ = std::move(all);
    over_ = true;
}

SliceTree::Said SliceTree::end()
{
    begun_ = sent_ = over_ = false;
    return std::exchange(said_, {});
}

} // namespace pse::coschedule
