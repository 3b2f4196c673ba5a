/* Look once through the records of a file: how many, of which types, and whether time goes forward. */
#ifndef PSE_SCAN_EVENTS_H
#define PSE_SCAN_EVENTS_H

#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PSE_TYPES = 256 }; /* Types at and above count as type 0. */

typedef struct pse_recorder_scan {
    uint64_t count;              /* Records that are complete. */
    uint64_t earliest, latest;   /* The least and the greatest time. */
    uint64_t last;               /* The last record's time. */
    uint64_t backwards;          /* How many records have an earlier time than the one before. */
    uint64_t furthest;           /* By how much at most, ns. */
    uint64_t of_type[PSE_TYPES]; /* How many there are of each type. */
} pse_recorder_scan;

/* Go on with a scan, all zero at first, over the next `room` records.  The first `certain` of all are
 * complete, the others end where a type is 0.  `types` (`room` bytes) gets the type of each.  Returns how
 * many of these are complete.  No allocation, no error. */
uint64_t pse_recorder_scan_events(const pse_event *events, uint64_t room, uint64_t certain, uint8_t *types,
                                  pse_recorder_scan *scan);

#ifdef __cplusplus
}
#endif
#endif
