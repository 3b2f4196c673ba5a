/* `-o check=nan`: whether what a call has made holds a NaN or an infinity. */
#ifndef PSE_ENGINE_FINITE_CHECK_H
#define PSE_ENGINE_FINITE_CHECK_H

#include "engine.h"

typedef struct pse_engine_finite_check {
    bool on;
    int32_t slot;  /* NOT_FINITE: what holds such a value, */
    int64_t index; /* at which element in the order of its axes (-1: it is a scalar), */
    double value;  /* and the value. */
} pse_engine_finite_check;

/* Look at all outputs of a call that has ended; on false its state says what was found. */
bool pse_engine_outputs_are_finite(pse_engine *s, pse_context *context, const pse_call *call);

#endif
