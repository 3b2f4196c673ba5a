/* Put the records of two writers in one process into one order. */
#ifndef PSE_MERGE_EVENTS_H
#define PSE_MERGE_EVENTS_H

#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each list keeps its order; what is earlier goes first, at equal times `a`.  `out` has room for both. */
void pse_recorder_merge_events(const pse_event *a, uint64_t a_count, const pse_event *b, uint64_t b_count,
                               pse_event *out);

#ifdef __cplusplus
}
#endif
#endif
