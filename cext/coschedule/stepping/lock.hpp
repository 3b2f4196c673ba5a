// The lock of a layer's memory, for the files that Engine is made of.
#pragma once

#include <mutex>

#include "engine.hpp"
#include "standstill/segment_lock.hpp"

namespace pse::coschedule
{

class Lock : public SegmentLock
{
  public:
    explicit Lock(Engine &engine) : SegmentLock(engine.segment_->shared(), engine.protocol_, engine.me_)
    {
    }
};

using Guard = std::unique_lock<Lock>;

} // namespace pse::coschedule
