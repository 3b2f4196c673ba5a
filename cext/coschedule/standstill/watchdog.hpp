// Ranks that stand still: those whose process is stopped end the layer, those that compute for long while
// others wait are named.
//
// Whoever is there sees it: a rank watches the next one of its node, and what it does itself.  What counts is
// how often it looked, not the time: this process may have stood still as well.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "protocol.hpp"
#include "segment.hpp"

namespace pse::coschedule
{

constexpr int look_ms = 1000;       // Between two looks,
constexpr uint32_t most_looks = 10; // and how many of them must have seen the same.

// By a signal: a process that a debugger holds isn't.
bool is_stopped(pid_t process);

class Watchdog
{
  public:
    Watchdog(const Segment &segment, Protocol &protocol, uint32_t rank)
        : s_(segment), protocol_(protocol), me_(rank)
    {
    }
    void look(); // With the lock held.

  private:
    uint32_t next_rank() const;
    bool is_waited_for(uint32_t rank) const;
    void look_at_next();
    void look_at_own();
    void name_own() const;

    const Segment &s_;
    Protocol &protocol_;
    uint32_t me_;
    uint32_t next_ = none, stopped_ = 0; // Looks that have found the next rank stopped,
    uint32_t busy_ = 0;                  // and this one busy since it did something here the last time.
    uint64_t done_ = 0;
    bool named_ = false;
};

} // namespace pse::coschedule
