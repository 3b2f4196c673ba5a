// Slices of several nodes, as the protocol sees them: what a node tells the others, and what it makes of what
// they tell.
//
// All nodes have a table for the descriptors of all ranks.  A descriptor that concerns another node is copied
// to the same place there, with its payload, and is used as if its owner were a neighbour; its owner's node
// is told when that is over.  So every node decides the same from the same information.
#include "protocol.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pse::coschedule
{
namespace
{

template <class Part> void append(std::string &message, const Part &part)
{
    message.append(reinterpret_cast<const char *>(&part), sizeof part);
}

template <class Part> Part read(const std::string &message, size_t &at)
{
    Part part;
    std::memcpy(static_cast<void *>(&part), message.data() + at, sizeof part);
    at += sizeof part;
    return part;
}

} // namespace

bool Protocol::can_decide() const
{
    uint32_t previous;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++)
        for (uint32_t one = s_.rank(rank).receives.head; one != none; one = s_.descriptor(one).next)
            if (find(rank, one, previous, true) != none)
                return true;
    return has_testers();
}

void Protocol::strobe_nodes(uint64_t deadline)
{
    Shared &shared = s_.shared();
    if (shared.stage == Stage::over && !shared.due) {
        shared.due = deadline;
        return platform_.nodes();
    }
    (shared.stage == Stage::scheduling ? shared.usrmsm : shared.usrdem)++;
    shared.timed++;
    shared.late++;
    if (shared.pace.falls_behind(shared.pace.length) && s_.options().adapted)
        shared.pace.lengthen(deadline);
    platform_.strobe();
}

// Strict slices have the number, the length and the lateness that the sender of strobes says.
void Protocol::follow(const NodeState &strobe)
{
    Shared &shared = s_.shared();
    node_slice_.slice = strobe.slice;
    node_slice_.late = strobe.late;
    node_slice_.timed = 1;
    shared.pace = {strobe.length, platform_.now(), strobe.slice};
    shared.timed++;
    shared.late += shared.pace.is_late(strobe.late);
}

NodeState Protocol::begin_nodes(std::vector<std::string> &messages, const NodeState *strobe)
{
    Shared &shared = s_.shared();
    uint64_t deadline = std::exchange(shared.due, 0);
    bool counts = s_.options().strict && deadline;
    node_slice_ = {};
    node_slice_.slice = counts ? shared.pace.slice_at(deadline) : shared.slice + 1;
    node_slice_.usrdem = std::exchange(shared.usrdem, 0);
    node_slice_.usrmsm = std::exchange(shared.usrmsm, 0);
    shared.wanted = 0;
    if (strobe)
        follow(*strobe);
    worked_ = begin(node_slice_, deadline);
    messages.assign(s_.options().nodes, {});
    NodeState state{node_slice_.slice, shared.told_nodes, shared.pace.length,         node_slice_.late,
                    shared.blocked,    shared.left,       is_quiescent() && !worked_, 0};
    for (uint64_t one = 0; one < shared.told_nodes; one++)
        write(s_.records()[one], messages);
    shared.told_nodes = shared.urgent = 0;
    shared.reported = shared.promised = state.quiescent;
    state.decides = state.quiescent && can_decide();
    if (state.quiescent && !state.decides && !state.records)
        for (std::string &message : messages)
            message = waits(); // Perhaps it is a deadlock.
    return state;
}

void Protocol::write(const Record &record, std::vector<std::string> &messages) const
{
    const Descriptor &one = s_.descriptor(record.index);
    bool posted = record.news == News::posted;
    // Who performed its part may have used the descriptor again.
    bool to_all = record.news == News::performed || one.kind == PSE_BCS_KIND_COLLECTIVE;
    uint32_t to = to_all ? none : s_.rank(posted ? static_cast<uint32_t>(one.peer) : one.owner).node;
    std::string text;
    append(text, record);
    if (posted)
        append(text, one);
    if (posted)
        text.append(reinterpret_cast<const char *>(s_.payload(record.index)), s_.payload_bytes(one));
    for (uint32_t node = 0; node < messages.size(); node++)
        if (node != s_.options().node && (to_all || node == to))
            messages[node] += text;
}

void Protocol::apply(const std::string &message)
{
    for (size_t at = 0; at < message.size();) {
        auto record = read<Record>(message, at);
        take(record, message, at);
    }
}

void Protocol::take(const Record &record, const std::string &message, size_t &at)
{
    if (record.news == News::full) {
        s_.rank(record.index).waits = Wait::room;
        return;
    }
    Descriptor &one = s_.descriptor(record.index);
    if (record.news == News::received)
        return let_go(record.index);
    if (record.news == News::performed) {
        one.partial = record.value;
        return count_down(s_.collective(one.number));
    }
    one = read<Descriptor>(message, at);
    one.state = State::exchanged;
    if (record.news == News::waits)
        return;
    one.held = 1;
    one.awaited = 0;
    std::memcpy(s_.payload(record.index), message.data() + at, s_.payload_bytes(one));
    at += s_.payload_bytes(one);
    if (one.kind == PSE_BCS_KIND_COLLECTIVE)
        join(record.index, node_slice_);
    else
        s_.push(s_.rank(static_cast<uint32_t>(one.peer)).arrivals, record.index);
}

bool Protocol::end_nodes(const std::vector<NodeState> &states, const std::vector<std::string> &messages)
{
    Shared &shared = s_.shared();
    uint64_t records = 0, slice = 0;
    uint32_t quiescent = 0, decides = 0, blocked = 0, left = 0;
    for (const NodeState &state : states) {
        slice = std::max(slice, state.slice);
        records += state.records;
        quiescent += state.quiescent;
        decides += state.decides;
        blocked += state.blocked;
        left += state.left;
    }
    bool settles = quiescent == states.size() && !records && blocked;
    shared.slice = slice; // A checkpoint's is restored on one node before it is on others.
    shared.promised = 0;
    shared.elsewhere = blocked - states[s_.options().node].blocked;
    node_slice_.slice = slice;
    hears_ = true;
    for (size_t node = 0; node < states.size(); node++)
        if (states[node].records || (settles && !decides))
            apply(messages[node]);
    hears_ = false;
    note_exchange(node_slice_);
    if (settles && !decides)
        fail(left ? PSE_BCS_FAILURE_LEFT : PSE_BCS_FAILURE_DEADLOCK, none, none);
    else if (settles)
        decide();
    else if (quiescent == states.size())
        shared.reported = 0; // What came may let something go on.
    schedule(node_slice_);
    note_slice(node_slice_);
    return worked_ || records;
}

std::string Protocol::waits() const
{
    std::string message;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++)
        if (s_.is_here(rank) && s_.rank(rank).waits == Wait::room)
            append(message, Record{News::full, rank, 0});
    for (uint32_t index = 0; index < s_.options().ranks * s_.options().table; index++) {
        if (index % s_.options().table == 0 && !s_.is_here(index / s_.options().table)) {
            index += s_.options().table - 1;
            continue;
        }
        const Descriptor &one = s_.descriptor(index);
        if (one.state != State::posted && one.state != State::exchanged)
            continue;
        append(message, Record{News::waits, index, 0});
        append(message, one);
    }
    return message;
}

} // namespace pse::coschedule
