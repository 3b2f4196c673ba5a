# Bounds are checked once a call, which costs nothing there.
# cython: show_performance_hints=False
"""The kernels that read records (one C file each) for Python: arrays in, arrays out, no copies.

All arrays are contiguous and of bytes where they hold records or rows; numpy isn't needed.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from pse.trace._recorder cimport pse_event


cdef extern from "scan_events.h" nogil:
    enum: PSE_TYPES
    ctypedef struct pse_recorder_scan:
        pass
    uint64_t pse_recorder_scan_events(
        const pse_event *events, uint64_t room, uint64_t certain, uint8_t *types, pse_recorder_scan *scan
    )

cdef extern from "extract_events.h" nogil:
    enum: PSE_MOVE_2, PSE_MOVE_4, PSE_MOVE_8, PSE_MOVE_TIME, PSE_MOVE_BITS
    ctypedef struct pse_recorder_column:
        uint16_t kind
        uint16_t from_ "from"
        uint16_t to
        uint16_t mask
    ctypedef struct pse_recorder_rows:
        const uint8_t *row
        size_t row_size
        const pse_recorder_column *moves
        size_t move_count
        int64_t shift
    uint64_t pse_recorder_extract_events(
        const pse_event *events, const uint8_t *types, uint64_t count, const uint8_t *wanted,
        const pse_recorder_rows *rows, uint8_t *out, uint64_t room,
    )

cdef extern from "match_ends.h" nogil:
    ctypedef struct pse_recorder_ends:
        const uint64_t *way
        const uint64_t *number
        uint64_t count
    uint64_t pse_recorder_match_ends(const pse_recorder_ends *a, const pse_recorder_ends *b,
                                     int64_t *left, int64_t *right)

cdef extern from "merge_events.h" nogil:
    void pse_recorder_merge_events(
        const pse_event *a, uint64_t a_count, const pse_event *b, uint64_t b_count, pse_event *out
    )

cdef extern from "divide_memory.h" nogil:
    enum: PSE_CHANGE_SIZE
    ctypedef struct pse_recorder_change:
        pass
    ctypedef struct pse_recorder_blocks:
        uint64_t *row
        uint64_t *last
        uint64_t mask
        uint64_t *next_ "next"
    uint64_t pse_recorder_divide_memory(
        const pse_recorder_change *changes, const int64_t *order, uint64_t count, const uint32_t *arena,
        const pse_recorder_blocks *blocks, uint8_t *out,
    )

cdef extern from "number_keys.h" nogil:
    ctypedef struct pse_recorder_keys:
        uint64_t *key
        uint64_t count
        uint64_t room
        uint32_t *slot
        uint64_t mask
    uint64_t pse_recorder_number_keys(
        const uint64_t *keys, uint64_t count, pse_recorder_keys *known, int64_t *numbers
    )

MOVE_TIME = PSE_MOVE_TIME
MOVE_BITS = PSE_MOVE_BITS

cdef size_t RECORD = sizeof(pse_event)
cdef size_t CHANGE = sizeof(pse_recorder_change)


def scan(const uint8_t[::1] records, uint64_t certain, uint8_t[::1] types, uint64_t[::1] found):
    """Look through records; gives how many of them are complete.

    Parameters
    ----------
    records : bytes, shape (48 * n,)
        What is there, written or not.
    certain : int
        How many records of all are complete for certain; the others end at the first whose type is 0.
    types : array of uint8, shape (n,)
        Gets the type of each record; 0 for 256 and above.
    found : array of uint64, shape (262,)
        What was found so far, all 0 at first: complete records, least, greatest and last time, records with a
        time before that of the record before them, by how much at most, how many there are of each type.
    """
    cdef uint64_t room = records.shape[0] // RECORD, complete
    if <uint64_t>types.shape[0] < room or found.shape[0] * 8 != sizeof(pse_recorder_scan):
        raise ValueError(f"room for {room} types and for what is found is expected")
    if room == 0:
        return 0
    with nogil:
        complete = pse_recorder_scan_events(
            <const pse_event *>&records[0], room, certain, &types[0], <pse_recorder_scan *>&found[0]
        )
    return complete


def extract(
    const uint8_t[::1] records, const uint8_t[::1] types, const uint8_t[::1] wanted, const uint8_t[::1] row,
    const uint16_t[:, ::1] moves, int64_t shift, uint8_t[::1] out,
):
    """Write a row for each record of the wanted types; gives how many.

    Parameters
    ----------
    records, types : bytes, shapes (48 * n,) and (n,)
        The records, and the types that `scan` found.
    wanted : array of uint8, shape (256,)
        Whether a type is wanted.
    row : bytes, shape (size,)
        What every row begins as.
    moves : array of uint16, shape (m, 4)
        Kind, offset in the record, offset in the row, mask.
    shift : int
        What is added to times.
    out : bytes, shape (rows * size,)
        Gets the rows, as many as it has room for.
    """
    cdef pse_recorder_rows rows
    cdef uint64_t count = types.shape[0], room, made = 0
    check_moves(moves, row.shape[0])
    if records.shape[0] < <Py_ssize_t>(count * RECORD) or wanted.shape[0] != PSE_TYPES or row.shape[0] == 0:
        raise ValueError("a record for each type, 256 flags, and rows of some bytes are expected")
    room = out.shape[0] // row.shape[0]
    if count == 0 or room == 0:
        return 0
    rows.row, rows.row_size = &row[0], row.shape[0]
    rows.moves = <const pse_recorder_column *>(&moves[0, 0] if moves.shape[0] else NULL)
    rows.move_count = moves.shape[0]
    rows.shift = shift
    with nogil:
        made = pse_recorder_extract_events(
            <const pse_event *>&records[0], &types[0], count, &wanted[0], &rows, &out[0], room
        )
    return made


cdef int check_moves(const uint16_t[:, ::1] moves, Py_ssize_t size) except -1:
    """Make sure that no move leaves its record or its row."""
    cdef Py_ssize_t i, width
    if moves.shape[1] != 4:
        raise ValueError("a move is four numbers")
    for i in range(moves.shape[0]):
        kind = moves[i, 0]
        width = {PSE_MOVE_TIME: 8, PSE_MOVE_BITS: 2}.get(kind, kind)
        if kind not in (PSE_MOVE_2, PSE_MOVE_4, PSE_MOVE_8, PSE_MOVE_TIME, PSE_MOVE_BITS):
            raise ValueError(f"there is no move of kind {kind}")
        if moves[i, 1] + width > <Py_ssize_t>RECORD or moves[i, 2] + width > size + (kind == PSE_MOVE_BITS):
            raise ValueError(f"move {i} leaves its record or its row")
    return 0


def match(
    const uint64_t[::1] ways, const uint64_t[::1] numbers, const uint64_t[::1] other_ways,
    const uint64_t[::1] other_numbers, int64_t[::1] left, int64_t[::1] right,
):
    """Write the places of equal keys (way, number) in two ascending lists; gives how many there are."""
    cdef pse_recorder_ends a, b
    cdef uint64_t found = 0
    cdef Py_ssize_t least = min(ways.shape[0], other_ways.shape[0])
    if least == 0:
        return 0
    if numbers.shape[0] != ways.shape[0] or other_numbers.shape[0] != other_ways.shape[0]:
        raise ValueError("a number for each way is expected")
    if left.shape[0] < least or right.shape[0] < least:
        raise ValueError(f"room for {least} places is expected")
    a.way, a.number, a.count = &ways[0], &numbers[0], ways.shape[0]
    b.way, b.number, b.count = &other_ways[0], &other_numbers[0], other_ways.shape[0]
    with nogil:
        found = pse_recorder_match_ends(&a, &b, &left[0], &right[0])
    return found


def merge(const uint8_t[::1] first, const uint8_t[::1] second, uint8_t[::1] out):
    """Put the records of two writers into one order; at equal times the first one's go first."""
    if out.shape[0] != first.shape[0] + second.shape[0] or out.shape[0] % RECORD:
        raise ValueError("room for the records of both is expected")
    if not first.shape[0] or not second.shape[0]:
        out[:] = first if first.shape[0] else second
        return
    with nogil:
        pse_recorder_merge_events(
            <const pse_event *>&first[0], first.shape[0] // RECORD,
            <const pse_event *>&second[0], second.shape[0] // RECORD, <pse_event *>&out[0],
        )


