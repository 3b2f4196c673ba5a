// Where a process is.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "abi_coschedule.h"

namespace pse::coschedule
{

struct ProcessPlace {
    char host[PSE_BCS_HOST];
    int32_t process;
};

inline ProcessPlace own_place()
{
    ProcessPlace here{{}, getpid()};
    gethostname(here.host, sizeof here.host - 1);
    return here;
}

} // namespace pse::coschedule
