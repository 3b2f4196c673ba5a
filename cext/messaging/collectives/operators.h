/* Element types, and the operations of reductions: into = left op right, element by element. */
#ifndef PSE_MESSAGING_OPERATORS_H
#define PSE_MESSAGING_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "coven.h"

uint32_t pse_messaging_type_bytes(uint32_t type); /* 0: not a type */
bool pse_messaging_operation_fits(uint32_t op, uint32_t type);
void pse_messaging_combine(const coven_collective *what, const void *left, const void *right, void *into,
                           uint64_t count);

#endif
