/* Scalar expressions: postfix terms on a small stack.  Integers stay integers; overflow, division by zero and
 * arguments outside a function's domain make them fail. */
#ifndef PSE_ENGINE_EXPRESSIONS_H
#define PSE_ENGINE_EXPRESSIONS_H

#include "engine.h"
#include "state/value.h"

bool pse_engine_evaluate(pse_context *context, const pse_engine *s, int32_t expression,
                         pse_engine_value *out);
bool pse_engine_evaluate_integer(pse_context *context, const pse_engine *s, int32_t expression, int64_t *out);

/* Whether all slots that the expression reads have their values. */
bool pse_engine_expression_ready(pse_context *context, const pse_engine *s, int32_t expression);

#endif
