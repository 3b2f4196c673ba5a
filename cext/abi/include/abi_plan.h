/* Made from cext/abi/plan.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_PLAN_H
#define PSE_ABI_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "abi_memory.h"

typedef int (*pse_native)(void **arguments);

#define PSE_NO_LOAD 0xffffffffu /* Where a fiber's CPU time is counted that belongs to no partition. */

/* Instructions. Control flow is the same on every rank that takes part in it. */
enum pse_operation {
    PSE_OP_CALL = 0, /* a: call */
    PSE_OP_EXPECT = 1, /* a: slot, b: edge, c: pieces (0: a single value); the slot's value is on its way */
    PSE_OP_ASSIGN = 2, /* a: slot, b: expression */
    PSE_OP_DROP = 3, /* a: slot; its value is not needed any more */
    PSE_OP_SWAP = 4, /* a, b: slots */
    PSE_OP_JUMP = 5, /* a: instruction */
    PSE_OP_JUMP_UNLESS = 6, /* a: instruction, b: expression */
    PSE_OP_FORK = 7, /* a: loop; start its iterations, go on when all are complete */
    PSE_OP_END = 8, /* the context is complete */
    PSE_OP_SPREAD = 9, /* a: first fiber, b: fibers; run them side by side, go on when all have ended */
    /* a: point, b: always due if any is; if due, wait for what is under way, return to the caller */
    PSE_OP_PAUSE = 10,
};

/* An instruction and its operands. */
typedef struct pse_instruction {
    int32_t operation; /* pse_operation */
    int32_t a;
    int32_t b;
    int32_t c;
} pse_instruction;
#ifndef __cplusplus
_Static_assert(sizeof(pse_instruction) == 16 && offsetof(pse_instruction, operation) == 0 &&
               offsetof(pse_instruction, a) == 4 && offsetof(pse_instruction, b) == 8 &&
               offsetof(pse_instruction, c) == 12,
               "pse_instruction as NumPy has it");
#endif

/* Scalar expressions in postfix order; one flat table, each expression a range of it. */
enum pse_term_kind {
    PSE_TERM_INTEGER = 0,
    PSE_TERM_REAL = 1,
    PSE_TERM_SLOT = 2,
    PSE_TERM_EXTENT = 3, /* slot, axis of its buffer */
    PSE_TERM_NEGATE = 4,
    PSE_TERM_NOT = 5,
    PSE_TERM_ADD = 6,
    PSE_TERM_SUBTRACT = 7,
    PSE_TERM_MULTIPLY = 8,
    PSE_TERM_DIVIDE = 9,
    PSE_TERM_MODULO = 10,
    PSE_TERM_POWER = 11,
    PSE_TERM_LESS = 12,
    PSE_TERM_LESS_EQUAL = 13,
    PSE_TERM_GREATER = 14,
    PSE_TERM_GREATER_EQUAL = 15,
    PSE_TERM_EQUAL = 16,
    PSE_TERM_NOT_EQUAL = 17,
    PSE_TERM_AND = 18,
    PSE_TERM_OR = 19,
    PSE_TERM_MINIMUM = 20,
    PSE_TERM_MAXIMUM = 21,
    PSE_TERM_ABSOLUTE = 22,
    PSE_TERM_SQUARE_ROOT = 23,
    PSE_TERM_FLOOR = 24,
    PSE_TERM_CEILING = 25,
    PSE_TERM_LOG2 = 26,
    PSE_TERM_TO_INTEGER = 27,
    PSE_TERM_TO_REAL = 28,
    PSE_TERM_SKIP_UNLESS = 29, /* `slot` terms, if what is left of `and` is false already */
    PSE_TERM_SKIP_WHEN = 30, /* `slot` terms, if what is left of `or` is true already */
    PSE_TERM_IMAGINARY = 31, /* a complex number without a real part: `value` is its imaginary part */
    PSE_TERM_TEXT = 32, /* a constant string: `value` is its address */
    PSE_TERM_FORMAT = 33, /* a number as a string; `slot`: the element type that the program gives it */
    PSE_TERM_JOIN = 34, /* two strings as one */
};

