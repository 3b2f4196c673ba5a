/* Scalar expressions and strings: postfix terms on a small stack.  What has no value (`arithmetic.h`) and a
 * string that is too long make them fail. */
#ifndef PSE_ENGINE_EXPRESSIONS_H
#define PSE_ENGINE_EXPRESSIONS_H

#include "engine.h"
#include "state/value.h"

bool pse_engine_evaluate(pse_context *context, const pse_engine *s, int32_t expression,
                         pse_engine_value *out);
/* The same for an expression that may be a string, which is a buffer in `*out`. */
bool pse_engine_evaluate_any(pse_context *context, pse_engine *s, int32_t expression, pse_engine_value *out);
bool pse_engine_evaluate_integer(pse_context *context, const pse_engine *s, int32_t expression, int64_t *out);

/* Whether all slots that the expression reads have their values. */
bool pse_engine_expression_ready(pse_context *context, const pse_engine *s, int32_t expression);

#endif
