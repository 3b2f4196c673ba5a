// Waking at a boundary of slices: a sleeper gets its core some tens of microseconds late, so it sleeps until
// a little before the boundary, as much as it is late as a rule, and yields for the rest.
//
// It is later on an idle core than on one on which somebody computes, and there it would take the core away
// for that time: what a rank posts shortly before a boundary would come too late for the slice.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "clock.h"
#include "scheduler_hints.h"

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
        sleep_until(boundary, [] { return false; });
    }
    // `is_wanted`: somebody else computes on this core now.
    template <class Wanted> void sleep_until(uint64_t boundary, Wanted is_wanted)
    {
        nap(boundary, idle_);
        if (is_wanted())
            nap(boundary, wanted_);
        while (pse_clock() < boundary)
            sched_yield();
    }

  private:
    static constexpr uint64_t least = 2000, most = 100000; // ns

    // Some 2 of 100 naps end later than by the margin.
    static void nap(uint64_t boundary, uint64_t &margin)
    {
        uint64_t early = boundary - margin;
        if (early <= pse_clock())
            return;
        pse_clock_sleep_until(early);
        bool late = pse_clock() - early > margin;
        margin = std::clamp(late ? margin + margin / 8 : margin - margin / 512, least, most);
    }

    uint64_t idle_ = most / 2, wanted_ = most / 4;
};

// A boundary is kept on busy cores too where the system permits real-time priorities; elsewhere as well as it
// can.
inline void be_on_time()
{
    sched_param parameters{};
    parameters.sched_priority = 1;
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) != 0)
        pse_channel_wake_soon();
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