/* The number of an INTEGER, a REAL or an IMAGINARY, the address of a TEXT. */
typedef union pse_term_value {
    int64_t integer;
    double real;
} pse_term_value;
#ifndef __cplusplus
_Static_assert(sizeof(pse_term_value) == 8,
               "pse_term_value as NumPy has it");
#endif

/* A term of a scalar expression. */
typedef struct pse_term {
    int32_t kind;
    int32_t slot;
    int32_t axis;
    int32_t reserved;
    pse_term_value value; /* INTEGER, REAL, IMAGINARY, TEXT */
} pse_term;
#ifndef __cplusplus
_Static_assert(sizeof(pse_term) == 24 && offsetof(pse_term, kind) == 0 && offsetof(pse_term, slot) == 4 &&
               offsetof(pse_term, axis) == 8 && offsetof(pse_term, reserved) == 12 &&
               offsetof(pse_term, value) == 16,
               "pse_term as NumPy has it");
#endif

/* An expression: a run of terms. */
typedef struct pse_expression {
    int32_t first;
    int32_t count;
} pse_expression;
#ifndef __cplusplus
_Static_assert(sizeof(pse_expression) == 8 && offsetof(pse_expression, first) == 0 &&
               offsetof(pse_expression, count) == 4,
               "pse_expression as NumPy has it");
#endif

/* Arguments of a call, in the order of the trampoline. */
enum pse_argument_kind {
    PSE_ARGUMENT_READ = 0, /* array, not changed */
    PSE_ARGUMENT_CHANGE = 1, /* array, changed in place */
    PSE_ARGUMENT_MAKE = 2, /* array, allocated by the engine, written by the module */
    PSE_ARGUMENT_SCALAR = 3, /* scalar passed in: `expression` */
    PSE_ARGUMENT_RESULT = 4, /* scalar written by the module into `slot` */
    PSE_ARGUMENT_UPDATE = 5, /* scalar read and written: `slot` */
    PSE_ARGUMENT_DIMENSION = 6, /* int64_t: `expression` */
    PSE_ARGUMENT_TEXT = 7, /* string: a constant, or what `slot` holds */
    PSE_ARGUMENT_COMM = 8, /* communicator: `text` is the address of its handle */
    /* array, allocated when the module has said how many rows it has; `shape` has the most */
    PSE_ARGUMENT_LATER = 9,
    /* int64_t that the module changes: how many rows outputs can have (`expression`), then how many they
     * have */
    PSE_ARGUMENT_COUNT = 10,
};

/* An argument of a call. */
typedef struct pse_argument {
    int32_t kind;
    int32_t slot;
    int32_t expression;
    uint16_t dtype;
    uint16_t ndim;
    uint32_t itemsize;
    int32_t shape[PSE_MAX_DIMS]; /* MAKE: an expression for each axis */
    /* MAKE, where the result is later gathered on the node: it is a part of one block shared by `parts`
     * partitions */
    uint32_t parts;
    uint32_t checked; /* READ, CHANGE: what comes must have this shape (an expression for each axis) */
    /* MAKE: which argument of the call, a COUNT, says how many rows are filled; -1: all are */
    int32_t filled;
    uint32_t reserved;
    uint64_t share_bytes;
    uint64_t share_offset;
    const char *text;
} pse_argument;
#ifndef __cplusplus
_Static_assert(sizeof(pse_argument) == 96 && offsetof(pse_argument, kind) == 0 &&
               offsetof(pse_argument, slot) == 4 && offsetof(pse_argument, expression) == 8 &&
               offsetof(pse_argument, dtype) == 12 && offsetof(pse_argument, ndim) == 14 &&
               offsetof(pse_argument, itemsize) == 16 && offsetof(pse_argument, shape) == 20 &&
               offsetof(pse_argument, parts) == 52 && offsetof(pse_argument, checked) == 56 &&
               offsetof(pse_argument, filled) == 60 && offsetof(pse_argument, reserved) == 64 &&
               offsetof(pse_argument, share_bytes) == 72 && offsetof(pse_argument, share_offset) == 80 &&
               offsetof(pse_argument, text) == 88,
               "pse_argument as NumPy has it");
