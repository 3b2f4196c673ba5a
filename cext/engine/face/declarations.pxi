# What the face uses of the engine, of the rooms below it, and of Cython.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy
from cpython.buffer cimport PyBUF_FORMAT

cdef extern from "calls/output_prefix.h" nogil:
    ctypedef struct pse_engine
    ctypedef struct pse_engine_output_pipe
    ctypedef struct pse_engine_loop_name:
        const char *name
        int32_t slot
    ctypedef struct pse_engine_site_prefix:
        const char *thread
        const pse_engine_loop_name *loops
        int32_t count
    int pse_engine_output_pipe_open(pse_engine_output_pipe **out)
    void pse_engine_output_pipe_close(pse_engine_output_pipe *pipes)
    void pse_engine_prefix_output(pse_engine *sequencer, pse_engine_output_pipe *pipes,
                                  const pse_engine_site_prefix *sites, const char *idle)

cdef extern from "engine.h" nogil:
    ctypedef struct pse_outgoing:
        uint32_t rank
        pse_message message
        pse_block *buffer
        void *data
        pse_layout layout
        const pse_move *moves
        uint32_t moves_count
    int pse_engine_create(pse_engine **out, const pse_plan *plan, pse_board *board, pse_arena *arena,
                             pse_recorder *recorder)
    void pse_engine_destroy(pse_engine *sequencer)
    void pse_engine_set_culprit(pse_engine *sequencer, const char **culprit)
    void pse_engine_poison(pse_engine *sequencer)
    void pse_engine_guard(pse_engine *sequencer)
    const char *pse_engine_input_at(const void *address)
    void pse_engine_watch_descriptor(pse_engine *sequencer, int descriptor)
    void pse_engine_check_finite(pse_engine *sequencer)
    int32_t pse_engine_underrun(const pse_engine *sequencer, uint64_t *distance)
    int32_t pse_engine_not_finite(const pse_engine *sequencer, int64_t *index, double *value,
                                  pse_layout *layout)
    int64_t pse_engine_private_buffers(const pse_engine *sequencer)
    int pse_engine_run(pse_engine *sequencer, uint64_t patience)
    const pse_call *pse_engine_pending(const pse_engine *sequencer)
    uint64_t pse_engine_pending_tph(const pse_engine *sequencer)
    int64_t pse_engine_pending_index(const pse_engine *sequencer)
    int64_t pse_engine_pending_partition(const pse_engine *sequencer)
    int32_t pse_engine_pending_instruction(const pse_engine *sequencer)
    int pse_engine_module_code(const pse_engine *sequencer)
    int pse_engine_without_value(const pse_engine *sequencer, bint right, double *real, int64_t *integer,
                                 uint16_t *dtype)
    int32_t pse_engine_misfit(const pse_engine *sequencer, int64_t *piece, pse_layout *found,
                                 int64_t *expected)
    int32_t pse_engine_misfilled(const pse_engine *sequencer, int64_t *filled, int64_t *capacity,
                                 uint8_t *overrun)
    bint pse_engine_shape_due(pse_engine *sequencer, int32_t argument, int64_t *shape)
    pse_block *pse_engine_make_later(pse_engine *sequencer, int32_t argument, int32_t instead,
                                     const int64_t *shape, int *code)
    pse_block *pse_engine_made(const pse_engine *sequencer, int32_t argument)
    pse_block *pse_engine_buffer(pse_engine *sequencer, int32_t slot)
    void *pse_engine_data(pse_engine *sequencer, pse_block *buffer)
    bint pse_engine_scalar(pse_engine *sequencer, int32_t expression, double *real, int64_t *integer,
                              uint16_t *dtype)
    bint pse_engine_slot_scalar(pse_engine *sequencer, int32_t slot, double *real, int64_t *integer,
                                   uint16_t *dtype)
    void pse_engine_set_integer(pse_engine *sequencer, int32_t slot, int64_t value)
    void pse_engine_set_real(pse_engine *sequencer, int32_t slot, double real, double imaginary,
                                bint complex_value)
    bint pse_engine_set_bytes(pse_engine *sequencer, int32_t slot, const char *data, uint64_t size)
    bint pse_engine_enter(pse_engine *sequencer)
    bint pse_engine_rest(pse_engine *sequencer)
    bint pse_engine_pending_is_parked(const pse_engine *sequencer)
    uint64_t pse_engine_pending_key(const pse_engine *sequencer)
    void pse_engine_abandon_module(pse_engine *sequencer)
    const pse_messaging_fault *pse_engine_messaging_fault(const pse_engine *sequencer)
    bint pse_engine_messaging_is_empty(pse_engine *sequencer)
    size_t pse_engine_save_mailboxes(const pse_engine *sequencer, pse_messaging_saved *rows, size_t limit)
    bint pse_engine_restore_mailbox(pse_engine *sequencer, const pse_messaging_saved *row)
    void pse_engine_traffic(const pse_engine *sequencer, uint64_t *posted, uint64_t *delivered)
    const pse_messaging_wait *pse_engine_waits(const pse_engine *sequencer, size_t *count)
    bint pse_engine_serve(pse_engine *sequencer)
    const void *pse_messaging_services()
    void pse_engine_complete(pse_engine *sequencer, uint64_t copied)
    void pse_engine_pin(pse_engine *sequencer, pse_block *buffer)
    void pse_engine_unpin(pse_engine *sequencer, pse_block *buffer)
    void pse_engine_set_due(pse_engine *sequencer, uint64_t rounds)
    uint64_t pse_engine_rounds(const pse_engine *sequencer)
    int32_t pse_engine_point(const pse_engine *sequencer)
    void pse_engine_take_all(pse_engine *sequencer)
    bint pse_engine_start_at(pse_engine *sequencer, int32_t point, uint64_t rounds)
    void pse_engine_succeed(pse_engine *sequencer, const pse_engine *before)
    const uint64_t *pse_engine_loads(const pse_engine *sequencer)
    void pse_engine_inherit(pse_engine *sequencer, int32_t slot, pse_engine *before, int32_t source)
    void pse_engine_abandon(pse_engine *sequencer)
    uint64_t pse_engine_lend(pse_engine *sequencer, pse_block *buffer)
    pse_block *pse_engine_lent(const pse_engine *sequencer, uint64_t handle)
    int pse_engine_slot_kind(const pse_engine *sequencer, int32_t slot, uint32_t *pieces)
    pse_block *pse_engine_slot_piece(const pse_engine *sequencer, int32_t slot, uint32_t index,
                                        double *real, int64_t *integer, uint16_t *dtype)
    pse_block *pse_engine_make_buffer(pse_engine *sequencer, const pse_layout *layout)
    void pse_engine_set_buffer(pse_engine *sequencer, int32_t slot, pse_block *buffer)
    bint pse_engine_set_pieces(pse_engine *sequencer, int32_t slot, uint32_t count)
    void pse_engine_set_piece(pse_engine *sequencer, int32_t slot, uint32_t index, pse_block *buffer,
                                 const double *real, int64_t integer, uint16_t dtype)
    void pse_engine_skip(pse_engine *sequencer, uint32_t loop, uint64_t iterations)
    size_t pse_engine_outbox(pse_engine *sequencer, pse_outgoing **out)
    void pse_engine_sent(pse_engine *sequencer, pse_block *buffer)
    pse_block *pse_engine_receive_buffer(pse_engine *sequencer, const pse_layout *layout,
                                            const pse_message *message)
    void pse_engine_deliver(pse_engine *sequencer, const pse_message *message)
