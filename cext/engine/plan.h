/* The plan of one rank: its projection of the program, as tables.
 *
 * `pse/runtime/plan/_projection.py` writes it, `sequencer.h` runs it.  The plan never changes while it runs.
 * Indices refer to the tables of the same plan; -1 means none.
 *
 * A *slot* is a place in a context that holds what a tag stands for at this rank.  An *edge* is a definition
 * of a tag (a call site's output) as seen by those who may read it; its messages carry its number.
 */
#ifndef PSE_PLAN_H
#define PSE_PLAN_H

#include <stdint.h>

#include "arena.h"

/* Instructions.  Control flow is the same on every rank that takes part in it. */
enum pse_operation {
    PSE_OP_CALL,        /* a: call */
    PSE_OP_EXPECT,      /* a: slot, b: edge, c: pieces (0: a single value); the slot's value is on its way */
    PSE_OP_ASSIGN,      /* a: slot, b: expression */
    PSE_OP_DROP,        /* a: slot; its value is not needed any more */
    PSE_OP_SWAP,        /* a, b: slots */
    PSE_OP_JUMP,        /* a: instruction */
    PSE_OP_JUMP_UNLESS, /* a: instruction, b: expression */
    PSE_OP_FORK,        /* a: loop; start its iterations, go on when all are complete */
    PSE_OP_END,         /* the context is complete */
    PSE_OP_SPREAD,      /* a: first fiber, b: fibers; run them side by side, go on when all have ended */
    PSE_OP_PAUSE, /* a: point, b: always due if any is; if due, wait for what is under way, return to the
                   * caller */
};

typedef struct pse_instruction {
    int32_t operation, a, b, c;
} pse_instruction;

/* Scalar expressions in postfix order; one flat table, each expression a range of it. */
enum pse_term_kind {
    PSE_TERM_INTEGER,
    PSE_TERM_REAL,
    PSE_TERM_SLOT,
    PSE_TERM_EXTENT, /* slot, axis of its buffer */
    PSE_TERM_NEGATE,
    PSE_TERM_NOT,
    PSE_TERM_ADD,
    PSE_TERM_SUBTRACT,
    PSE_TERM_MULTIPLY,
    PSE_TERM_DIVIDE,
    PSE_TERM_MODULO,
    PSE_TERM_POWER,
    PSE_TERM_LESS,
    PSE_TERM_LESS_EQUAL,
    PSE_TERM_GREATER,
    PSE_TERM_GREATER_EQUAL,
    PSE_TERM_EQUAL,
    PSE_TERM_NOT_EQUAL,
    PSE_TERM_AND,
    PSE_TERM_OR,
    PSE_TERM_MINIMUM,
    PSE_TERM_MAXIMUM,
    PSE_TERM_ABSOLUTE,
    PSE_TERM_SQUARE_ROOT,
    PSE_TERM_FLOOR,
    PSE_TERM_CEILING,
    PSE_TERM_LOG2,
    PSE_TERM_TO_INTEGER,
    PSE_TERM_TO_REAL,
    PSE_TERM_SKIP_UNLESS, /* `slot` terms, if what is left of `and` is false already */
    PSE_TERM_SKIP_WHEN,   /* `slot` terms, if what is left of `or` is true already */
};

typedef struct pse_term {
    int32_t kind;
    int32_t slot, axis;
    int32_t reserved;
    union {
        int64_t integer;
        double real;
    } value;
} pse_term;

typedef struct pse_expression {
    int32_t first, count;
} pse_expression;

/* Arguments of a call, in the order of the trampoline. */
enum pse_argument_kind {
    PSE_ARGUMENT_READ,      /* array, not changed */
    PSE_ARGUMENT_CHANGE,    /* array, changed in place */
    PSE_ARGUMENT_MAKE,      /* array, allocated by the engine, written by the module */
    PSE_ARGUMENT_SCALAR,    /* scalar passed in: `expression` */
    PSE_ARGUMENT_RESULT,    /* scalar written by the module into `slot` */
    PSE_ARGUMENT_UPDATE,    /* scalar read and written: `slot` */
    PSE_ARGUMENT_DIMENSION, /* int64_t: `expression` */
    PSE_ARGUMENT_TEXT,      /* constant string */
    PSE_ARGUMENT_COMM,      /* communicator: `text` is the address of its handle */
};

typedef struct pse_argument {
    int32_t kind;
    int32_t slot;
    int32_t expression;
    uint16_t dtype;
    uint16_t ndim;
    uint32_t itemsize;
    int32_t shape[PSE_MAX_DIMS]; /* MAKE: an expression for each axis */
    /* MAKE, where the result is later gathered on the node: it is a part of one block shared by `parts`
     * partitions. */
    uint32_t parts;
    uint32_t checked; /* READ, CHANGE: what comes must have this shape (an expression for each axis) */
    uint64_t share_bytes, share_offset;
    const char *text;
} pse_argument;

/* A strided copy from one buffer to another; all in bytes. */
typedef struct pse_move {
    uint64_t from, to;
    uint32_t ndim, itemsize;
    int64_t shape[PSE_MAX_DIMS], from_strides[PSE_MAX_DIMS], to_strides[PSE_MAX_DIMS];
} pse_move;

/* What one buffer gives to another.  In a push, `layout` is the array that the moves make where the part
 * travels by itself; in an ASSEMBLE or FILL it is the array that they take it from. */