#endif

/* A strided copy from one buffer to another; all in bytes. */
typedef struct pse_move {
    uint64_t source; /* offset of the first byte */
    uint64_t target;
    uint32_t ndim;
    uint32_t itemsize;
    int64_t shape[PSE_MAX_DIMS];
    int64_t source_strides[PSE_MAX_DIMS];
    int64_t target_strides[PSE_MAX_DIMS];
} pse_move;
#ifndef __cplusplus
_Static_assert(sizeof(pse_move) == 216 && offsetof(pse_move, source) == 0 &&
               offsetof(pse_move, target) == 8 && offsetof(pse_move, ndim) == 16 &&
               offsetof(pse_move, itemsize) == 20 && offsetof(pse_move, shape) == 24 &&
               offsetof(pse_move, source_strides) == 88 && offsetof(pse_move, target_strides) == 152,
               "pse_move as NumPy has it");
#endif

/* What one buffer gives to another. In a push, `layout` is the array that the moves make where the part
 * travels by itself; in an ASSEMBLE or FILL it is the array that they take it from. */
typedef struct pse_part {
    int32_t first_move;
    int32_t moves;
    uint64_t bytes; /* that are moved; a push clears what they leave out of its layout (a halo) */
    pse_layout layout;
} pse_part;
#ifndef __cplusplus
_Static_assert(sizeof(pse_part) == 152 && offsetof(pse_part, first_move) == 0 &&
               offsetof(pse_part, moves) == 4 && offsetof(pse_part, bytes) == 8 &&
               offsetof(pse_part, layout) == 16,
               "pse_part as NumPy has it");
#endif

/* One hand-over after a call: the value of `slot` (or a part of it) goes to `rank` along `edge`. */
typedef struct pse_push {
    int32_t slot;
    uint32_t edge;
    uint32_t rank;
    uint32_t index; /* which piece, for edges with one piece for each partition */
    int32_t part; /* -1: the whole; where `blocks` is not 0: which of the blocks */
    uint8_t remote; /* through MPI */
    uint8_t throttled; /* counts against the queue's depth */
    /* the part must arrive as a C-ordered array; else, on the node, the whole buffer does */
    uint8_t contiguous;
    uint8_t again; /* the same part as the push before, to another rank of this node: they share one block */
    uint32_t depth; /* places in the queue to that rank */
    uint32_t sharers; /* how many pushes to this node, from this one on, share the part's block */
    /* into how many even blocks the rows are cut that there are when it runs; 0: the plan has the part */
    uint32_t blocks;
} pse_push;
#ifndef __cplusplus
_Static_assert(sizeof(pse_push) == 36 && offsetof(pse_push, slot) == 0 && offsetof(pse_push, edge) == 4 &&
               offsetof(pse_push, rank) == 8 && offsetof(pse_push, index) == 12 &&
               offsetof(pse_push, part) == 16 && offsetof(pse_push, remote) == 20 &&
               offsetof(pse_push, throttled) == 21 && offsetof(pse_push, contiguous) == 22 &&
               offsetof(pse_push, again) == 23 && offsetof(pse_push, depth) == 24 &&
               offsetof(pse_push, sharers) == 28 && offsetof(pse_push, blocks) == 32,
               "pse_push as NumPy has it");
#endif

/* Who executes a call. */
enum pse_call_kind {
    PSE_CALL_NATIVE = 0, /* a compiled module */
    PSE_CALL_PYTHON = 1, /* handed to Python */
    PSE_CALL_PUBLISH = 2, /* pushes only (scatter, replicate, the sending half of transpose) */
    PSE_CALL_ASSEMBLE = 3, /* pieces of `source` -> array in `target`, placed by `parts` */
    PSE_CALL_DUPLICATE = 4, /* copy `source` -> `target` */
    PSE_CALL_ZERO = 5, /* `target` filled with zeros */
    /* per-partition scalars or arrays of `source`, reduced in order of index -> `target` */
    PSE_CALL_COMBINE = 6,
    /* pieces of `source` (-1: none) -> cells of the array in `target`, placed by `parts` */
    PSE_CALL_FILL = 7,
    /* pieces of `source` -> array in `target`, one behind the other along the first axis */
    PSE_CALL_CONCATENATE = 8,
};

