#include "reports/deadlock_text.hpp"

#include <algorithm>
#include <map>

namespace pse::coschedule
{

namespace
{

constexpr size_t shown = 8; // The most ranks whose waits are listed.

std::string operation_text(const Descriptor &one, const char *const *names)
{
    uint32_t label = one.kind == PSE_BCS_KIND_COLLECTIVE ? one.operation + 1u : one.label;
    bool lacks_buffer = one.kind == PSE_BCS_KIND_SEND && one.bytes <= PSE_BCS_EAGER && !one.reads_payload;
    return (label ? names[label] : message_text(one.kind, one.peer, one.tag)) +
           (lacks_buffer ? " (messages that wait have taken all buffers)" : "");
}

// What each rank waits for: the first of its operations that are under way.
std::map<uint32_t, std::string> waits_of(const Segment &segment, const char *const *names)
{
    std::map<uint32_t, std::string> waits;
    std::map<uint32_t, uint64_t> least;
    auto look = [&](uint32_t, const Descriptor &one) {
        bool under_way = (one.state == State::posted || one.state == State::exchanged) && !one.sent;
        auto known = least.find(one.owner);
        if (!under_way || (known != least.end() && known->second < one.sequence))
            return;
        least[one.owner] = one.sequence;
        waits[one.owner] = operation_text(one, names);
    };
    for (uint32_t rank = 0; rank < segment.options().ranks; rank++)
        segment.visit_descriptors(rank, look);
    return waits;
}

} // namespace

std::string message_text(pse_bcs_kind kind, int32_t peer, int32_t tag)
{
    const char *verb = kind == PSE_BCS_KIND_SEND      ? "Send to "
                       : kind == PSE_BCS_KIND_RECEIVE ? "Recv from "
                                                      : "Probe from ";
    std::string who = peer == any ? "any rank" : "rank " + std::to_string(peer);
    return verb + who + (tag == any ? "" : " with tag " + std::to_string(tag));
}

std::string deadlock_text(const Segment &segment, const char *const *names)
{
    std::map<uint32_t, std::string> waits = waits_of(segment, names);
    std::string text = "deadlock: ";
    size_t count = 0, last = std::min(waits.size(), shown + 1);
    for (const auto &[rank, operation] : waits) {
        if (++count > shown)
            break;
        text += count == 1 ? "" : count == last ? " and " : ", ";
        text += "rank " + std::to_string(rank) + " in " + operation;
    }
    if (size_t more = waits.size() - std::min(waits.size(), shown))
        text += " and " + std::to_string(more) + (more == 1 ? " more rank" : " more ranks");
    return text + (segment.shared().failure.load() == PSE_BCS_FAILURE_LEFT ? ", and other ranks have left"
                                                                           : ", and no rank can go on");
}

} // namespace pse::coschedule
