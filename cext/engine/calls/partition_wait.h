/* Calls whose partition rests: the engine's side of messages among partitions (room `messaging`).
 *
 * A module may post sends, receives and collectives.  If any of them is not complete when it returns, the
 * call is *parked*: its outputs and scalars stay where the module knows them, its context is blocked until
 * all is complete, then the call goes on as if the module had returned only now.
 */
#ifndef PSE_ENGINE_PARTITION_WAIT_H
#define PSE_ENGINE_PARTITION_WAIT_H

#include "engine.h"
#include "messaging.h"

#define PSE_MAX_ARGUMENTS 64

typedef union pse_engine_argument_value {
    int64_t i64;
    int32_t i32;
    float f32;
    double f64;
    double c128[2];
    float c64[2];
    uint8_t u8;
    uint16_t u16;
} pse_engine_argument_value;

/* What a call needs until it is complete: scalars as the module sees them, the arrays made for it, what it
 * posted. */
typedef struct pse_engine_frame {
    struct pse_engine_frame *next;
    pse_messaging_visit visit;
    pse_block *made[PSE_MAX_ARGUMENTS];
    pse_engine_argument_value scalars[PSE_MAX_ARGUMENTS];
} pse_engine_frame;

typedef struct pse_engine_partition_wait {
    pse_engine_frame *frame, *spare_frames; /* of the call under way; for the next ones */
} pse_engine_partition_wait;

bool pse_engine_messaging_create(pse_engine *s); /* false: no memory */
/* The messaging's part of a round of the loop: true if the run can't go on. */
bool pse_engine_messaging_step(pse_engine *s);
/* A borrowed block has done its service. */
void pse_engine_borrowed_sent(pse_engine *s, pse_block *block);

pse_engine_frame *pse_engine_frame_take(pse_engine *s); /* NULL: no memory */
void pse_engine_frames_destroy(pse_engine *s);

/* The module of a call runs from here to module_leave.  False: no memory. */
bool pse_engine_module_enter(pse_engine *s, pse_context *context, const pse_call *call);
void pse_engine_module_leave(pse_engine *s, pse_context *context, const pse_call *call, uint64_t copied);

/* Park the call if anything it posted is not complete; it goes on with `made`, to which a module may have
 * added since it parked before, and the frame as they are. */
bool pse_engine_call_parks(pse_engine *s, pse_context *context, const pse_call *call);
/* Whether a parked call may go on; its outputs are at hand then. */
bool pse_engine_call_wakes(pse_engine *s, pse_context *context, const pse_call *call);
void pse_engine_call_unpark(pse_engine *s, pse_context *context);

#endif
