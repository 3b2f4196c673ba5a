/* Numbers of the language as strings: the same characters that Python's str() gives. */
#ifndef PSE_ENGINE_NUMBER_TEXT_H
#define PSE_ENGINE_NUMBER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

enum { PSE_NUMBER_TEXT_BYTES = 80 }; /* for any number */

/* The shortest decimal that is read back as `x`; `point`: a whole number gets ".0". */
void pse_engine_number_real_text(double x, bool point, char *out);
void pse_engine_number_complex_text(double real, double imaginary, char *out);

#endif
