// Waking at a boundary of slices: a sleeper gets its core some tens of microseconds late, so it sleeps until
// a little before the boundary, as much as it was late lately, and yields for the rest.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "clock.h"

namespace pse::coschedule
{

class StrobeTimer
{
  public:
    void sleep_until(uint64_t boundary)
    {
        uint64_t early = boundary - margin_;
        if (early > pse_clock()) {
            pse_clock_sleep_until(early);
            adapt(pse_clock() - early);
        }
        while (pse_clock() < boundary)
            sched_yield();
    }

  private:
    static constexpr uint64_t most = 100000; // ns

    void adapt(uint64_t late)
    {
        margin_ = late > margin_ ? std::min(late, most) : margin_ - (margin_ - late) / 64;
    }

    uint64_t margin_ = most / 2;
};

} // namespace pse::coschedule
