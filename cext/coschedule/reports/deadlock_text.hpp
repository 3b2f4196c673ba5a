// Who waits for what, in words.
#pragma once

#include <cstdint>
#include <string>

#include "segment.hpp"

namespace pse::coschedule
{

// What the descriptor of a message asks for, as programs spell it.
std::string message_text(pse_bcs_kind kind, int32_t peer, int32_t tag);

// What all ranks wait for in a layer in which nothing can happen.  `names` are those of what a descriptor is
// part of: by its label, or by the number of its collective operation and 1.
std::string deadlock_text(const Segment &segment, const char *const *names);

} // namespace pse::coschedule
