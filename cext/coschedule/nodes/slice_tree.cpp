#include "nodes/slice_tree.hpp"

#include "nodes/bytes.hpp"

namespace pse::coschedule
{
namespace
{

// Takes each packet, with its head, for which the function says so.
template <class Choice> std::string take(const std::string &packets, Choice is_taken)
{
    std::string found;
    Packet head;
    for (size_t at = 0; at < packets.size(); at += sizeof head + head.bytes) {
        size_t after = at;
        head = read<Packet>(packets, after);
        if (is_taken(head))
            found.append(packets, at, sizeof head + head.bytes);
    }
    return found;
}

} // namespace

NodeState &operator+=(NodeState &sum, const NodeState &one)
{
    sum.slice = std::max(sum.slice, one.slice);
    sum.records += one.records;
    sum.blocked += one.blocked;
    sum.left += one.left;
    sum.quiescent += one.quiescent;
    sum.decides += one.decides;
    return sum;
}

std::string take_inner(std::string &packets, Branch branch)
{
    auto is_inner = [branch](const Packet &head) { return branch.has(head.to); };
    std::string inner = take(packets, is_inner);
    if (!inner.empty())
        packets = take(packets, [is_inner](const Packet &head) { return !is_inner(head); });
    return inner;
}

std::string packets_for(const std::string &packets, Branch branch)
{
    bool alone = branch.is_single();
    return take(packets, [branch, alone](const Packet &head) {
        return head.to == every_node ? !alone || head.from != branch.first : branch.has(head.to);
    });
}

std::string pack(const SliceTree::Said &said)
{
    return bytes_of(said.state) + said.packets;
}

SliceTree::Said unpack(const std::string &bytes)
{
    size_t at = 0;
    auto state = read<NodeState>(bytes, at);
    return {state, bytes.substr(at)};
}

} // namespace pse::coschedule
