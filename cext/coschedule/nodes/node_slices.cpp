// Slices of several nodes, as the protocol sees them: what a node tells the others, and what it makes of what
// they tell.
//
// All nodes have a table for the descriptors of all ranks.  A descriptor that concerns another node is copied
// to the same place there, with its payload, and is used as if its owner were a neighbour; its owner's node
// is told when that is over.  So every node decides the same from the same information.
#include "protocol.hpp"

#include <cstring>
#include <utility>

#include "nodes/bytes.hpp"

namespace pse::coschedule
{
namespace
{

std::string packet(Packet head, const std::string &text)
{
    std::string found;
    head.bytes = text.size();
    append(found, head);
    return found + text;
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

SliceTree::Said Protocol::begin_nodes(const NodeState *strobe)
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
    SliceTree::Said said;
    said.state = {node_slice_.slice, shared.told_nodes, shared.pace.length,         node_slice_.late,
                  shared.blocked,    shared.left,       is_quiescent() && !worked_, 0};
    for (uint64_t one = 0; one < shared.told_nodes; one++) {
        const Record &record = s_.records()[one];
        said.packets += write(record);
        if (record.news == News::posted && s_.goes_straight(s_.descriptor(record.index)))
            straight_.push_back(record.index);
    }
    shared.told_nodes = shared.urgent = 0;
    shared.reported = shared.promised = said.state.quiescent;
    said.state.decides = said.state.quiescent && can_decide();
    if (said.state.quiescent && !said.state.decides && !said.state.records)
        said.packets = packet({s_.options().node, every_node, 1, 0, 0}, waits()); // Perhaps it is a deadlock.
    return said;
}

// The packet of a record, if it concerns another node.
std::string Protocol::write(const Record &record) const
{
    const Descriptor &one = s_.descriptor(record.index);
    bool posted = record.news == News::posted;
    // Who performed its part may have used the descriptor again.
    bool to_all = record.news == News::performed || one.kind == PSE_BCS_KIND_COLLECTIVE;
    uint32_t to = to_all ? every_node : s_.rank(posted ? static_cast<uint32_t>(one.peer) : one.owner).node;
    std::string text;
    append(text, record);
    if (posted)
        append(text, one);
    if (posted && !s_.goes_straight(one))
        text.append(reinterpret_cast<const char *>(s_.payload(one)), s_.payload_bytes(one));
    return packet({s_.options().node, to, 0, 0, 0}, text);
}

std::string Protocol::payload_of(uint32_t index) const
{
    const Descriptor &one = s_.descriptor(index);
    std::string message = bytes_of(one);
    return message.append(reinterpret_cast<const char *>(s_.payload(one)), s_.payload_bytes(one));
}

// It may come before this node has ended the slice before: the sender had heard by then that nobody reads its
// buffer any more.
void Protocol::take_payload(const std::string &message) const
{
    size_t at = 0;
    auto one = read<Descriptor>(message, at);
    std::memcpy(s_.payload(one), message.data() + at, message.size() - at);
}

void Protocol::await_payloads(const std::string &packets, std::vector<int64_t> &came) const
{
    Packet head;
    for (size_t at = 0; at < packets.size(); at += head.bytes) {
        head = read<Packet>(packets, at);
        size_t place = at;
        if (head.to != s_.options().node || read<Record>(packets, place).news != News::posted)
            continue;
        came[head.from] -= s_.goes_straight(read<Descriptor>(packets, place));
    }
}

void Protocol::apply_packets(const std::string &packets, bool waits)
{
    RoutineTime time(*this, node_slice_.ltr_nodes);
    for (size_t at = 0; at < packets.size();) {
        auto head = read<Packet>(packets, at);
        uint32_t here = s_.options().node;
        bool is_for_here = head.to == here || (head.to == every_node && head.from != here);
        if (is_for_here && (head.waits != 0) == waits)
            apply(packets.substr(at, head.bytes));
        at += head.bytes;
    }
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
    Descriptor &one = s_.descriptor(record.index);
    if (record.news == News::received) {
        note_time(one);
        one.slice = record.value;
        return let_go(record.index);
    }
    if (record.news == News::performed) {
        one.partial = record.value;
        return count_down(s_.collective(one.number));
    }
    one = read<Descriptor>(message, at);
    one.state = State::exchanged;
    s_.note_descriptor(record.index);
    if (record.news == News::waits)
        return;
    one.held = 1;
    one.awaited = 0;
    if (!s_.goes_straight(one)) {
        std::memcpy(s_.payload(one), message.data() + at, s_.payload_bytes(one));
        at += s_.payload_bytes(one);
    }
    if (one.kind == PSE_BCS_KIND_COLLECTIVE)
        join(record.index, node_slice_);
    else
        s_.push(s_.rank(static_cast<uint32_t>(one.peer)).arrivals, record.index);
}

bool Protocol::end_nodes(const NodeState &mine, const SliceTree::Said &all)
{
    Shared &shared = s_.shared();
    bool quiescent = all.state.quiescent == s_.options().nodes;
    bool settles = quiescent && !all.state.records && all.state.blocked,
         fails = settles && !all.state.decides;
    shared.slice = all.state.slice; // A checkpoint's is restored on one node before it is on others.
    shared.promised = 0;
    shared.elsewhere = all.state.blocked - mine.blocked;
    node_slice_.slice = all.state.slice;
    hears_ = true;
    apply_packets(all.packets, fails);
    hears_ = false;
    note_exchange(node_slice_);
    if (fails)
        fail(all.state.left ? PSE_BCS_FAILURE_LEFT : PSE_BCS_FAILURE_DEADLOCK, none, none);
    else if (settles)
        decide(node_slice_);
    else if (quiescent)
        shared.reported = 0; // What came may let something go on.
    schedule(node_slice_);
    note_slice(node_slice_);
    return worked_ || all.state.records;
}

void Protocol::cut_off()
{
    s_.shared().cut_off.store(1);
    settle();
}

std::string Protocol::waits() const
{
    std::string message;
    auto add = [&](uint32_t index, const Descriptor &one) {
        if (one.state != State::posted && one.state != State::exchanged)
            return;
        append(message, Record{News::waits, index, 0});
        append(message, one);
    };
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++)
        if (s_.is_here(rank))
            s_.visit_descriptors(rank, add);
    return message;
}

} // namespace pse::coschedule
