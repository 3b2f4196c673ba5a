/* What expressions calculate with: integers stay integers; overflow, division by zero and arguments outside a
 * function's domain make an operation fail. */
#ifndef PSE_ENGINE_ARITHMETIC_H
#define PSE_ENGINE_ARITHMETIC_H

#include <stdbool.h>
#include <stdint.h>

enum pse_number_kind { PSE_NUMBER_INTEGER, PSE_NUMBER_REAL, PSE_NUMBER_COMPLEX, PSE_NUMBER_TEXT };

typedef struct pse_engine_number {
    enum pse_number_kind kind;
    int64_t integer;
    double real, imaginary;
    char *text; /* TEXT: UTF-8, from malloc */
} pse_engine_number;

/* `kind` is a PSE_TERM_*.  Strings can only be compared with each other. */
bool pse_engine_number_binary(int kind, pse_engine_number a, pse_engine_number b, pse_engine_number *out);
bool pse_engine_number_unary(int kind, pse_engine_number a, pse_engine_number *out);
bool pse_engine_number_truth(pse_engine_number n);

#endif
