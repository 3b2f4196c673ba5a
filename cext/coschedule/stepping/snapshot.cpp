// What checkpoints take from a rank's end of the layer, and give back to it.
#include <algorithm>
#include <cstring>

#include "engine.hpp"
#include "stepping/lock.hpp"

namespace pse::coschedule
{

Engine::Mark Engine::mark()
{
    Lock lock(*this);
    Guard guard(lock);
    const Rank &mine = segment_->rank(me_);
    return {mine.sequence, mine.answers, segment_->shared().slice, segment_->shared().epoch};
}

void Engine::set_sequence(uint64_t sequence)
{
    Lock lock(*this);
    Guard guard(lock);
    segment_->rank(me_).sequence = sequence;
}

std::vector<Engine::Unreceived> Engine::unreceived()
{
    Lock lock(*this);
    Guard guard(lock);
    std::vector<Unreceived> found;
    segment_->visit_descriptors(me_, [&](uint32_t, const Descriptor &one) {
        if (one.kind == PSE_BCS_KIND_SEND && one.held && one.state == State::exchanged)
            found.push_back(
                {one.peer, one.tag, one.sequence, one.epoch,
                 one.reads_payload ? segment_->payload(one) : reinterpret_cast<const uint8_t *>(one.address),
                 one.bytes});
    });
    std::sort(found.begin(), found.end(),
              [](const Unreceived &one, const Unreceived &other) { return one.sequence < other.sequence; });
    return found;
}

void Engine::restore(const Mark &mark, const std::vector<Unreceived> &messages)
{
    Lock lock(*this);
    Guard guard(lock);
    for (const Unreceived &message : messages) {
        uint32_t index = allocate();
        if (index == none)
            return; // It is told why.
        Descriptor &one = segment_->descriptor(index);
        one.kind = PSE_BCS_KIND_SEND;
        one.state = State::exchanged;
        one.peer = message.peer;
        one.tag = message.tag;
        one.sequence = message.sequence;
        one.epoch = message.epoch;
        one.address = reinterpret_cast<uint64_t>(message.data);
        one.bytes = message.bytes;
        one.reads_payload = protocol_.take_buffer(one, message.bytes);
        one.held = one.released = 1; // Its owner has forgotten it.
        if (one.reads_payload && message.bytes)
            std::memcpy(segment_->payload(one), message.data, message.bytes);
        protocol_.deliver(index);
    }
    segment_->rank(me_).answers = mark.answers;
    segment_->shared().epoch = mark.epoch;
    if (!segment_->options().strict) // There slices are counted by the clock.
        segment_->shared().slice = mark.slice;
}

} // namespace pse::coschedule
