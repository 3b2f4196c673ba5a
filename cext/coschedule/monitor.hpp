// The monitor of one process (MMDS, section 5.1 of the paper): how long it computes between blocking
// operations, how long it is in them, and count, least, greatest, total and distribution of latency and size
// of each operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

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
            bins.resize(size_t{65} << resolution);
        bins[bin_of(value, resolution)]++;
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
    // 0 primitives: nothing is measured.
    void begin(uint32_t primitives, uint32_t resolution, uint64_t time)
    {
        latencies.assign(primitives, {});
        sizes.assign(primitives, {});
        resolution_ = resolution;
        since_ = time;
    }
    bool is_on() const
    {
        return !latencies.empty();
    }
    // An operation from `enter` to `leave` (ns); what blocks also ends a stretch of computation.
    void add(uint32_t primitive, uint64_t bytes, bool blocking, uint64_t enter, uint64_t leave)
    {
        latencies[primitive].add(leave - enter, resolution_);
        sizes[primitive].add(bytes, resolution_);
        if (!blocking)
            return;
        computation.add(enter - since_, resolution_);
        communication.add(leave - enter, resolution_);
        since_ = leave;
    }
    // Computation, with the stretch that has begun: up to now, or up to the end.
    Distribution computation_until(uint64_t time) const
    {
        Distribution found = computation;
        if (is_on() && !ended_)
            found.add(time - since_, resolution_);
        return found;
    }
    // The run ends: so does the last stretch of computation.
    void end(uint64_t time)
    {
        computation = computation_until(time);
        ended_ = true;
    }

    Distribution computation, communication;
    std::vector<Distribution> latencies, sizes;

  private:
    uint32_t resolution_ = 0;
    uint64_t since_ = 0;
    bool ended_ = false;
};

} // namespace pse::coschedule
