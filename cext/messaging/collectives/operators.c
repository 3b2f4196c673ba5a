#include "collectives/operators.h"
#include "abi_elements.h"

#include <complex.h>
#include <math.h>

uint32_t pse_messaging_type_bytes(uint32_t type)
{
    static const uint8_t sizes[] = {
#define X(name, ctype) [COVEN_##name] = sizeof(ctype),
        PSE_ELEMENTS(X)
#undef X
    };
    return type < sizeof sizes ? sizes[type] : 0;
}

bool pse_messaging_operation_fits(uint32_t op, uint32_t type)
{
    bool complex_type = type == COVEN_C64 || type == COVEN_C128;
    if (op < COVEN_SUM || op > COVEN_HYPOT || type == COVEN_BYTE)
        return false;
    if (op == COVEN_HYPOT)
        return type == COVEN_F32 || type == COVEN_F64;
    return !complex_type || op == COVEN_SUM || op == COVEN_PROD;
}

#define LOOP(T, EXPRESSION)                                                                                  \
    for (uint64_t i = 0; i < count; i++) {                                                                   \
        const T a = ((const T *)left)[i], b = ((const T *)right)[i];                                         \
        ((T *)into)[i] = (T)(EXPRESSION);                                                                    \
    }                                                                                                        \
    break;

/* A NaN stays, whichever side it is on, as in NumPy: C's hypot drops it beside an infinity. */
#define REAL_CASES(T)                                                                                        \
    switch (op) {                                                                                            \
    case COVEN_SUM:                                                                                          \
        LOOP(T, a + b)                                                                                       \
    case COVEN_PROD:                                                                                         \
        LOOP(T, a * b)                                                                                       \
    case COVEN_MIN:                                                                                          \
        LOOP(T, isnan(a) || a < b ? a : b)                                                                   \
    case COVEN_MAX:                                                                                          \
        LOOP(T, isnan(a) || a > b ? a : b)                                                                   \
    case COVEN_ALL:                                                                                          \
        LOOP(T, a != 0 && b != 0)                                                                            \
    case COVEN_HYPOT:                                                                                        \
        LOOP(T, isnan(a) || isnan(b) ? a + b : hypot(a, b))                                                  \
    default:                                                                                                 \
        LOOP(T, a != 0 || b != 0)                                                                            \
    }

/* Sums and products wrap around: they are done without sign. */
#define INTEGER_CASES(T, WRAPPING)                                                                           \
    switch (op) {                                                                                            \
    case COVEN_SUM:                                                                                          \
        LOOP(T, (WRAPPING)a + (WRAPPING)b)                                                                   \
    case COVEN_PROD:                                                                                         \
        LOOP(T, (WRAPPING)a * (WRAPPING)b)                                                                   \
    case COVEN_MIN:                                                                                          \
        LOOP(T, a < b ? a : b)                                                                               \
    case COVEN_MAX:                                                                                          \
        LOOP(T, a > b ? a : b)                                                                               \
    case COVEN_ALL:                                                                                          \
        LOOP(T, a != 0 && b != 0)                                                                            \
    default:                                                                                                 \
        LOOP(T, a != 0 || b != 0)                                                                            \
    }

#define COMPLEX_CASES(T)                                                                                     \
    switch (op) {                                                                                            \
    case COVEN_SUM:                                                                                          \
        LOOP(T, a + b)                                                                                       \
    default:                                                                                                 \
        LOOP(T, a * b)                                                                                       \
    }

static void operate_on_floats(uint32_t op, uint32_t type, const void *left, const void *right, void *into,
                              uint64_t count)
{
    if (type == COVEN_F32) {
        REAL_CASES(float)
    } else {
        REAL_CASES(double)
    }
}

static void operate_on_complex(uint32_t op, uint32_t type, const void *left, const void *right, void *into,
                               uint64_t count)
{
    if (type == COVEN_C64) {
        COMPLEX_CASES(float complex)
    } else {
        COMPLEX_CASES(double complex)
    }
}

static void operate_on_integers(uint32_t op, uint32_t type, const void *left, const void *right, void *into,
                                uint64_t count)
{
    if (type == COVEN_I32) {
        INTEGER_CASES(int32_t, uint32_t)
    } else if (type == COVEN_I64) {
        INTEGER_CASES(int64_t, uint64_t)
    } else if (type == COVEN_U16) {
        INTEGER_CASES(uint16_t, uint32_t)
    } else {
        INTEGER_CASES(uint8_t, uint32_t)
    }
}

static void operate_on_bools(uint32_t op, const void *left, const void *right, void *into, uint64_t count)
{
    bool both = op == COVEN_PROD || op == COVEN_MIN || op == COVEN_ALL;
    for (uint64_t i = 0; i < count; i++) {
        bool a = ((const uint8_t *)left)[i] != 0, b = ((const uint8_t *)right)[i] != 0;
        ((uint8_t *)into)[i] = both ? a && b : a || b;
    }
}

void pse_messaging_combine(const coven_collective *what, const void *left, const void *right, void *into,
                           uint64_t count)
{
    uint32_t op = what->op, type = what->type;
    if (what->function != NULL)
        what->function(left, right, into, count);
    else if (what->closure != NULL)
        what->closure(what->context, left, right, into, count);
    else if (type == COVEN_BOOL)
        operate_on_bools(op, left, right, into, count);
    else if (type == COVEN_F32 || type == COVEN_F64)
        operate_on_floats(op, type, left, right, into, count);
    else if (type == COVEN_C64 || type == COVEN_C128)
        operate_on_complex(op, type, left, right, into, count);
    else
        operate_on_integers(op, type, left, right, into, count);
}
