// What the layer's own work takes on this machine, by clock, in a loop of nothing else.
#pragma once

namespace pse::coschedule
{

// ns; as Costs has them.
struct MeasuredCosts {
    double message, packet, copy, descriptor, match, slice, wake;
};

MeasuredCosts measure_costs();
// What a slice takes longer that is kept for the monitor (EMDS).
double noted_slice();
// What a call takes longer that is monitored (MMDS).
double noted_call();

} // namespace pse::coschedule