/* A call of a module, or an operation of the engine. */
typedef struct pse_call {
    int32_t kind;
    uint32_t site;
    int32_t first_argument;
    int32_t arguments;
    int32_t first_push;
    int32_t pushes;
    int32_t first_release; /* slots given up after the call */
    int32_t releases;
    int32_t source; /* slots of operations of the engine */
    int32_t target;
    int32_t first_part; /* ASSEMBLE: where each piece goes in the target */
    int32_t parts;
    int32_t combination; /* COMBINE: a coven_op */
    uint8_t alias; /* PUBLISH, ASSEMBLE, DUPLICATE: nobody else reads the source, so views will do */
    uint8_t silent; /* a first half of a call site: the second half accounts for both */
    uint8_t ordered; /* has a communicator of several ranks */
    uint8_t region; /* set of partitions that it works in, from 1; 0: outside PARALLEL */
    uint8_t clear; /* ASSEMBLE: the pieces leave cells out (a halo), which are zero */
    uint8_t lend; /* PUBLISH: two tags stand for the buffer from now on; whoever changes one takes a copy */
    uint8_t apart; /* where partitions decide for themselves: not all of them may come to it */
    pse_native function;
    const char *text; /* 'module fft.rows, fft2d.coven:15:7': for the fault handler */
} pse_call;
#ifndef __cplusplus
_Static_assert(sizeof(pse_call) == 80 && offsetof(pse_call, kind) == 0 && offsetof(pse_call, site) == 4 &&
               offsetof(pse_call, first_argument) == 8 && offsetof(pse_call, arguments) == 12 &&
               offsetof(pse_call, first_push) == 16 && offsetof(pse_call, pushes) == 20 &&
               offsetof(pse_call, first_release) == 24 && offsetof(pse_call, releases) == 28 &&
               offsetof(pse_call, source) == 32 && offsetof(pse_call, target) == 36 &&
               offsetof(pse_call, first_part) == 40 && offsetof(pse_call, parts) == 44 &&
               offsetof(pse_call, combination) == 48 && offsetof(pse_call, alias) == 52 &&
               offsetof(pse_call, silent) == 53 && offsetof(pse_call, ordered) == 54 &&
               offsetof(pse_call, region) == 55 && offsetof(pse_call, clear) == 56 &&
               offsetof(pse_call, lend) == 57 && offsetof(pse_call, apart) == 58 &&
               offsetof(pse_call, function) == 64 && offsetof(pse_call, text) == 72,
               "pse_call as NumPy has it");
#endif

/* An `inflight` loop. */
typedef struct pse_loop {
    uint32_t id;
    int32_t counter; /* slot of the iteration's counter */
    int32_t lower; /* expressions */
    int32_t upper;
    int32_t inflight;
    int32_t body; /* first instruction */
    int64_t step; /* by how much the counter grows, or falls; not 0 */
    uint8_t nested; /* inside another inflight loop: only this rank's own limit holds */
} pse_loop;
#ifndef __cplusplus
_Static_assert(sizeof(pse_loop) == 40 && offsetof(pse_loop, id) == 0 && offsetof(pse_loop, counter) == 4 &&
               offsetof(pse_loop, lower) == 8 && offsetof(pse_loop, upper) == 12 &&
               offsetof(pse_loop, inflight) == 16 && offsetof(pse_loop, body) == 20 &&
               offsetof(pse_loop, step) == 24 && offsetof(pse_loop, nested) == 32,
               "pse_loop as NumPy has it");
#endif

/* How this rank's node learns how many iterations of a loop are complete, and lets others know. Four runs
 * of ranks in `participants`, one after the other. */
