#include "nodes/slice_tree.hpp"

#include "nodes/bytes.hpp"

namespace pse::coschedule
{
namespace
{

// Takes each parcel, with its head, for which the function says so.
template <class Choice> std::string take(const std::string &parcels, Choice is_taken)
{
    std::string found;
    Parcel head;
    for (size_t at = 0; at < parcels.size(); at += sizeof head + head.bytes) {
        size_t after = at;
        head = read<Parcel>(parcels, after);
        if (is_taken(head))
            found.append(parcels, at, sizeof head + head.bytes);
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

std::string take_inner(std::string &parcels, Branch branch)
{
    auto is_inner = [branch](const Parcel &head) { return branch.has(head.to); };
    std::string inner = take(parcels, is_inner);
    if (!inner.empty())
        parcels = take(parcels, [is_inner](const Parcel &head) { return !is_inner(head); });
    return inner;
}

std::string parcels_for(const std::string &parcels, Branch branch)
{
    bool alone = branch.is_single();
    return take(parcels, [branch, alone](const Parcel &head) {
        return head.to == every_node ? !alone || head.from != branch.first : branch.has(head.to);
    });
}

std::string pack(const SliceTree::Said &said)
{
    return bytes_of(said.state) + said.parcels;
}

SliceTree::Said unpack(const std::string &bytes)
{
    size_t at = 0;
    auto state = read<NodeState>(bytes, at);
    return {state, bytes.substr(at)};
}

} // namespace pse::coschedule
