#include "state/expressions.h"

#include <math.h>

#include "state/engine_state.h"
#include "state/slots.h"

#define STACK_SIZE 64

typedef struct pse_engine_number {
    bool real;
    int64_t i;
    double f;
} pse_engine_number;

static double as_real(pse_engine_number n)
{
    return n.real ? n.f : (double)n.i;
}

static pse_engine_number from_integer(int64_t i)
{
    return (pse_engine_number){.real = false, .i = i};
}

static pse_engine_number from_real(double f)
{
    return (pse_engine_number){.real = true, .f = f};
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    int64_t quotient = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

static bool integer_power(int64_t base, int64_t exponent, int64_t *out)
{
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return false;
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
            return false;
    }
    *out = result;
    return true;
}

static bool integer_binary(int kind, int64_t a, int64_t b, pse_engine_number *out)
{
    int64_t result = 0;
    bool fine = true;
    switch (kind) {
    case PSE_TERM_ADD:
        fine = !__builtin_add_overflow(a, b, &result);
        break;
    case PSE_TERM_SUBTRACT:
        fine = !__builtin_sub_overflow(a, b, &result);
        break;
    case PSE_TERM_MULTIPLY:
        fine = !__builtin_mul_overflow(a, b, &result);
        break;
    case PSE_TERM_DIVIDE:
    case PSE_TERM_MODULO:
        if (b == 0 || (a == INT64_MIN && b == -1))
            return false;
        result = floor_divide(a, b);
        if (kind == PSE_TERM_MODULO)
            result = a - result * b;
        break;
    case PSE_TERM_POWER:
        if (b < 0)
            return false;
        fine = integer_power(a, b, &result);
        break;
    case PSE_TERM_MINIMUM:
        result = a < b ? a : b;
        break;
    default:
        result = a > b ? a : b;
        break;
    }
    *out = from_integer(result);
    return fine;
}

