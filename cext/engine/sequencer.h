/* The sequencer: runs one rank's plan.
 *
 * `pse_sequencer_run` walks the plan's contexts (the program itself, and one for each iteration in flight),
 * oldest first, and executes every call whose inputs are there; compiled modules run right here, without
 * Python.  It returns when it needs its caller: to call a Python module, to talk MPI, or because the work is
 * done or failed.  While nothing can run it sleeps on the rank's doorbell.
 *
 * Data flow: messages come from the rank's inbox (`channel`) or, from other nodes, through
 * `pse_sequencer_deliver`; what goes to other nodes is left in the outbox.  Ownership: a value in a slot owns
 * one reference to its buffer.
 *
 * May touch: the board, the arena, the recorder, and its own memory.  No Python, no MPI.
 */
#ifndef PSE_SEQUENCER_H
#define PSE_SEQUENCER_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "board.h"
#include "inbox.h"
#include "messaging.h"
#include "plan.h"
#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_sequencer pse_sequencer;
typedef struct pse_context pse_context;

enum pse_run_result {
    PSE_RUN_DONE = 0,
    PSE_RUN_PYTHON, /* Call the Python module of `pse_sequencer_pending`, then pse_sequencer_complete. */
    PSE_RUN_POLL,   /* Look after MPI (outbox, arrivals), then run again. */
    PSE_RUN_SIGNAL, /* A signal came while asleep: let Python see it, then run again. */
    PSE_RUN_MODULE_FAILED, /* A compiled module returned a code other than 0. */
    PSE_RUN_ARITHMETIC,    /* An expression divides by zero or leaves its domain. */
    PSE_RUN_TOO_LARGE,     /* An output is larger than the whole arena. */
    PSE_RUN_NO_SPACE,      /* The arena is full and nobody can ever free. */
    PSE_RUN_MEMORY,        /* The system has no memory left. */
    PSE_RUN_BROKEN,        /* The plan reads a slot that holds nothing: a fault of ours. */
    PSE_RUN_MAIL,          /* Messages among partitions went wrong: pse_sequencer_mail_fault. */
    PSE_RUN_DEADLOCK,      /* Nothing will ever move again: pse_sequencer_waits. */
    PSE_RUN_SHAPE,         /* An array has another shape than the call expects: see pse_sequencer_misfit. */
    PSE_RUN_PAUSE,         /* A pause is due and everything expected has come: see pause.c, then run again. */
};

/* A buffer that goes to another node.  The sequencer holds a reference until pse_sequencer_sent. */
typedef struct pse_outgoing {
    uint32_t rank;
    pse_message message;
    pse_block *buffer;     /* NULL for scalars */
    void *data;            /* first byte of the buffer */
    pse_layout layout;     /* of the array that arrives */
    const pse_move *moves; /* what of the buffer goes, in this order; NULL: all of it */
    uint32_t moves_count;
} pse_outgoing;

int pse_sequencer_create(pse_sequencer **out, const pse_plan *plan, pse_board *board, pse_arena *arena,
                         pse_recorder *recorder);
void pse_sequencer_destroy(pse_sequencer *sequencer);

/* For tests: overwrite private buffers when they are made and when they are freed, as pse_arena_poison does
 * with those of the arena. */
void pse_sequencer_poison(pse_sequencer *sequencer);

/* How many private buffers somebody holds: none once the work is done. */
int64_t pse_sequencer_private_buffers(const pse_sequencer *sequencer);

/* `*culprit` is kept at the text of the call that runs now, for the fault handler. */
void pse_sequencer_set_culprit(pse_sequencer *sequencer, const char *volatile *culprit);

/* Run until the caller is needed; sleep at most `patience` ns at a time (0: no limit). */
int pse_sequencer_run(pse_sequencer *sequencer, uint64_t patience);

/* The call that run() returned for: PYTHON, MODULE_FAILED, ARITHMETIC or NO_SPACE. */
const pse_call *pse_sequencer_pending(const pse_sequencer *sequencer);
uint64_t pse_sequencer_pending_tph(const pse_sequencer *sequencer);
int64_t pse_sequencer_pending_index(const pse_sequencer *sequencer);     /* loop counter of the TPH, or -1 */
int64_t pse_sequencer_pending_partition(const pse_sequencer *sequencer); /* of a fiber; else -1 */
int32_t pse_sequencer_pending_instruction(const pse_sequencer *sequencer);
int pse_sequencer_module_code(const pse_sequencer *sequencer);

/* After SHAPE: the slot of the array that doesn't fit, which piece of it (-1: it is whole), what came, and
 * the shape that was expected. */
int32_t pse_sequencer_misfit(const pse_sequencer *sequencer, int64_t *which, pse_layout *found,
                             int64_t expected[PSE_MAX_DIMS]);

/* Arguments of the pending Python call. */
pse_block *pse_sequencer_buffer(pse_sequencer *sequencer, int32_t slot);
void *pse_sequencer_data(pse_sequencer *sequencer, pse_block *buffer);
bool pse_sequencer_scalar(pse_sequencer *sequencer, int32_t expression, double real[2], int64_t *integer,
                          uint16_t *dtype);
bool pse_sequencer_slot_scalar(pse_sequencer *sequencer, int32_t slot, double real[2], int64_t *integer,
                               uint16_t *dtype);
