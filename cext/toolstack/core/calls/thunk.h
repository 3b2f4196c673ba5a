/* Closures: small functions made at run time that load a register and jump.
 *
 * A block is two mappings side by side: a page of code, written once and then never writable again, and a
 * page of struct call_thunk that the code reads.  Thunk number k reads slot number k, so all of the code is
 * the same 16 bytes.
 */
#ifndef PSE_TOOLSTACK_THUNK_H
#define PSE_TOOLSTACK_THUNK_H

#include "pse_tools.h"

struct call_thunk {
    pse_function target;
    void *data;
};

/* Make a function that jumps to `target` with all argument registers and the stack untouched, and the address
 * of its struct call_thunk in r10 (x86-64) or x17 (aarch64).  NULL if there is no memory.  It lives until the
 * process ends. */
pse_function pse_toolstack_make_thunk(pse_function target, void *data);

#endif
