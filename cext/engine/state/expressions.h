/* Scalar expressions and strings: postfix terms on a small stack.  What has no value (`arithmetic.h`) and a
 * string that is too long make them fail; the engine's `no_value` says what. */
#ifndef PSE_ENGINE_EXPRESSIONS_H
#define PSE_ENGINE_EXPRESSIONS_H

#include "engine.h"
#include "state/value.h"

/* What has no value: an operation (`kind` is its PSE_TERM_*; one operand is both `left` and `right`), a
 * string that is too long (JOIN), an extent below 0 (EXTENT). */
typedef struct pse_engine_no_value {
    int kind;
    pse_engine_value left, right;
} pse_engine_no_value;

bool pse_engine_evaluate(pse_context *context, pse_engine *s, int32_t expression, pse_engine_value *out);
/* The same for an expression that may be a string, which is a buffer in `*out`. */
bool pse_engine_evaluate_any(pse_context *context, pse_engine *s, int32_t expression, pse_engine_value *out);
bool pse_engine_evaluate_integer(pse_context *context, pse_engine *s, int32_t expression, int64_t *out);

/* Whether an array can have this extent; else the engine's `no_value` says which it is. */
bool pse_engine_extent_has_value(pse_engine *s, int64_t extent);

/* Whether all slots that the expression reads have their values. */
bool pse_engine_expression_ready(pse_context *context, const pse_engine *s, int32_t expression);

#endif
