/* The engine: what is the same for all its parts, and the state of each part.
 *
 * A part's state is for that part's own files; `lifecycle.c` makes and ends what has no functions for that.
 */
#ifndef PSE_ENGINE_STATE_H
#define PSE_ENGINE_STATE_H

#include "board.h"
#include "calls/array_operations.h"
#include "calls/call_accounting.h"
#include "calls/finite_check.h"
#include "calls/margin_check.h"
#include "calls/output_prefix.h"
#include "calls/outputs.h"
#include "calls/partition_wait.h"
#include "deadlock_detection.h"
#include "doorbell.h"
#include "dynamic_rows.h"
#include "engine.h"
#include "pause.h"
#include "state/buffers.h"
#include "state/contexts.h"
#include "state/edge_slots.h"
#include "state/expressions.h"
#include "state/input_protection.h"
#include "transport/collective_order.h"
#include "transport/credits.h"
#include "transport/forwarding.h"
#include "transport/iterations.h"
#include "transport/posting.h"
#include "transport/unexpected.h"
#include "waiting.h"

/* The call that run() returned for, or is about to. */
typedef struct pse_engine_pending_call {
    pse_context *context;
    const pse_call *call;
    int module_code;
} pse_engine_pending_call;

struct pse_engine {
    const pse_plan *plan;
    pse_board *board;
    pse_slot *self;
    pse_arena *arena;
    char *arena_base;
    pse_recorder *recorder;
    pse_messaging *messaging;
    bool out_of_memory;  /* something could not be kept: the run can't go on */
    bool released_twice; /* a buffer was released that nobody held: the run can't go on */

    pse_engine_pending_call pending;
    pse_engine_waiting waiting;
    pse_engine_contexts contexts;
    pse_engine_credits credits;
    pse_engine_posting posting;
    pse_engine_outputs outputs;
    pse_engine_accounting accounting;
    pse_engine_buffers buffers;
    pse_engine_inputs inputs;
    pse_engine_edge_slots edge_slots;
    pse_engine_unexpected unexpected;
    pse_engine_forwarding forwarding;
    pse_engine_collective_order order;
    pse_engine_iterations iterations;
    pse_engine_partition_wait partition_wait;
    pse_engine_deadlock deadlock;
    pse_engine_pause pause;
    pse_engine_unfit_array misfit;
    pse_engine_misfilled_rows misfilled;
    pse_engine_no_value no_value;
    pse_engine_finite_check finite_check;
    pse_engine_margin_check margin_check;
    pse_engine_output_prefix output_prefix;
};

/* What became of an attempt to go on. */
enum pse_engine_progress {
    PROGRESS_BLOCKED,
    PROGRESS_RAN,
    PROGRESS_ENDED,
    PROGRESS_CALLER, /* run() returns *result */
    PROGRESS_PARKED
};

/* Return to the caller, for this call. */
static inline int pse_engine_fail(pse_engine *s, pse_context *context, const pse_call *call, int reason,
                                  int *result)
{
    s->pending.context = context;
    s->pending.call = call;
    *result = reason;
    return PROGRESS_CALLER;
}

static inline pse_block *pse_engine_block_at(const pse_engine *s, pse_handle handle)
{
    return (pse_block *)(s->arena_base + handle);
}

static inline pse_handle pse_engine_buffer_handle(const pse_engine *s, const pse_block *block)
{
    return (pse_handle)((const char *)block - s->arena_base);
}

static inline void *pse_engine_buffer_data(const pse_engine *s, const pse_block *block)
{
    return pse_engine_buffer_is_private(block) ? (char *)(uintptr_t)block->data : s->arena_base + block->data;
}

/* The buffer that a message brings, or NULL. */
static inline pse_block *pse_engine_message_buffer(const pse_engine *s, const pse_message *message)
{
    if (message->kind == PSE_CARRIES_HANDLE)
        return pse_engine_block_at(s, message->value.handle);
    return message->kind == PSE_CARRIES_POINTER ? message->value.pointer : NULL;
}

/* Add to a counter that only this rank writes. */
static inline void pse_engine_count_up(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + amount,
                          memory_order_relaxed);
}

static inline void pse_engine_record(pse_engine *s, uint64_t time, uint16_t type, uint16_t flags,
                                     uint32_t site, uint64_t tph, uint64_t a, uint64_t b, uint64_t c)
{
    if (s->recorder != NULL)
        pse_recorder_add_at(s->recorder, time, type, flags, site, tph, a, b, c);
}

#endif
