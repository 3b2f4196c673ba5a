// What a user asks of the monitors by variables of the environment, for a program as it is.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "abi_coschedule.h"

namespace pse::coschedule
{

struct MonitorSettings {
    // Throws std::invalid_argument, which says which variable has which value, and what it must be.
    static MonitorSettings of_environment();

    bool is_monitored(uint32_t rank) const;
    bool is_selected(const std::string &metric) const
    {
        return metrics.empty() || metrics.count(metric) > 0;
    }

    std::string reports, slices; // Folders; empty: that monitor is off.
    std::vector<std::pair<uint64_t, uint64_t>> ranks;
    std::set<std::string> metrics;
    uint32_t resolution = PSE_BCS_RESOLUTION;
    uint64_t first = 0, last = UINT64_MAX;
    uint32_t kept = PSE_BCS_KEPT_SLICES;
};

} // namespace pse::coschedule