typedef struct pse_counting {
    uint32_t first;
    uint32_t watched; /* of these, the least that anyone has completed is complete everywhere */
    uint32_t counted; /* ... is what this node tells, as the count of `speaker` */
    uint32_t told; /* ... to these, on other nodes */
    uint32_t relayed; /* who are told by this rank what it hears from `top` */
    uint32_t speaker;
    uint32_t top;
} pse_counting;
#ifndef __cplusplus
_Static_assert(sizeof(pse_counting) == 28 && offsetof(pse_counting, first) == 0 &&
               offsetof(pse_counting, watched) == 4 && offsetof(pse_counting, counted) == 8 &&
               offsetof(pse_counting, told) == 12 && offsetof(pse_counting, relayed) == 16 &&
               offsetof(pse_counting, speaker) == 20 && offsetof(pse_counting, top) == 24,
               "pse_counting as NumPy has it");
#endif

/* One partition's way through a PARALLEL region, where a processor may have several of them or none. */
typedef struct pse_fiber {
    int32_t body; /* first instruction */
    uint32_t partition;
    uint32_t load; /* where its CPU time is counted; PSE_NO_LOAD: nowhere */
    uint32_t reserved;
} pse_fiber;
#ifndef __cplusplus
_Static_assert(sizeof(pse_fiber) == 16 && offsetof(pse_fiber, body) == 0 &&
               offsetof(pse_fiber, partition) == 4 && offsetof(pse_fiber, load) == 8 &&
               offsetof(pse_fiber, reserved) == 12,
               "pse_fiber as NumPy has it");
#endif

/* Where the partitions of a set live: ranks of this rank's thread, from `first_owner` on in `owners`. */
typedef struct pse_region_row {
    uint32_t partitions;
    uint32_t first_owner;
    int32_t grid[PSE_MAX_DIMS]; /* extents of their grid; 0 beyond its last axis */
} pse_region_row;
#ifndef __cplusplus
_Static_assert(sizeof(pse_region_row) == 40 && offsetof(pse_region_row, partitions) == 0 &&
               offsetof(pse_region_row, first_owner) == 4 && offsetof(pse_region_row, grid) == 8,
               "pse_region_row as NumPy has it");
#endif

/* The tables, and numbers about the rank. */
typedef struct pse_plan {
    uint32_t rank;
    uint32_t ranks;
    uint32_t partition;
    uint32_t slots;
    uint32_t edges;
    uint32_t loops_count;
    uint32_t pushes_count;
    uint32_t instructions_count;
    uint32_t loads_count; /* partitions whose CPU time is counted */
    const pse_instruction *instructions;
    const pse_term *terms;
    const pse_expression *expressions;
    const pse_argument *arguments;
    const pse_part *parts;
    const pse_move *moves;
    const pse_push *pushes;
    const int32_t *releases;
    const pse_call *calls;
    const pse_loop *loops;
    const pse_fiber *fibers;
    const pse_region_row *regions;
    const uint32_t *owners;
    const pse_counting *countings; /* per loop */
    const uint32_t *participants;
    const uint32_t *edge_depths; /* per edge: places in its queue at this rank; 0: not bounded */
    const uint32_t *edge_sites; /* per edge: call site that defines it */
    /* per edge, and one more: first row of `forwards`, ranks that get from this one what comes along it */
    const uint32_t *forward_first;
    const uint32_t *forwards;
    /* per edge, and one more: first row of `credits`; if it has any: the rank that is told what was taken
     * on this node, the rank as whose count, and the ranks of which the one that has taken least counts */
    const uint32_t *credit_first;
    const uint32_t *credits;
    const uint8_t *remote; /* per rank: reached through MPI */
    const uint32_t *ensemble; /* this thread's rank on every processor */
    uint32_t ensemble_count; /* how many; which of them is this rank */
    uint32_t place;
    uint64_t local_limit; /* bytes: smaller buffers stay private to the rank */
    uint8_t shared; /* shared_memory = on */
    uint8_t has_remote; /* some peer is reached through MPI */
} pse_plan;
#ifndef __cplusplus
_Static_assert(sizeof(pse_plan) == 248 && offsetof(pse_plan, rank) == 0 && offsetof(pse_plan, ranks) == 4 &&
               offsetof(pse_plan, partition) == 8 && offsetof(pse_plan, slots) == 12 &&
               offsetof(pse_plan, edges) == 16 && offsetof(pse_plan, loops_count) == 20 &&
               offsetof(pse_plan, pushes_count) == 24 && offsetof(pse_plan, instructions_count) == 28 &&
               offsetof(pse_plan, loads_count) == 32 && offsetof(pse_plan, instructions) == 40 &&
               offsetof(pse_plan, terms) == 48 && offsetof(pse_plan, expressions) == 56 &&
               offsetof(pse_plan, arguments) == 64 && offsetof(pse_plan, parts) == 72 &&
               offsetof(pse_plan, moves) == 80 && offsetof(pse_plan, pushes) == 88 &&
               offsetof(pse_plan, releases) == 96 && offsetof(pse_plan, calls) == 104 &&
               offsetof(pse_plan, loops) == 112 && offsetof(pse_plan, fibers) == 120 &&
               offsetof(pse_plan, regions) == 128 && offsetof(pse_plan, owners) == 136 &&
               offsetof(pse_plan, countings) == 144 && offsetof(pse_plan, participants) == 152 &&
               offsetof(pse_plan, edge_depths) == 160 && offsetof(pse_plan, edge_sites) == 168 &&
               offsetof(pse_plan, forward_first) == 176 && offsetof(pse_plan, forwards) == 184 &&
               offsetof(pse_plan, credit_first) == 192 && offsetof(pse_plan, credits) == 200 &&
               offsetof(pse_plan, remote) == 208 && offsetof(pse_plan, ensemble) == 216 &&
               offsetof(pse_plan, ensemble_count) == 224 && offsetof(pse_plan, place) == 228 &&
               offsetof(pse_plan, local_limit) == 232 && offsetof(pse_plan, shared) == 240 &&
               offsetof(pse_plan, has_remote) == 241,
               "pse_plan as NumPy has it");
