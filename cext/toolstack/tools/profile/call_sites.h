/* Time, calls and bytes by call site: a routine and the frames that called it. */
#ifndef PSE_PROFILE_CALL_SITES_H
#define PSE_PROFILE_CALL_SITES_H

#include <stdint.h>

#include "frames.h"

enum { SITES = 1 << 14 };

struct profile_site {
    uint64_t count, time, least, greatest, bytes;
    struct profile_frames frames;
    int routine;
};

#pragma GCC visibility push(hidden)

extern struct profile_site *pse_profile_sites; /* SITES of them; NULL before the first call */
extern uint64_t pse_profile_lost;              /* calls for which the table had no place */

/* Add a call that took `time` ns.  Frames get their names without the table's lock: that may need Python's,
 * and a thread that holds Python's may wait for the table's. */
void pse_profile_record(int routine, void *caller, int depth, uint64_t time, uint64_t bytes);

#pragma GCC visibility pop

#endif