/* The remainder with the sign of the divisor, exact as fmod is. */
static double floor_modulo(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static bool real_binary(int kind, double a, double b, pse_engine_number *out)
{
    double result;
    switch (kind) {
    case PSE_TERM_ADD:
        result = a + b;
        break;
    case PSE_TERM_SUBTRACT:
        result = a - b;
        break;
    case PSE_TERM_MULTIPLY:
        result = a * b;
        break;
    case PSE_TERM_DIVIDE:
        result = a / b;
        break;
    case PSE_TERM_MODULO:
        result = floor_modulo(a, b);
        break;
    case PSE_TERM_POWER:
        result = pow(a, b);
        break;
    case PSE_TERM_MINIMUM:
        result = a < b ? a : b;
        break;
    default:
        result = a > b ? a : b;
        break;
    }
    *out = from_real(result);
    return isfinite(result);
}

static bool compare(int kind, pse_engine_number a, pse_engine_number b)
{
    if (!a.real && !b.real) {
        switch (kind) {
        case PSE_TERM_LESS:
            return a.i < b.i;
        case PSE_TERM_LESS_EQUAL:
            return a.i <= b.i;
        case PSE_TERM_GREATER:
            return a.i > b.i;
        case PSE_TERM_GREATER_EQUAL:
            return a.i >= b.i;
        case PSE_TERM_EQUAL:
            return a.i == b.i;
        default:
            return a.i != b.i;
        }
    }
    double x = as_real(a), y = as_real(b);
    switch (kind) {
    case PSE_TERM_LESS:
        return x < y;
    case PSE_TERM_LESS_EQUAL:
        return x <= y;
    case PSE_TERM_GREATER:
        return x > y;
    case PSE_TERM_GREATER_EQUAL:
        return x >= y;
    case PSE_TERM_EQUAL:
        return x == y;
    default:
        return x != y;
    }
}

static bool truth(pse_engine_number n)
{
    return n.real ? n.f != 0 : n.i != 0;
}

static bool binary(int kind, pse_engine_number a, pse_engine_number b, pse_engine_number *out)
{
    if (kind >= PSE_TERM_LESS && kind <= PSE_TERM_NOT_EQUAL) {
        *out = from_integer(compare(kind, a, b));
        return true;
    }
    if (kind == PSE_TERM_AND || kind == PSE_TERM_OR) {
        *out = from_integer(kind == PSE_TERM_AND ? truth(a) && truth(b) : truth(a) || truth(b));
        return true;
    }
    if (!a.real && !b.real)
        return integer_binary(kind, a.i, b.i, out);
    return real_binary(kind, as_real(a), as_real(b), out);
}

static bool to_integer(double x, pse_engine_number *out)
{
    if (!(x >= -0x1p63 && x < 0x1p63))
        return false;
    *out = from_integer((int64_t)x);
    return true;
}

/* Whole numbers need no rounding; their negative or absolute value may not exist. */
static bool integer_unary(int kind, int64_t a, pse_engine_number *out)
{
    bool negate = kind == PSE_TERM_NEGATE || (kind == PSE_TERM_ABSOLUTE && a < 0);
    if (negate && a == INT64_MIN)
        return false;
    *out = from_integer(negate ? -a : a);
    return true;
}

static bool real_unary(int kind, double x, pse_engine_number *out)
{
    switch (kind) {
    case PSE_TERM_NEGATE:
        *out = from_real(-x);
        break;
    case PSE_TERM_ABSOLUTE:
        *out = from_real(fabs(x));
        break;
    case PSE_TERM_SQUARE_ROOT:
        *out = from_real(sqrt(x));
        break;
    case PSE_TERM_LOG2:
        *out = from_real(log2(x));
        break;
    case PSE_TERM_FLOOR:
        return to_integer(floor(x), out);
    case PSE_TERM_CEILING:
        return to_integer(ceil(x), out);
    case PSE_TERM_TO_INTEGER:
        return to_integer(trunc(x), out);
    default:
        *out = from_real(x);
    }
    return isfinite(out->f);
}

static bool stays_whole(int kind)
{
    return kind == PSE_TERM_NEGATE || kind == PSE_TERM_ABSOLUTE || kind == PSE_TERM_FLOOR ||
           kind == PSE_TERM_CEILING || kind == PSE_TERM_TO_INTEGER;
}

static bool unary(int kind, pse_engine_number a, pse_engine_number *out)
{
    if (kind == PSE_TERM_NOT) {
        *out = from_integer(!truth(a));
        return true;
    }
    if (!a.real && stays_whole(kind))
        return integer_unary(kind, a.i, out);
    return real_unary(kind, as_real(a), out);
}

static bool load(pse_context *context, const pse_term *term, pse_engine_number *out)
{
    pse_engine_value *v;
    switch (term->kind) {
    case PSE_TERM_INTEGER:
        *out = from_integer(term->value.integer);
        return true;
    case PSE_TERM_REAL:
        *out = from_real(term->value.real);
        return true;
    case PSE_TERM_EXTENT:
        v = pse_engine_slot_read(context, term->slot);
        *out = from_integer(v->state == VALUE_BUFFER ? v->as.buffer->layout.shape[term->axis] : 0);
        return v->state == VALUE_BUFFER;
    default:
        v = pse_engine_slot_read(context, term->slot);
        *out = v->dtype == PSE_I64 ? from_integer(v->as.integer) : from_real(v->as.real[0]);
        return v->state == VALUE_SCALAR;
    }
}

static bool is_load(int kind)
{
    return kind <= PSE_TERM_EXTENT;
}

static bool is_binary(int kind)
{
    return kind >= PSE_TERM_ADD && kind <= PSE_TERM_MAXIMUM;
}

static bool is_skip(int kind)
{
    return kind == PSE_TERM_SKIP_UNLESS || kind == PSE_TERM_SKIP_WHEN;
}

/* `and` and `or` leave out what can't change them: gives how many terms to pass over. */
static int32_t skipped(const pse_term *term, pse_engine_number *top)
{
    bool when = term->kind == PSE_TERM_SKIP_WHEN;
    if (truth(*top) != when)
        return 0;
    *top = from_integer(when);
    return term->slot;
}

static bool apply(pse_context *context, const pse_term *term, pse_engine_number *stack, int *top)
{
    if (is_load(term->kind))
        return *top < STACK_SIZE && load(context, term, &stack[(*top)++]);
    if (!is_binary(term->kind))
        return unary(term->kind, stack[*top - 1], &stack[*top - 1]);
    (*top)--;
    return binary(term->kind, stack[*top - 1], stack[*top], &stack[*top - 1]);
}

bool pse_engine_evaluate(pse_context *context, const pse_engine *s, int32_t expression, pse_engine_value *out)
{
    const pse_expression *range = &s->plan->expressions[expression];
    const pse_term *terms = &s->plan->terms[range->first];
    pse_engine_number stack[STACK_SIZE];
    int top = 0;
    for (int32_t i = 0; i < range->count; i++) {
        if (is_skip(terms[i].kind))
            i += skipped(&terms[i], &stack[top - 1]);
        else if (!apply(context, &terms[i], stack, &top))
            return false;
    }
    if (stack[0].real)
        pse_engine_value_set_real(out, stack[0].f);
    else
        pse_engine_value_set_integer(out, stack[0].i);
    return true;
}

bool pse_engine_evaluate_integer(pse_context *context, const pse_engine *s, int32_t expression, int64_t *out)
{
    const pse_expression *range = &s->plan->expressions[expression];
    const pse_term *term = &s->plan->terms[range->first];
    if (range->count == 1 && term->kind == PSE_TERM_INTEGER) {
        *out = term->value.integer;
        return true;
    }
    pse_engine_value result;
    if (!pse_engine_evaluate(context, s, expression, &result))
        return false;
    *out = result.dtype == PSE_I64 ? result.as.integer : (int64_t)result.as.real[0];
    return true;
}

/* Whether all slots that the expression reads have their values. */
bool pse_engine_expression_ready(pse_context *context, const pse_engine *s, int32_t expression)
{
    const pse_expression *range = &s->plan->expressions[expression];
    const pse_term *term = &s->plan->terms[range->first];
    for (int32_t i = 0; i < range->count; i++, term++)
        if ((term->kind == PSE_TERM_SLOT || term->kind == PSE_TERM_EXTENT) &&
            pse_engine_slot_read(context, term->slot)->state == VALUE_AWAITED)
            return false;
    return true;
}
