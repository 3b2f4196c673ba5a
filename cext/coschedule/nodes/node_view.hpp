// What a stepper sees of other nodes: their leaders tell node 0, in whose memory it looks.
#pragma once

#include <cstdint>
#include <string>

#include "segment.hpp"

namespace pse::coschedule
{

// A node at a moment, before what its ranks do, what they have posted, and the last decisions.
struct NodeView {
    uint64_t number;    // Of the look that it answers.
    uint32_t is_moving; // Bytes are to be moved.
    uint32_t in_slice;  // One isn't over there.
    uint32_t ranks, matches;
};

// What a rank of this node has under way, and messages from other nodes that wait for it, which their own
// node can't tell from received ones; both are in the list if the sender is asked too.
template <class Visitor> void visit_operations(const Segment &segment, uint32_t rank, Visitor visit)
{
    segment.visit_descriptors(rank, [&](uint32_t, const Descriptor &one) {
        if (one.state != State::free && one.state != State::done)
            visit(one);
    });
    for (uint32_t one = segment.rank(rank).arrivals.head; one != none; one = segment.descriptor(one).next)
        if (!segment.is_here(segment.descriptor(one).owner))
            visit(segment.descriptor(one));
}

// With the segment's lock held.  `told`: how many decisions node 0 knows; they are told from there on.
std::string view_of(const Segment &segment, uint64_t number, bool is_in_slice, uint64_t &told);
NodeView take_view(Segment &segment, const std::string &message);

} // namespace pse::coschedule
