/* The engine: runs one rank's plan.
 *
 * `pse_engine_run` walks the plan's contexts (the program itself, and one for each iteration in flight),
 * oldest first, and executes every call whose inputs are there; compiled modules run right here, without
 * Python.  It returns when it needs its caller: to call a Python module, to talk MPI, or because the work is
 * done or failed.  While nothing can run it sleeps on the rank's doorbell.
 *
 * Data flow: messages come from the rank's inbox (`channel`) or, from other nodes, through
 * `pse_engine_deliver`; what goes to other nodes is left in the outbox.  Ownership: a value in a slot owns
 * one reference to its buffer.
 *
 * It touches the board, the arena, the recorder, and its own memory; no Python, no MPI.
 */
#ifndef PSE_ENGINE_H
#define PSE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi_plan.h"
#include "arena.h"
#include "board.h"
#include "inbox.h"
#include "messaging.h"
#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_engine pse_engine;
typedef struct pse_context pse_context;

/* A buffer that goes to another node.  The engine holds a reference until pse_engine_sent. */
typedef struct pse_outgoing {
    uint32_t rank;
    pse_message message;
    pse_block *buffer;     /* NULL for scalars */
    void *data;            /* first byte of the buffer */
    pse_layout layout;     /* of the array that arrives */
    const pse_move *moves; /* what of the buffer goes, in this order; NULL: all of it */
    uint32_t moves_count;
} pse_outgoing;

int pse_engine_create(pse_engine **out, const pse_plan *plan, pse_board *board, pse_arena *arena,
                      pse_recorder *recorder);
void pse_engine_destroy(pse_engine *engine);

/* For tests: overwrite private buffers when they are made and when they are freed, as pse_arena_poison does
 * with those of the arena. */
void pse_engine_poison(pse_engine *engine);

/* For debugging, before it runs: whoever reads or writes just outside of a buffer, private ones too, crashes.
 * The arena must be guarded. */
void pse_engine_guard(pse_engine *engine);

/* Which input of the call that runs is at an address, by its parameter's name; NULL: none that is guarded.
 * Async-signal-safe. */
const char *pse_engine_input_at(const void *address);

/* How many private buffers somebody holds: none once the work is done. */
int64_t pse_engine_private_buffers(const pse_engine *engine);

/* `culprit` is kept at the texts of the call that runs now, and of the last, for the fault handler. */
void pse_engine_set_culprit(pse_engine *engine, const char *volatile *culprit);

/* A call that closes this descriptor ends the run: it closes all that it finds, or another's by mistake. */
void pse_engine_watch_descriptor(pse_engine *engine, int descriptor);

/* Run until the caller is needed; sleep at most `patience` ns at a time (0: no limit). */
int pse_engine_run(pse_engine *engine, uint64_t patience);

/* The call that run() returned for: PYTHON, MODULE_FAILED, ARITHMETIC or NO_SPACE. */
const pse_call *pse_engine_pending(const pse_engine *engine);
uint64_t pse_engine_pending_tph(const pse_engine *engine);
int64_t pse_engine_pending_index(const pse_engine *engine);     /* loop counter of the TPH, or -1 */
int64_t pse_engine_pending_partition(const pse_engine *engine); /* of a fiber; else -1 */
int32_t pse_engine_pending_instruction(const pse_engine *engine);
int pse_engine_module_code(const pse_engine *engine);

/* After ARITHMETIC: the PSE_TERM_* of the operation that has no value (JOIN: a string is too long; EXTENT: an
 * extent is below 0), and its left or right operand. */
int pse_engine_without_value(const pse_engine *engine, bool right, double real[2], int64_t *integer,
                             uint16_t *dtype);

/* After SHAPE: the slot of the array that doesn't fit, which piece of it (-1: it is whole), what came, and
 * the shape that was expected. */
int32_t pse_engine_misfit(const pse_engine *engine, int64_t *which, pse_layout *found,
                          int64_t expected[PSE_MAX_DIMS]);

/* After ROWS: the slot of the output, how many rows the module says that it has filled, how many there are,
 * and whether it wrote behind the last one. */
int32_t pse_engine_misfilled(const pse_engine *engine, int64_t *filled, int64_t *capacity, uint8_t *overrun);

/* Before it runs: look for NaN and infinity in the outputs of every call. */
void pse_engine_check_finite(pse_engine *engine);

/* After NOT_FINITE: the slot of the output, the number of the element in the order of the axes (-1: it is a
 * scalar), its value, and of an array the layout. */
int32_t pse_engine_not_finite(const pse_engine *engine, int64_t *index, double *value, pse_layout *layout);

/* After UNDERRUN: the slot of the array before which something was written, and how many bytes before it. */
int32_t pse_engine_underrun(const pse_engine *engine, uint64_t *distance);

/* Arguments of the pending Python call. */
pse_block *pse_engine_buffer(pse_engine *engine, int32_t slot);
void *pse_engine_data(pse_engine *engine, pse_block *buffer);
bool pse_engine_scalar(pse_engine *engine, int32_t expression, double real[2], int64_t *integer,
                       uint16_t *dtype);
bool pse_engine_slot_scalar(pse_engine *engine, int32_t slot, double real[2], int64_t *integer,
                            uint16_t *dtype);
