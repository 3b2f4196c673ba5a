// The monitor of one process (MMDS, section 5.1 of the paper): how long it computes between blocking
// operations, how long it is in them, and count, least, greatest, total and distribution of latency and size
// of each operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "monitoring/monitor_settings.hpp"

namespace pse::coschedule
{

struct Distribution {
    uint64_t count = 0, total = 0, least = UINT64_MAX, greatest = 0;
    std::vector<uint64_t> bins; // 2^resolution of them in each factor of two.

    void add(uint64_t value, uint32_t resolution)
    {
        count++;
        total += value;
        least = std::min(least, value);
        greatest = std::max(greatest, value);
        if (bins.empty())
            bins.resize(bins_of(resolution));
        bins[bin_of(value, resolution)]++;
    }

    static size_t bins_of(uint32_t resolution)
    {
        return size_t{65} << resolution;
    }

    static size_t bin_of(uint64_t value, uint32_t resolution)
    {
        if (value < (uint64_t{1} << resolution))
            return value;
        uint32_t octave = 63 - static_cast<uint32_t>(__builtin_clzll(value));
        return (size_t{octave - resolution + 1} << resolution) +
               ((value >> (octave - resolution)) & ((uint64_t{1} << resolution) - 1));
    }
};

class Monitor
{
  public:
    struct Routine {
        std::string name;
        bool is_selected;
        Distribution latency, size;
    };

    void begin(const MonitorSettings &settings, uint64_t time)
    {
        settings_ = settings;
        since_ = time;
        is_on_ = true;
    }
    bool is_on() const
    {
        return is_on_;
    }
    // A call begins; of calls in calls only the outermost is noted.
    bool enter()
    {
        return is_on_ && !std::exchange(is_in_call_, true);
    }
    // The number of a routine, which is new if none has this name.
    uint32_t routine(const std::string &name)
    {
        auto has_name = [&](const Routine &one) { return one.name == name; };
        auto found = std::find_if(routines_.begin(), routines_.end(), has_name);
        if (found == routines_.end())
            found = routines_.insert(found, {name, settings_.is_selected(name), {}, {}});
        return static_cast<uint32_t>(found - routines_.begin());
    }
    // An operation from `enter` to `leave` (ns); what blocks also ends a stretch of computation.
    void add(uint32_t number, uint64_t bytes, bool blocking, uint64_t enter, uint64_t leave)
    {
        Routine &one = routines_[number];
        is_in_call_ = false;
        if (one.is_selected) {
            one.latency.add(leave - enter, settings_.resolution);
            one.size.add(bytes, settings_.resolution);
        }
        if (!blocking)
            return;
        computation_.add(enter - since_, settings_.resolution);
        communication_.add(leave - enter, settings_.resolution);
        since_ = leave;
    }
    // With the stretch that has begun: up to now, or up to the end.
    Distribution computation_until(uint64_t time) const
    {
        if (!settings_.is_selected("computation"))
            return {};
        Distribution found = computation_;
        if (is_on_ && !ended_)
            found.add(time - since_, settings_.resolution);
        return found;
    }
    Distribution communication() const
    {
        return settings_.is_selected("communication") ? communication_ : Distribution{};
    }
    const std::vector<Routine> &routines() const
    {
        return routines_;
    }
    uint32_t resolution() const
    {
        return settings_.resolution;
    }
    // The run ends: so does the last stretch of computation.
    void end(uint64_t time)
    {
        if (is_on_ && !ended_)
            computation_.add(time - since_, settings_.resolution);
        ended_ = true;
    }

  private:
    MonitorSettings settings_;
    std::vector<Routine> routines_;
    Distribution computation_, communication_;
    uint64_t since_ = 0;
    bool is_on_ = false, is_in_call_ = false, ended_ = false;
};

} // namespace pse::coschedule