def divide(
    const uint8_t[::1] changes, const int64_t[::1] order, const uint32_t[::1] arena, uint64_t[:, ::1] slots,
    uint64_t[::1] following, uint8_t[::1] out,
):
    """Write the rows of the table of memory; gives how many there are.

    Parameters
    ----------
    changes : bytes, shape (46 * n,)
        Rows of the table, each followed by the rank that recorded it (4 bytes) and whether it was freed.
        Every such rank has an arena.
    order : array of int64, shape (n,)
        Places of changes in the order of time.
    arena : array of uint32, shape (ranks,)
        By rank the number of its arena.
    slots : array of uint64, shape (2, size)
        Zeros; `size` is a power of two, more than there are changes.
    following : array of uint64, shape (n,)
        Is overwritten.
    out : bytes, shape (41 * rows,)
        Gets the rows; has room for each allocation twice and each free once.
    """
    cdef pse_recorder_blocks blocks
    cdef uint64_t count = order.shape[0], made
    cdef Py_ssize_t size = slots.shape[1]
    if changes.shape[0] != <Py_ssize_t>(count * CHANGE) or following.shape[0] != order.shape[0]:
        raise ValueError("a change for each place is expected")
    if slots.shape[0] != 2 or size & (size - 1) or size <= order.shape[0]:
        raise ValueError("slots are a power of two, more than changes")
    if not count:
        return 0
    blocks.row, blocks.last, blocks.mask, blocks.next_ = &slots[0, 0], &slots[1, 0], size - 1, &following[0]
    with nogil:
        made = pse_recorder_divide_memory(
            <const pse_recorder_change *>&changes[0], &order[0], count, &arena[0], &blocks, &out[0]
        )
    return made


def number(
    const uint64_t[::1] keys, uint64_t[::1] known, uint64_t count, uint32_t[::1] slots, int64_t[::1] numbers
):
    """Number keys as they first come; gives how many got a number, and how many different ones are known.

    Parameters
    ----------
    keys : array of uint64, shape (n,)
        The keys.
    known : array of uint64, shape (room,)
        The keys by their numbers; where it is full, numbering ends.
    count : int
        How many are known.
    slots : array of uint32, shape (size,)
        Zeros at first; `size` is a power of two above `room`.
    numbers : array of int64, shape (n,)
        Gets the number of each key.
    """
    cdef pse_recorder_keys all_known
    cdef uint64_t done
    cdef Py_ssize_t size = slots.shape[0]
    if numbers.shape[0] != keys.shape[0] or count > <uint64_t>known.shape[0]:
        raise ValueError("a number for each key, and room for what is known, are expected")
    if size & (size - 1) or size <= known.shape[0]:
        raise ValueError("slots are a power of two above the room")
    if not keys.shape[0] or not known.shape[0]:
        return 0, count
    all_known.key, all_known.count, all_known.room = &known[0], count, known.shape[0]
    all_known.slot, all_known.mask = &slots[0], size - 1
    with nogil:
        done = pse_recorder_number_keys(&keys[0], keys.shape[0], &all_known, &numbers[0])
    return done, all_known.count
