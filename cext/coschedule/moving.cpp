// What an engine does with descriptors and bytes of its rank: places for them, and where they go.  All with
// the segment's lock held.
#include <cstring>
#include <system_error>

#include "engine.hpp"
#include "stepping/lock.hpp"

namespace pse::coschedule
{

// None: the layer has failed.
uint32_t Engine::allocate()
{
    uint32_t index = protocol_.has_failed() ? none : protocol_.allocate(me_);
    if (index == none)
        protocol_.fail(PSE_BCS_FAILURE_FULL, me_, none); // Unless it has failed already.
    return index;
}

// Put the bytes of a send where others read them; false: there is no buffer.
bool Engine::take_buffer(Descriptor &send)
{
    send.reads_payload = protocol_.take_buffer(send, send.bytes);
    if (send.reads_payload && send.bytes)
        std::memcpy(segment_->payload(send), reinterpret_cast<const void *>(send.address), send.bytes);
    return send.reads_payload;
}

// Sends that wait for a buffer get those that are free by now, in their order: how many are complete when all
// ranks are blocked is so a function of the program.
void Engine::buffer_sends()
{
    for (; !unbuffered_.empty(); unbuffered_.pop_front()) {
        auto [index, sequence] = unbuffered_.front();
        Descriptor &one = segment_->descriptor(index);
        bool waits =
            one.sequence == sequence && (one.state == State::posted || one.state == State::exchanged);
        if (waits && !take_buffer(one))
            break;
        if (waits)
            one.sent = 1;
    }
    segment_->rank(me_).unbuffered = static_cast<uint32_t>(unbuffered_.size());
}

// Move what can be moved now; says whether there was anything.
bool Engine::work()
{
    uint32_t index = protocol_.take_ready(me_);
    if (index == none)
        return false;
    move(index);
    return true;
}

void Engine::move(uint32_t index)
{
    const Descriptor &one = segment_->descriptor(index);
    bool message = one.kind == PSE_BCS_KIND_RECEIVE;
    bool small = message ? segment_->descriptor(one.match).reads_payload != 0
                         : one.bytes == 0 && !segment_->collective(one.number).lasts;
    Call *call = message ? nullptr : &calls_[index]; // Its place doesn't move when others come and go.
    uint64_t bytes = message ? protocol_.chunk_of(one) : 0;
    if (!small)
        Lock(*this).unlock();
    bool fails = false;
    uint32_t lost = none;
    uint64_t begin = protocol_.time();
    try {
        if (message)
            transfer_.fetch(one, bytes);
        else
            segment_->descriptor(index).error |= !transfer_.perform(one, *call);
    } catch (const RankLost &caught) {
        fails = true;
        lost = caught.rank();
    } catch (const std::system_error &) {
        fails = true; // What can't be fetched of another node: that one has ended, or the layer has failed.
    }
    uint64_t took = protocol_.time() - begin;
    if (!small)
        Lock(*this).lock();
    if (fails)
        return protocol_.fail(PSE_BCS_FAILURE_DEAD, lost, none);
    if (call)
        segment_->descriptor(index).partial = reinterpret_cast<uint64_t>(call->partial.data());
    protocol_.note_move(one, took);
    protocol_.finish(index, bytes);
    if (!segment_->is_single())
        protocol_.settle();
}

} // namespace pse::coschedule
