/* Rows are made some hundreds at a time, column by column: what a column needs is decided once for all of
 * them, and their records are still in the cache when the next column is at them. */
#include "extract_events.h"

#include <string.h>

enum { BATCH = 256 };

typedef struct batch {
    const uint8_t *from[BATCH]; /* The records, by address. */
    size_t count;
} batch;

/* Fill rows with what each begins as. */
static void begin_rows(const pse_recorder_rows *rows, uint8_t *out, size_t count)
{
    size_t all = count * rows->row_size, done = rows->row_size;
    memcpy(out, rows->row, done);
    while (done < all) {
        size_t more = done < all - done ? done : all - done;
        memcpy(out + done, out, more);
        done += more;
    }
}

#define DEFINE_COPY(size)                                                                                    \
    static void copy_##size(const batch *records, const pse_recorder_column *move, uint8_t *to,              \
                            size_t row_size)                                                                 \
    {                                                                                                        \
        for (size_t i = 0; i < records->count; i++, to += row_size)                                          \
            memcpy(to, records->from[i] + move->from, size);                                                 \
    }
DEFINE_COPY(2)
DEFINE_COPY(4)
DEFINE_COPY(8)

static void shift_times(const batch *records, const pse_recorder_column *move, int64_t shift, uint8_t *to,
                        size_t row_size)
{
    for (size_t i = 0; i < records->count; i++, to += row_size) {
        uint64_t time;
        memcpy(&time, records->from[i] + move->from, sizeof time);
        time += (uint64_t)shift; /* Unsigned: damaged times may wrap around. */
        memcpy(to, &time, sizeof time);
    }
}

static void test_bits(const batch *records, const pse_recorder_column *move, uint8_t *to, size_t row_size)
{
    for (size_t i = 0; i < records->count; i++, to += row_size) {
        uint16_t bits;
        memcpy(&bits, records->from[i] + move->from, sizeof bits);
        *to = (bits & move->mask) != 0;
    }
}

static void fill_column(const batch *records, const pse_recorder_rows *rows, const pse_recorder_column *move,
                        uint8_t *out)
{
    uint8_t *to = out + move->to;
    switch (move->kind) {
    case PSE_MOVE_2:
        copy_2(records, move, to, rows->row_size);
        break;
    case PSE_MOVE_4:
        copy_4(records, move, to, rows->row_size);
        break;
    case PSE_MOVE_8:
        copy_8(records, move, to, rows->row_size);
        break;
    case PSE_MOVE_TIME:
        shift_times(records, move, rows->shift, to, rows->row_size);
        break;
    default:
        test_bits(records, move, to, rows->row_size);
    }
}

static void fill_rows(const batch *records, const pse_recorder_rows *rows, uint8_t *out)
{
    begin_rows(rows, out, records->count);
    for (size_t m = 0; m < rows->move_count; m++)
        fill_column(records, rows, &rows->moves[m], out);
}

uint64_t pse_recorder_extract_events(const pse_event *events, const uint8_t *types, uint64_t count,
                                     const uint8_t *wanted, const pse_recorder_rows *rows, uint8_t *out,
                                     uint64_t room)
{
    uint64_t made = 0, i = 0;
    do {
        batch records = {.count = 0};
        size_t most = room - made < BATCH ? (size_t)(room - made) : BATCH;
        for (; i < count && records.count < most; i++) {
            records.from[records.count] = (const uint8_t *)&events[i];
            records.count += wanted[types[i]]; /* No branch: types come in no order. */
        }
        if (records.count == 0)
            break;
        fill_rows(&records, rows, out + made * rows->row_size);
        made += records.count;
    } while (i < count);
    return made;
}
