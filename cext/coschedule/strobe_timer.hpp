// Waking at a boundary of slices: a sleeper gets its core some tens of microseconds late, so it sleeps until
// a little before the boundary, as much as it was late lately, and yields for the rest.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "clock.h"

namespace pse::coschedule
{

// Strict slices that begin though there was nothing to do in the last ones: what is posted soon after needs
// not wake the engine first.
constexpr uint32_t linger = 8;

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

// A boundary is kept on busy cores too where the system permits real-time priorities; elsewhere as well as it
// can.
inline void be_on_time()
{
    sched_param parameters{};
    parameters.sched_priority = 1;
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
}

// How late this thread, which does nothing else, begins slices of some length, in ns.
inline uint64_t median_lateness(uint64_t length)
{
    std::array<uint64_t, 15> late;
    StrobeTimer timer;
    be_on_time();
    for (uint64_t &one : late) {
        uint64_t boundary = pse_clock() + length;
        timer.sleep_until(boundary);
        one = pse_clock() - boundary;
    }
    std::sort(late.begin(), late.end());
    return late[late.size() / 2];
}

} // namespace pse::coschedule
