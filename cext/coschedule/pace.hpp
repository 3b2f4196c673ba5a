// How long time slices are: as long as was asked for, and longer from some slice on where the machine doesn't
// keep that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace pse::coschedule
{

// ns; what slices that were too short are followed by.
constexpr uint64_t slice_lengths[] = {100000, 250000, 500000, 1000000, 2000000, 5000000, 10000000};

// The longest is followed by itself.
inline uint64_t next_longer(uint64_t length)
{
    const uint64_t *found = std::upper_bound(std::begin(slice_lengths), std::end(slice_lengths), length);
    return found == std::end(slice_lengths) ? length : *found;
}

// The shortest slice of which half is left by strobes that come so late.
inline uint64_t shortest_slice(uint64_t lateness)
{
    const uint64_t *found =
        std::lower_bound(std::begin(slice_lengths), std::end(slice_lengths), 2 * lateness);
    return found == std::end(slice_lengths) ? *std::prev(found) : *found;
}

// The same by as many measurements as it takes: a machine that is busy for a moment is asked again, and only
// one that never keeps slices of this length is told a longer one.
template <class Measure> uint64_t shortest_slice(uint64_t length, Measure lateness)
{
    constexpr int measurements = 20;
    uint64_t shortest = shortest_slice(lateness());
    for (int again = 1; again < measurements && shortest > length; again++)
        shortest = std::min(shortest, shortest_slice(lateness()));
    return shortest;
}

// When slices begin; slices that have a time are counted in windows.
struct Pace {
    static constexpr uint32_t window = 500, tolerated = window / 100;

    uint64_t length, origin; // ns: of a slice, and when slice `first` began.
    uint64_t first = 0;
    uint32_t timed = 0, late = 0; // In this window.

    uint64_t slice_at(uint64_t time) const
    {
        return first + (time - origin) / length;
    }
    uint64_t begin_of(uint64_t slice) const
    {
        return origin + (slice - first) * length;
    }
    uint64_t boundary_after(uint64_t time) const
    {
        return origin + ((time - origin) / length + 1) * length;
    }
    bool is_late(uint64_t lateness) const
    {
        return lateness > length / 10;
    }
    // A slice came so late; says whether slices are too short.
    bool falls_behind(uint64_t lateness)
    {
        if (timed == window)
            timed = late = 0;
        timed++;
        late += is_late(lateness);
        return late > tolerated;
    }
    // The slice that begins at this boundary is the first of the next longer ones.
    void lengthen(uint64_t boundary)
    {
        *this = {next_longer(length), boundary, slice_at(boundary)};
    }
};

} // namespace pse::coschedule
