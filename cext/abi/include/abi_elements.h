/* Made from cext/abi/elements.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_ELEMENTS_H
#define PSE_ABI_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>

#define PSE_MAX_DIMS 8 /* The most axes of an array. */
#define PSE_MAX_TEXT 65536 /* Longest string that an expression may build, in characters. */
#define PSE_SMALLEST_ARENA 262144 /* Bytes that an arena needs at least for its own accounting. */

/* Element types of tags; the value is the name of NumPy's dtype, `label` the spelling in a program. */
enum pse_dtype {
    PSE_BYTE = 0, /* of messages among partitions only */
    PSE_I32 = 1,
    PSE_I64 = 2,
    PSE_F32 = 3,
    PSE_F64 = 4,
    PSE_C64 = 5,
    PSE_C128 = 6,
    PSE_U8 = 7,
    PSE_U16 = 8,
    PSE_BOOL = 9,
    PSE_OBJECT = 10, /* stored as bytes */
};
#define PSE_ELEMENTS(X) \
    X(BYTE, unsigned char) \
    X(I32, int32_t) \
    X(I64, int64_t) \
    X(F32, float) \
    X(F64, double) \
    X(C64, float _Complex) \
    X(C128, double _Complex) \
    X(U8, uint8_t) \
    X(U16, uint16_t) \
    X(BOOL, _Bool)

#endif