#endif

/* What a slot holds at a pause. */
enum pse_slot_kind {
    PSE_SLOT_EMPTY = 0,
    PSE_SLOT_SCALAR = 1,
    PSE_SLOT_BUFFER = 2,
    PSE_SLOT_PIECES = 3,
};

/* Why the engine returns to its caller. */
enum pse_run_result {
    PSE_RUN_DONE = 0,
    PSE_RUN_PYTHON = 1, /* call the Python module of `pse_engine_pending`, then pse_engine_complete */
    PSE_RUN_POLL = 2, /* look after MPI (outbox, arrivals), then run again */
    PSE_RUN_SIGNAL = 3, /* a signal came while asleep: let Python see it, then run again */
    PSE_RUN_MODULE_FAILED = 4, /* a compiled module returned a code other than 0 */
    PSE_RUN_ARITHMETIC = 5, /* an expression divides by zero or leaves its domain */
    PSE_RUN_TOO_LARGE = 6, /* an output is larger than the whole arena */
    PSE_RUN_NO_SPACE = 7, /* the arena is full and nobody can ever free */
    PSE_RUN_MEMORY = 8, /* the system has no memory left */
    PSE_RUN_BROKEN = 9, /* the plan reads a slot that holds nothing: a fault of ours */
    PSE_RUN_MESSAGING = 10, /* messages among partitions went wrong: pse_engine_messaging_fault */
    PSE_RUN_DEADLOCK = 11, /* nothing will ever move again: pse_engine_waits */
    /* `-o check=nan` has found an output with a NaN or infinity: see pse_engine_not_finite */
    PSE_RUN_NOT_FINITE = 15,
    /* `--debug` has found that a module wrote before one of its arrays: see pse_engine_underrun */
    PSE_RUN_UNDERRUN = 16,
    /* a module has filled more rows of an output than there are, or says so: see pse_engine_misfilled */
    PSE_RUN_ROWS = 17,
    PSE_RUN_DESCRIPTOR = 18, /* a module has closed the descriptor of pse_engine_watch_descriptor */
    PSE_RUN_SHAPE = 12, /* an array has another shape than the call expects: see pse_engine_misfit */
    PSE_RUN_RELEASED = 14, /* a buffer was released more often than it was held: a fault of ours */
    PSE_RUN_PAUSE = 13, /* a pause is due and everything expected has come: see pause.c, then run again */
};

#endif
