#include "state/arithmetic.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "abi_plan.h"

static double as_real(pse_engine_number n)
{
    return n.kind == PSE_NUMBER_INTEGER ? (double)n.integer : n.real;
}

static double complex as_complex(pse_engine_number n)
{
    return CMPLX(as_real(n), n.kind == PSE_NUMBER_COMPLEX ? n.imaginary : 0);
}

static pse_engine_number from_integer(int64_t integer)
{
    return (pse_engine_number){.kind = PSE_NUMBER_INTEGER, .integer = integer};
}

static pse_engine_number from_real(double real)
{
    return (pse_engine_number){.kind = PSE_NUMBER_REAL, .real = real};
}

static pse_engine_number from_complex(double complex z)
{
    return (pse_engine_number){.kind = PSE_NUMBER_COMPLEX, .real = creal(z), .imaginary = cimag(z)};
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
        if (b == 0 || (a == INT64_MIN && b == -1))
            return false;
        result = floor_divide(a, b);
        break;
    case PSE_TERM_MODULO:
        if (b == 0)
            return false;
        result = b == -1 ? 0 : a - floor_divide(a, b) * b; /* The least integer has no quotient by -1. */
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

/* Division by zero gives what is not finite. */
static bool complex_binary(int kind, double complex a, double complex b, pse_engine_number *out)
{
    double complex result;
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
    default:
        result = b == 0 ? 1 : cpow(a, b);
        break;
    }
    *out = from_complex(result);
    return isfinite(creal(result)) && isfinite(cimag(result));
}

static bool compare_by(int kind, bool less, bool equal, bool greater)
{
    switch (kind) {
    case PSE_TERM_LESS:
        return less;
    case PSE_TERM_LESS_EQUAL:
        return less || equal;
    case PSE_TERM_GREATER:
        return greater;
    case PSE_TERM_GREATER_EQUAL:
        return greater || equal;
    case PSE_TERM_EQUAL:
        return equal;
    default:
        return !equal;
    }
}

static bool compare_integers(int kind, int64_t a, int64_t b)
{
    return compare_by(kind, a<b, a == b, a> b);
}

static bool compare(int kind, pse_engine_number a, pse_engine_number b)
{
    if (a.kind == PSE_NUMBER_TEXT)
        return compare_integers(kind, strcmp(a.text, b.text), 0);
    if (a.kind == PSE_NUMBER_COMPLEX || b.kind == PSE_NUMBER_COMPLEX)
        return (as_complex(a) == as_complex(b)) == (kind == PSE_TERM_EQUAL);
    if (a.kind == PSE_NUMBER_INTEGER && b.kind == PSE_NUMBER_INTEGER)
        return compare_integers(kind, a.integer, b.integer);
    const double x = as_real(a), y = as_real(b);
    return compare_by(kind, x<y, x == y, x> y);
}

bool pse_engine_number_truth(pse_engine_number n)
{
    return n.kind == PSE_NUMBER_INTEGER ? n.integer != 0 : n.real != 0;
}

bool pse_engine_number_binary(int kind, pse_engine_number a, pse_engine_number b, pse_engine_number *out)
{
    if (kind >= PSE_TERM_LESS && kind <= PSE_TERM_NOT_EQUAL) {
        *out = from_integer(compare(kind, a, b));
        return true;
    }
    if (kind == PSE_TERM_AND || kind == PSE_TERM_OR) {
        *out = from_integer(kind == PSE_TERM_AND ? pse_engine_number_truth(a) && pse_engine_number_truth(b)
                                                 : pse_engine_number_truth(a) || pse_engine_number_truth(b));
        return true;
    }
    if (a.kind == PSE_NUMBER_COMPLEX || b.kind == PSE_NUMBER_COMPLEX)
        return complex_binary(kind, as_complex(a), as_complex(b), out);
    if (a.kind == PSE_NUMBER_INTEGER && b.kind == PSE_NUMBER_INTEGER)
        return integer_binary(kind, a.integer, b.integer, out);
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
    return isfinite(out->real);
}

static bool stays_whole(int kind)
{
    return kind == PSE_TERM_NEGATE || kind == PSE_TERM_ABSOLUTE || kind == PSE_TERM_FLOOR ||
           kind == PSE_TERM_CEILING || kind == PSE_TERM_TO_INTEGER;
}

bool pse_engine_number_unary(int kind, pse_engine_number a, pse_engine_number *out)
{
    if (kind == PSE_TERM_NOT) {
        *out = from_integer(!pse_engine_number_truth(a));
        return true;
    }
    if (a.kind == PSE_NUMBER_INTEGER && stays_whole(kind))
        return integer_unary(kind, a.integer, out);
    if (a.kind == PSE_NUMBER_COMPLEX && kind == PSE_TERM_NEGATE) {
        *out = from_complex(-as_complex(a));
        return true;
    }
    if (a.kind == PSE_NUMBER_COMPLEX) /* There is nothing else but the absolute value. */
        a.real = cabs(as_complex(a));
    return real_unary(kind, as_real(a), out);
}
