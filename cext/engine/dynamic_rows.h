/* Outputs of which a module decides how many rows they have. */
#ifndef PSE_ENGINE_DYNAMIC_ROWS_H
#define PSE_ENGINE_DYNAMIC_ROWS_H

#include "calls/partition_wait.h"
#include "engine.h"
#include "state/buffers.h"
#include "state/value.h"

/* ROWS: how many rows of an output a module says that it has filled, and how many there are. */
typedef struct pse_engine_misfilled_rows {
    int32_t slot;
    int64_t filled, capacity;
    bool overrun; /* what lies behind the last row was overwritten */
} pse_engine_misfilled_rows;

/* Bytes behind an output that tell whether a module has filled more rows than there are. */
uint64_t pse_engine_rows_margin(const pse_engine *s, const pse_argument *argument);
void pse_engine_rows_mark(pse_engine *s, const pse_argument *argument, pse_block *block);
/* Let outputs end behind the rows that a compiled module has filled; false: it can't have. */
bool pse_engine_take_rows(pse_engine *s, const pse_call *call, const pse_engine_argument_value *scalars);
/* The block of an array's rows that goes with a push which cuts them while the program runs. */
pse_engine_row_block pse_engine_rows_of_push(const pse_push *push, const pse_layout *whole);
/* Make the array of a CONCATENATE, as long as all pieces together; 0 or PSE_ARENA_*. */
int pse_engine_make_joined(pse_engine *s, pse_context *context, const pse_call *call);
/* Copy the pieces of a CONCATENATE into it; returns the bytes copied. */
uint64_t pse_engine_join(pse_engine *s, const pse_block *target, const pse_engine_value *pieces);

#endif
