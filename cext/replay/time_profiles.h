/* How the time of a rank in any intervals is shared among its call paths. */
#ifndef PSE_TIME_PROFILES_H
#define PSE_TIME_PROFILES_H

#include "abi_replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Spans of one rank: by thread, then in the order of time; those of a thread do not overlap. */
typedef struct pse_replay_timeline {
    const double *begin, *end; /* ns */
    const uint32_t *path;      /* less than `paths` */
    uint64_t spans, paths;
    const uint64_t *threads; /* where the spans of each thread begin, and where the last one's end */
    uint64_t thread_count;
} pse_replay_timeline;

typedef struct pse_replay_profiles {
    pse_replay_profile_row *rows; /* allocated here: by interval, then by call path */
    uint64_t count, room;
} pse_replay_profiles;

/* Share the time of each interval from[i] to to[i] among call paths; `profiles` is zero at first.  A long
 * interval costs no more than a few thousand spans and a step for each call path.  Returns 0, or -1 without
 * memory; the caller frees rows. */
int pse_replay_profile(const pse_replay_timeline *timeline, const double *from, const double *to,
                       uint64_t intervals, pse_replay_profiles *profiles);

#ifdef __cplusplus
}
#endif
#endif
