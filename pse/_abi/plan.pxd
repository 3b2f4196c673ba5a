# Made from cext/abi/plan.def by cext/abi/generate.py: change the table, not this file.

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t

from pse._abi.memory cimport pse_layout

cdef extern from "abi_plan.h" nogil:
    ctypedef int (*pse_native)(void **arguments)

    ctypedef struct pse_instruction:
        int32_t operation
        int32_t a
        int32_t b
        int32_t c

    ctypedef union pse_term_value:
        int64_t integer
        double real

    ctypedef struct pse_term:
        int32_t kind
        int32_t slot
        int32_t axis
        int32_t reserved
        pse_term_value value

    ctypedef struct pse_expression:
        int32_t first
        int32_t count

    ctypedef struct pse_argument:
        int32_t kind
        int32_t slot
        int32_t expression
        uint16_t dtype
        uint16_t ndim
        uint32_t itemsize
        int32_t shape[8]
        uint32_t parts
        uint32_t checked
        int32_t filled
        uint32_t reserved
        uint64_t share_bytes
        uint64_t share_offset
        const char *text

    ctypedef struct pse_move:
        uint64_t source
        uint64_t target
        uint32_t ndim
        uint32_t itemsize
        int64_t shape[8]
        int64_t source_strides[8]
        int64_t target_strides[8]

    ctypedef struct pse_part:
        int32_t first_move
        int32_t moves
        uint64_t bytes
        pse_layout layout

    ctypedef struct pse_push:
        int32_t slot
        uint32_t edge
        uint32_t rank
        uint32_t index
        int32_t part
        uint8_t remote
        uint8_t throttled
        uint8_t contiguous
        uint8_t again
        uint32_t depth
        uint32_t sharers
        uint32_t blocks

    ctypedef struct pse_call:
        int32_t kind
        uint32_t site
        int32_t first_argument
        int32_t arguments
        int32_t first_push
        int32_t pushes
        int32_t first_release
        int32_t releases
        int32_t source
        int32_t target
        int32_t first_part
        int32_t parts
        int32_t combination
        uint8_t alias
        uint8_t silent
        uint8_t ordered
        uint8_t region
        uint8_t clear
        uint8_t lend
        uint8_t apart
        pse_native function
        const char *text

    ctypedef struct pse_loop:
        uint32_t id
        int32_t counter
        int32_t lower
        int32_t upper
        int32_t inflight
        int32_t body
        int64_t step
        uint8_t nested

    ctypedef struct pse_counting:
        uint32_t first
        uint32_t watched
        uint32_t counted
        uint32_t told
        uint32_t relayed
        uint32_t speaker
        uint32_t top

    ctypedef struct pse_fiber:
        int32_t body
        uint32_t partition
        uint32_t load
        uint32_t reserved

    ctypedef struct pse_region_row:
        uint32_t partitions
        uint32_t first_owner
        int32_t grid[8]

    ctypedef struct pse_plan:
        uint32_t rank
        uint32_t ranks
        uint32_t partition
        uint32_t slots
        uint32_t edges
        uint32_t loops_count
        uint32_t pushes_count
        uint32_t instructions_count
        uint32_t loads_count
        const pse_instruction *instructions
        const pse_term *terms
        const pse_expression *expressions
        const pse_argument *arguments
        const pse_part *parts
        const pse_move *moves
        const pse_push *pushes
        const int32_t *releases
        const pse_call *calls
        const pse_loop *loops
        const pse_fiber *fibers
        const pse_region_row *regions
        const uint32_t *owners
        const pse_counting *countings
        const uint32_t *participants
        const uint32_t *edge_depths
        const uint32_t *edge_sites
        const uint32_t *forward_first
        const uint32_t *forwards
        const uint32_t *credit_first
        const uint32_t *credits
        const uint8_t *remote
        const uint32_t *ensemble
        uint32_t ensemble_count
        uint32_t place
        uint64_t local_limit
        uint8_t shared
        uint8_t has_remote

    enum:
        PSE_NO_LOAD
        PSE_OP_CALL
        PSE_OP_EXPECT
        PSE_OP_ASSIGN
        PSE_OP_DROP
        PSE_OP_SWAP
        PSE_OP_JUMP
        PSE_OP_JUMP_UNLESS
        PSE_OP_FORK
        PSE_OP_END
        PSE_OP_SPREAD
        PSE_OP_PAUSE
        PSE_TERM_INTEGER
        PSE_TERM_REAL
        PSE_TERM_SLOT
        PSE_TERM_EXTENT
        PSE_TERM_NEGATE
        PSE_TERM_NOT
        PSE_TERM_ADD
        PSE_TERM_SUBTRACT
        PSE_TERM_MULTIPLY
        PSE_TERM_DIVIDE
        PSE_TERM_MODULO
        PSE_TERM_POWER
        PSE_TERM_LESS
        PSE_TERM_LESS_EQUAL
        PSE_TERM_GREATER
        PSE_TERM_GREATER_EQUAL
        PSE_TERM_EQUAL
        PSE_TERM_NOT_EQUAL
        PSE_TERM_AND
        PSE_TERM_OR
        PSE_TERM_MINIMUM
        PSE_TERM_MAXIMUM
        PSE_TERM_ABSOLUTE
        PSE_TERM_SQUARE_ROOT
        PSE_TERM_FLOOR
        PSE_TERM_CEILING
        PSE_TERM_LOG2
        PSE_TERM_TO_INTEGER
        PSE_TERM_TO_REAL
        PSE_TERM_SKIP_UNLESS
        PSE_TERM_SKIP_WHEN
        PSE_TERM_IMAGINARY
        PSE_TERM_TEXT
        PSE_TERM_FORMAT
        PSE_TERM_JOIN
        PSE_ARGUMENT_READ
        PSE_ARGUMENT_CHANGE
        PSE_ARGUMENT_MAKE
        PSE_ARGUMENT_SCALAR
        PSE_ARGUMENT_RESULT
        PSE_ARGUMENT_UPDATE
        PSE_ARGUMENT_DIMENSION
        PSE_ARGUMENT_TEXT
        PSE_ARGUMENT_COMM
        PSE_ARGUMENT_LATER
        PSE_ARGUMENT_COUNT
        PSE_CALL_NATIVE
        PSE_CALL_PYTHON
        PSE_CALL_PUBLISH
        PSE_CALL_ASSEMBLE
        PSE_CALL_DUPLICATE
        PSE_CALL_ZERO
        PSE_CALL_COMBINE
        PSE_CALL_FILL
        PSE_CALL_CONCATENATE
        PSE_SLOT_EMPTY
        PSE_SLOT_SCALAR
        PSE_SLOT_BUFFER
        PSE_SLOT_PIECES
        PSE_RUN_DONE
        PSE_RUN_PYTHON
        PSE_RUN_POLL
        PSE_RUN_SIGNAL
        PSE_RUN_MODULE_FAILED
        PSE_RUN_ARITHMETIC
        PSE_RUN_TOO_LARGE
        PSE_RUN_NO_SPACE
        PSE_RUN_MEMORY
        PSE_RUN_BROKEN
        PSE_RUN_MESSAGING
        PSE_RUN_DEADLOCK
        PSE_RUN_NOT_FINITE
        PSE_RUN_UNDERRUN
        PSE_RUN_ROWS
        PSE_RUN_DESCRIPTOR
        PSE_RUN_SHAPE
        PSE_RUN_RELEASED
        PSE_RUN_PAUSE