typedef struct pse_part {
    int32_t first_move, moves;
    uint64_t bytes; /* that are moved; a push clears what they leave out of its layout (a halo) */
    pse_layout layout;
} pse_part;

/* One hand-over after a call: the value of `slot` (or a part of it) goes to `rank` along `edge`. */
typedef struct pse_push {
    int32_t slot;
    uint32_t edge;
    uint32_t rank;
    uint32_t index;    /* which piece, for edges with one piece for each partition */
    int32_t part;      /* -1: the whole */
    uint8_t remote;    /* through MPI */
    uint8_t throttled; /* counts against the queue's depth */
    uint8_t
        contiguous; /* the part must arrive as a C-ordered array; else, on the node, the whole buffer does */
    uint8_t again;  /* the same part as the push before, to another rank of this node: they share one block */
    uint32_t depth; /* places in the queue to that rank */
    uint32_t sharers; /* how many pushes to this node, from this one on, share the part's block */
} pse_push;

enum pse_call_kind {
    PSE_CALL_NATIVE,    /* a compiled module */
    PSE_CALL_PYTHON,    /* handed to Python */
    PSE_CALL_PUBLISH,   /* pushes only (scatter, replicate, the sending half of transpose) */
    PSE_CALL_ASSEMBLE,  /* pieces of `source` -> array in `target`, placed by `parts` */
    PSE_CALL_DUPLICATE, /* copy `source` -> `target` */
    PSE_CALL_ZERO,      /* `target` filled with zeros */
    PSE_CALL_COMBINE,   /* per-partition scalars of `source`, reduced in order of index -> `target` */
    PSE_CALL_FILL, /* pieces of `source` (-1: none) -> cells of the array in `target`, placed by `parts` */
};

typedef int (*pse_native)(void **arguments);

typedef struct pse_call {
    int32_t kind;
    uint32_t site;
    int32_t first_argument, arguments;
    int32_t first_push, pushes;
    int32_t first_release, releases; /* slots given up after the call */
    int32_t source, target;          /* slots of engine operations */
    int32_t first_part, parts;       /* ASSEMBLE: where each piece goes in the target */
    int32_t combination;             /* COMBINE: a coven_op */
    uint8_t alias;                   /* PUBLISH, ASSEMBLE: nobody else reads the source, so views will do */
    uint8_t silent;                  /* a first half of a call site: the second half accounts for both */
    uint8_t ordered;                 /* has a communicator of several ranks: order.c */
    uint8_t region;                  /* set of partitions that it works in, from 1; 0: outside PARALLEL */
    uint8_t clear;                   /* ASSEMBLE: the pieces leave cells out (a halo), which are zero */
    uint8_t lend; /* PUBLISH: two tags stand for the buffer from now on; whoever changes one takes a copy */
    pse_native function;
    const char *text; /* "module fft.rows, fft2d.coven:15:7": for the fault handler */
} pse_call;

typedef struct pse_loop {
    uint32_t id;
    int32_t counter;                /* slot of the iteration's counter */
    int32_t lower, upper, inflight; /* expressions */
    int32_t body;                   /* first instruction */
    uint8_t nested;                 /* inside another inflight loop: only this rank's own limit holds */
} pse_loop;

/* How this rank's node learns how many iterations of a loop are complete everywhere, and lets others know:
 * four runs of ranks in `participants`, one after the other. */
typedef struct pse_counting {
    uint32_t first;
    uint32_t watched; /* of these, the least that anyone has completed is complete everywhere */
    uint32_t counted; /* ... is what this node tells, as the count of `speaker` */
    uint32_t told;    /* ... to these, on other nodes */
    uint32_t relayed; /* who are told by this rank what it hears from `top` */
    uint32_t speaker, top;
} pse_counting;

/* One partition's way through a PARALLEL region, where a processor may have several of them or none. */
typedef struct pse_fiber {
    int32_t body; /* first instruction */
    uint32_t partition;
    uint32_t load; /* where its CPU time is counted; PSE_NO_LOAD: nowhere */
    uint32_t reserved;
} pse_fiber;

#define PSE_NO_LOAD UINT32_MAX

/* Where the partitions of a set live: ranks of this rank's thread, from `first_owner` on in `owners`. */
typedef struct pse_region_row {
    uint32_t partitions, first_owner;
} pse_region_row;

typedef struct pse_plan {
    uint32_t rank, ranks, partition, slots, edges, loops_count;
    uint32_t pushes_count, instructions_count;
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
    const uint32_t *edge_sites;  /* per edge: call site that defines it */
    /* Per edge, and one more: first row of `forwards`, ranks that get from this one what comes along it. */
    const uint32_t *forward_first, *forwards;
    /* Per edge, and one more: first row of `credits`.  If it has any: the rank that is told what was taken on
     * this node, the rank as whose count, and the ranks of which the one that has taken least counts. */
    const uint32_t *credit_first, *credits;
    const uint8_t *remote;          /* per rank: reached through MPI */
    const uint32_t *ensemble;       /* this thread's rank on every processor */
    uint32_t ensemble_count, place; /* how many; which of them is this rank */
    uint64_t local_limit;           /* bytes: smaller buffers stay private to the rank */
    uint8_t shared;                 /* shared_memory = on */
    uint8_t has_remote;             /* some peer is reached through MPI */
} pse_plan;

#endif
