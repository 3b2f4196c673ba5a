#include "monitoring/monitor_settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <tuple>

namespace pse::coschedule
{
namespace
{

using Range = std::pair<uint64_t, uint64_t>;

std::string value_of(const char *variable)
{
    const char *value = std::getenv(variable);
    return value ? value : "";
}

[[noreturn]] void refuse(const char *variable, const std::string &expected)
{
    throw std::invalid_argument(std::string(variable) + " is '" + value_of(variable) + "'; it must be " +
                                expected);
}

std::vector<std::string> split(const std::string &text, char separator)
{
    std::vector<std::string> parts;
    for (size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
        end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
    }
    return parts;
}

bool read_number(const std::string &text, uint64_t &number)
{
    bool is_number = !text.empty() && text.size() <= 18 &&
                     std::all_of(text.begin(), text.end(), [](char one) { return one >= '0' && one <= '9'; });
    number = is_number ? std::stoull(text) : 0;
    return is_number;
}

// A:B with both ends, or one number.
bool read_range(const std::string &text, Range &range)
{
    std::vector<std::string> ends = split(text, ':');
    return ends.size() <= 2 && read_number(ends.front(), range.first) &&
           read_number(ends.back(), range.second) && range.first <= range.second;
}

std::vector<Range> read_ranks()
{
    std::vector<Range> ranks;
    std::string given = value_of(PSE_BCS_MMDS_RANKS);
    for (const std::string &part : given.empty() ? std::vector<std::string>() : split(given, ','))
        if (!read_range(part, ranks.emplace_back()))
            refuse(PSE_BCS_MMDS_RANKS, "ranks and ranges of them, as in 0,4:7");
    return ranks;
}

std::set<std::string> read_metrics()
{
    std::set<std::string> metrics;
    std::string given = value_of(PSE_BCS_MMDS_METRICS);
    for (const std::string &name : given.empty() ? std::vector<std::string>() : split(given, ','))
        if (name.empty() || !metrics.insert(name).second)
            refuse(PSE_BCS_MMDS_METRICS, "different names, as in computation,Recv,Allreduce");
    return metrics;
}

uint32_t read_resolution()
{
    uint64_t resolution = PSE_BCS_RESOLUTION;
    std::string given = value_of(PSE_BCS_MMDS_RESOLUTION);
    if (!given.empty() && (!read_number(given, resolution) || resolution > PSE_BCS_MOST_RESOLUTION))
        refuse(PSE_BCS_MMDS_RESOLUTION, "a number from 0 to " + std::to_string(PSE_BCS_MOST_RESOLUTION));
    return static_cast<uint32_t>(resolution);
}

void read_window(MonitorSettings &settings)
{
    Range window;
    std::string given = value_of(PSE_BCS_EMDS_SLICES);
    if (given.empty())
        return;
    bool is_range = given.find(':') != std::string::npos && read_range(given, window);
    if (!is_range || window.second - window.first >= PSE_BCS_MOST_SLICES)
        refuse(PSE_BCS_EMDS_SLICES, "the first and the last slice, as in 7500:12500, at most " +
                                        std::to_string(PSE_BCS_MOST_SLICES) + " of them");
    std::tie(settings.first, settings.last) = window;
    settings.kept = static_cast<uint32_t>(window.second - window.first + 1);
}

} // namespace

MonitorSettings MonitorSettings::of_environment()
{
    MonitorSettings settings;
    settings.reports = value_of(PSE_BCS_MMDS);
    settings.slices = value_of(PSE_BCS_EMDS);
    settings.ranks = read_ranks();
    settings.metrics = read_metrics();
    settings.resolution = read_resolution();
    read_window(settings);
    return settings;
}

bool MonitorSettings::is_monitored(uint32_t rank) const
{
    auto holds = [rank](const Range &range) { return range.first <= rank && rank <= range.second; };
    return !reports.empty() && (ranks.empty() || std::any_of(ranks.begin(), ranks.end(), holds));
}

} // namespace pse::coschedule
