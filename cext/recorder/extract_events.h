/* Make rows of a table from the records of some types, in one pass. */
#ifndef PSE_EXTRACT_EVENTS_H
#define PSE_EXTRACT_EVENTS_H

#include <stddef.h>

#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What happens to a field on its way. */
enum {
    PSE_MOVE_2 = 2, /* Copied: two, four or eight bytes. */
    PSE_MOVE_4 = 4,
    PSE_MOVE_8 = 8,
    PSE_MOVE_TIME, /* Eight bytes, the shift added. */
    PSE_MOVE_BITS, /* One byte: whether any bit of the mask is set in two bytes. */
};

typedef struct pse_recorder_column {
    uint16_t kind;
    uint16_t from; /* Offset in the record, bytes. */
    uint16_t to;   /* Offset in the row, bytes. */
    uint16_t mask;
} pse_recorder_column;

typedef struct pse_recorder_rows {
    const uint8_t *row; /* What every row begins as. */
    size_t row_size;
    const pse_recorder_column *moves; /* All within record and row. */
    size_t move_count;
    int64_t shift; /* What is added to times, ns. */
} pse_recorder_rows;

/* Write a row for each of `count` records whose type, in `types`, is wanted (256 flags), at most `room` rows;
 * returns how many.  Rows lie at any address.  No allocation, no error. */
uint64_t pse_recorder_extract_events(const pse_event *events, const uint8_t *types, uint64_t count,
                                     const uint8_t *wanted, const pse_recorder_rows *rows, uint8_t *out,
                                     uint64_t room);

#ifdef __cplusplus
}
#endif
#endif
