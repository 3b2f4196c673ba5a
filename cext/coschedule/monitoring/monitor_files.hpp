// What the monitors have measured, in files of NumPy: pse.bcs.Report and pse.bcs.load_slices read them.
#pragma once

#include <cstdint>
#include <string>

#include "monitoring/monitor.hpp"
#include "segment.hpp"

namespace pse::coschedule
{

// Into a folder, which is made; `layer` counts the layers of a program.  Each throws std::system_error.
void write_report(const std::string &folder, uint32_t layer, uint32_t rank, const Monitor &monitor);
void write_slices(const std::string &folder, uint32_t layer, const Segment &segment);

} // namespace pse::coschedule
