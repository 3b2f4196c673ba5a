// The segment's lock.  A rank that died with it has left things half done: the layer fails.  An observer
// only reads.
#pragma once

#include <cerrno>
#include <vector>

#include "protocol.hpp"

namespace pse::coschedule
{

class SegmentLock
{
  public:
    SegmentLock(Shared &shared, Protocol &protocol, uint32_t rank)
        : shared_(shared), protocol_(protocol), rank_(rank)
    {
    }
    void lock()
    {
        int result = pthread_mutex_trylock(&shared_.lock);
        if (result == EBUSY)
            result = wait();
        if (result == EOWNERDEAD) {
            pthread_mutex_consistent(&shared_.lock);
            if (shared_.holder != none)
                protocol_.fail(PSE_BCS_FAILURE_DEAD, shared_.holder, none);
        }
        shared_.holder = rank_;
    }
    // Who is woken wants the lock.
    void unlock()
    {
        std::vector<uint32_t> unblocked = protocol_.platform().take_unblocked();
        pthread_mutex_unlock(&shared_.lock);
        protocol_.platform().wake_ranks(unblocked);
    }

  private:
    int wait();

    Shared &shared_;
    Protocol &protocol_;
    uint32_t rank_;
};

} // namespace pse::coschedule