void pse_sequencer_set_integer(pse_sequencer *sequencer, int32_t slot, int64_t value);
void pse_sequencer_set_real(pse_sequencer *sequencer, int32_t slot, double real, double imaginary,
                            bool complex_value);
pse_block *pse_sequencer_made(const pse_sequencer *sequencer, int32_t argument); /* output allocated for it */
bool pse_sequencer_set_bytes(pse_sequencer *sequencer, int32_t slot, const char *data,
                             uint64_t size);        /* an object */
void pse_sequencer_enter(pse_sequencer *sequencer); /* The Python module starts, or goes on. */
/* It returned, or waits for what it posted: true if its partition rests.  Then run again; PYTHON comes once
 * more for this call, and pse_sequencer_pending_is_parked says so. */
bool pse_sequencer_rest(pse_sequencer *sequencer);
bool pse_sequencer_pending_is_parked(const pse_sequencer *sequencer);
uint64_t pse_sequencer_pending_key(const pse_sequencer *sequencer); /* tells parked calls apart */
void pse_sequencer_abandon_module(pse_sequencer *sequencer);        /* It raised. */
void pse_sequencer_complete(pse_sequencer *sequencer,
                            uint64_t copied); /* It returned; go on after the call. */

/* Python code kept a reference to the buffer beyond its call, or gave it up again. */
void pse_sequencer_pin(pse_sequencer *sequencer, pse_block *buffer);
void pse_sequencer_unpin(pse_sequencer *sequencer, pse_block *buffer);

/* Pauses (pause.c). */
void pse_sequencer_set_due(pse_sequencer *sequencer, uint64_t rounds); /* the next pause to return for */
uint64_t pse_sequencer_rounds(const pse_sequencer *sequencer);         /* pauses passed so far */
int32_t pse_sequencer_point(const pse_sequencer *sequencer);           /* which pause run() returned for */
void pse_sequencer_take_all(pse_sequencer *sequencer);
bool pse_sequencer_start_at(pse_sequencer *sequencer, int32_t point, uint64_t rounds);
void pse_sequencer_succeed(pse_sequencer *sequencer, const pse_sequencer *before);

/* Partitions move to other ranks at a pause (migrate.c). */
const uint64_t *pse_sequencer_loads(const pse_sequencer *sequencer); /* ns of CPU time of each partition */
void pse_sequencer_inherit(pse_sequencer *sequencer, int32_t slot, pse_sequencer *before, int32_t from);
void pse_sequencer_abandon(pse_sequencer *sequencer);
pse_handle pse_sequencer_lend(pse_sequencer *sequencer, pse_block *buffer); /* 0: it is this rank's own */
pse_block *pse_sequencer_lent(const pse_sequencer *sequencer, pse_handle handle);

/* What slots hold at a pause (slots.c).  A buffer that is set belongs to its slot from then on. */
enum pse_slot_kind { PSE_SLOT_EMPTY, PSE_SLOT_SCALAR, PSE_SLOT_BUFFER, PSE_SLOT_PIECES };
enum pse_slot_kind pse_sequencer_slot_kind(const pse_sequencer *sequencer, int32_t slot, uint32_t *pieces);
pse_block *pse_sequencer_slot_piece(const pse_sequencer *sequencer, int32_t slot, uint32_t index,
                                    double real[2], int64_t *integer, uint16_t *dtype); /* NULL: a scalar */
pse_block *pse_sequencer_make_buffer(pse_sequencer *sequencer, const pse_layout *layout);
void pse_sequencer_set_buffer(pse_sequencer *sequencer, int32_t slot, pse_block *buffer);
bool pse_sequencer_set_pieces(pse_sequencer *sequencer, int32_t slot, uint32_t count);
void pse_sequencer_set_piece(pse_sequencer *sequencer, int32_t slot, uint32_t index, pse_block *buffer,
                             const double real[2], int64_t integer, uint16_t dtype);
void pse_sequencer_skip(pse_sequencer *sequencer, uint32_t loop, uint64_t iterations);

/* Messages among partitions (park.c, quiet.c). */
const pse_messaging_fault *pse_sequencer_mail_fault(const pse_sequencer *sequencer);
bool pse_sequencer_mail_is_empty(pse_sequencer *sequencer); /* At the end or a pause: false is a fault. */
size_t pse_sequencer_kept(const pse_sequencer *sequencer, pse_messaging_saved *rows, size_t limit); /* At a pause. */
bool pse_sequencer_put_kept(pse_sequencer *sequencer, const pse_messaging_saved *row);
/* Messages that this rank has posted, and that were delivered to it. */
void pse_sequencer_traffic(const pse_sequencer *sequencer, uint64_t *posted, uint64_t *delivered);
const pse_messaging_wait *pse_sequencer_waits(const pse_sequencer *sequencer, size_t *count); /* Of all ranks. */
void pse_sequencer_serve(pse_sequencer *sequencer); /* Answer others, after DONE. */

/* Remote transport. */
size_t pse_sequencer_outbox(pse_sequencer *sequencer,
                            pse_outgoing **out); /* Entries to send; the caller takes all. */
void pse_sequencer_sent(pse_sequencer *sequencer, pse_block *buffer);
pse_block *pse_sequencer_receive_buffer(pse_sequencer *sequencer, const pse_layout *layout,
                                        const pse_message *message);
void pse_sequencer_deliver(pse_sequencer *sequencer, const pse_message *message);

#ifdef __cplusplus
}
#endif
#endif
