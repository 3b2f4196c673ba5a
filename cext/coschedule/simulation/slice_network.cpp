#include "slice_network.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "simulation.hpp"

namespace pse::coschedule
{
namespace
{

constexpr uint64_t header = 16 + sizeof(NodeState); // Of a message between nodes.

uint32_t parent_of(uint32_t node)
{
    return node & (node - 1);
}

} // namespace

UnseenPackets take_inner(UnseenPackets &, Branch)
{
    return {};
}

UnseenPackets packets_for(const UnseenPackets &, Branch)
{
    return {};
}

SliceNetwork::SliceNetwork(uint32_t nodes, const Costs &costs) : costs_(costs), told_(nodes)
{
    nodes_.reserve(nodes);
    for (uint32_t node = 0; node < nodes; node++)
        nodes_.push_back({Tree(node, nodes, [this, node](uint32_t to, SliceKind kind, const Tree::Said &) {
            post(node, to, kind);
        })});
}

// A node is in its own branch, its parent's, and so on; what is for a node of a branch stays there.
void SliceNetwork::tell(uint32_t from, uint32_t to, uint64_t bytes)
{
    if (to == every_node) {
        packets_to_all_++;
        told_[from].packets--;
        for (uint32_t node = from; node; node = parent_of(node))
            told_[node].to_all += bytes;
        told_[0].to_all += bytes;
        return;
    }
    told_[to].packets += from != to;
    for (uint32_t node = from; !branch_of(node).has(to); node = parent_of(node))
        told_[node].out += bytes;
    for (uint32_t node = to; !branch_of(node).has(from); node = parent_of(node))
        told_[node].in += bytes;
}

void SliceNetwork::send(uint32_t from, uint32_t to, uint64_t bytes)
{
    nodes_[from].straight.emplace_back(to, bytes);
    nodes_[to].awaited++;
}

void SliceNetwork::begin_on(uint32_t node, const Load &load)
{
    work(costs_.slice / 2 + static_cast<double>(load.exchanged) * costs_.descriptor);
    nodes_[node].tree.begin({});
    for (const auto &[to, bytes] : std::exchange(nodes_[node].straight, {}))
        post(node, to, {}, bytes, true);
}

void SliceNetwork::run(uint64_t begin, const std::vector<Load> &loads)
{
    clock_ = begin;
    all_heard_ = 0;
    begin_on(0, loads[0]);
    nodes_[0].free = clock_;
    while (!events_.empty()) {
        Event event = events_.top();
        events_.pop();
        deliver(event, loads[event.to]);
    }
    told_.assign(told_.size(), {});
    packets_to_all_ = 0;
}

uint64_t SliceNetwork::bytes_of(uint32_t from, uint32_t to, SliceKind kind) const
{
    if (kind == SliceKind::up)
        return header + told_[from].to_all + told_[from].out;
    if (kind != SliceKind::down)
        return header;
    uint64_t own = branch_of(to).is_single() ? told_[to].to_all : 0;
    return header + told_[0].to_all - own + told_[to].in;
}

// A node packs a message, and has its link send it when that is free.
void SliceNetwork::post(uint32_t from, uint32_t to, SliceKind kind)
{
    post(from, to, kind, bytes_of(from, to, kind), false);
}

void SliceNetwork::post(uint32_t from, uint32_t to, SliceKind kind, uint64_t bytes, bool straight)
{
    uint64_t &link = nodes_[from].link;
    auto size = static_cast<double>(bytes);
    work(costs_.message + size * costs_.copy);
    link = std::max(clock_, link) + static_cast<uint64_t>(size * costs_.beta);
    events_.push({link + static_cast<uint64_t>(costs_.alpha), messages_++, from, to, kind, bytes, straight});
}

void SliceNetwork::deliver(const Event &event, const Load &load)
{
    Node &one = nodes_[event.to];
    clock_ = std::max(event.time, one.free);
    work((event.time > one.free ? costs_.wake : 0) + costs_.message +
         static_cast<double>(event.bytes) * costs_.copy);
    if (event.straight)
        one.awaited--;
    else if (event.kind == SliceKind::over)
        count_over(one);
    else
        one.tree.message(event.from, event.kind, {});
    go_on(event.to, load);
    one.free = clock_;
}

void SliceNetwork::go_on(uint32_t node, const Load &load)
{
    Node &one = nodes_[node];
    if (one.tree.is_strobed())
        begin_on(node, load);
    if (!one.tree.is_over() || one.awaited)
        return;
    one.tree.end();
    work(static_cast<double>(packets_to_all_ + told_[node].packets) * costs_.packet);
    one.heard = clock_;
    all_heard_ = std::max(all_heard_, clock_);
    work(costs_.slice / 2 + static_cast<double>(load.received) * costs_.match);
    one.ended = clock_;
    count_over(one);
}

void SliceNetwork::count_over(Node &one)
{
    if (one.tree.count_over())
        all_ended_ = clock_;
}

} // namespace pse::coschedule