void pse_engine_set_integer(pse_engine *engine, int32_t slot, int64_t value);
void pse_engine_set_real(pse_engine *engine, int32_t slot, double real, double imaginary, bool complex_value);
pse_block *pse_engine_made(const pse_engine *engine, int32_t argument); /* output allocated for it */
/* The shape that an output of a Python call must have; of a LATER the most rows. False: it has no value. */
bool pse_engine_shape_due(pse_engine *engine, int32_t argument, int64_t shape[PSE_MAX_DIMS]);
/* Allocate a LATER, or let it take over the buffer of the input slot `instead` (-1: of none) if nobody else
 * needs that; NULL: PSE_ARENA_* */
pse_block *pse_engine_make_later(pse_engine *engine, int32_t argument, int32_t instead, const int64_t *shape,
                                 int *code);
bool pse_engine_set_bytes(pse_engine *engine, int32_t slot, const char *data, uint64_t size); /* an object */
bool pse_engine_enter(pse_engine *engine); /* The Python module starts, or goes on; false: no memory. */
/* It returned, or waits for what it posted: true if its partition rests.  Then run again; PYTHON comes once
 * more for this call, and pse_engine_pending_is_parked says so. */
bool pse_engine_rest(pse_engine *engine);
bool pse_engine_pending_is_parked(const pse_engine *engine);
uint64_t pse_engine_pending_key(const pse_engine *engine);     /* tells parked calls apart */
void pse_engine_abandon_module(pse_engine *engine);            /* It raised. */
void pse_engine_complete(pse_engine *engine, uint64_t copied); /* It returned; go on after the call. */

/* Python code kept a reference to the buffer beyond its call, or gave it up again. */
void pse_engine_pin(pse_engine *engine, pse_block *buffer);
void pse_engine_unpin(pse_engine *engine, pse_block *buffer);

/* Pauses (pause.c). */
void pse_engine_set_due(pse_engine *engine, uint64_t rounds); /* the next pause to return for */
uint64_t pse_engine_rounds(const pse_engine *engine);         /* pauses passed so far */
int32_t pse_engine_point(const pse_engine *engine);           /* which pause run() returned for */
void pse_engine_take_all(pse_engine *engine);
bool pse_engine_start_at(pse_engine *engine, int32_t point, uint64_t rounds);
void pse_engine_succeed(pse_engine *engine, const pse_engine *before);

/* Partitions move to other ranks at a pause (migration.c). */
const uint64_t *pse_engine_loads(const pse_engine *engine); /* ns of CPU time of each partition */
void pse_engine_inherit(pse_engine *engine, int32_t slot, pse_engine *before, int32_t from);
void pse_engine_abandon(pse_engine *engine);
pse_handle pse_engine_lend(pse_engine *engine, pse_block *buffer); /* 0: it is this rank's own */
pse_block *pse_engine_lent(const pse_engine *engine, pse_handle handle);

/* What slots hold at a pause (slot_access.c).  A buffer that is set belongs to its slot from then on. */
enum pse_slot_kind pse_engine_slot_kind(const pse_engine *engine, int32_t slot, uint32_t *pieces);
pse_block *pse_engine_slot_piece(const pse_engine *engine, int32_t slot, uint32_t index, double real[2],
                                 int64_t *integer, uint16_t *dtype); /* NULL: a scalar */
pse_block *pse_engine_make_buffer(pse_engine *engine, const pse_layout *layout);
void pse_engine_set_buffer(pse_engine *engine, int32_t slot, pse_block *buffer);
bool pse_engine_set_pieces(pse_engine *engine, int32_t slot, uint32_t count);
void pse_engine_set_piece(pse_engine *engine, int32_t slot, uint32_t index, pse_block *buffer,
                          const double real[2], int64_t integer, uint16_t dtype);
void pse_engine_skip(pse_engine *engine, uint32_t loop, uint64_t iterations);

/* Messages among partitions (calls/partition_wait.c, deadlock_detection.c). */
const pse_messaging_fault *pse_engine_messaging_fault(const pse_engine *engine);
bool pse_engine_messaging_is_empty(pse_engine *engine); /* At the end or a pause: false is a fault. */
size_t pse_engine_save_mailboxes(const pse_engine *engine, pse_messaging_saved *rows,
                                 size_t limit); /* At a pause. */
bool pse_engine_restore_mailbox(pse_engine *engine, const pse_messaging_saved *row);
/* Messages that this rank has posted, and that were delivered to it. */
void pse_engine_traffic(const pse_engine *engine, uint64_t *posted, uint64_t *delivered);
const pse_messaging_wait *pse_engine_waits(const pse_engine *engine, size_t *count); /* Of all ranks. */
bool pse_engine_serve(pse_engine *engine); /* Answer others, after DONE or at a pause; false: no memory. */

/* Remote transport. */
size_t pse_engine_outbox(pse_engine *engine, pse_outgoing **out); /* Entries to send; the caller takes all. */
void pse_engine_sent(pse_engine *engine, pse_block *buffer);
pse_block *pse_engine_receive_buffer(pse_engine *engine, const pse_layout *layout,
                                     const pse_message *message);
void pse_engine_deliver(pse_engine *engine, const pse_message *message);

#ifdef __cplusplus
}
#endif
#endif
