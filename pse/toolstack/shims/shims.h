/* What the generated code for one MPI library (pse/toolstack/_shims.py) and the stack's archive know of each
 * other.
 *
 * A shim stands in a layer for a large-count routine X_c that the layer's tool doesn't know, where the tool
 * knows X: it calls the tool's X if all counts fit an int, else the next lower X_c.  There is one C function
 * for each X_c; a thunk for each layer says which layer it works for, through `pse_toolstack_shim`.
 */
#ifndef PSE_TOOLSTACK_SHIMS_H
#define PSE_TOOLSTACK_SHIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "pse_tools.h"

#pragma GCC visibility push(hidden)

struct routine_signature {
    const char *name;
    const char *letters; /* result, then parameters: i int, l 64 bits, p pointer, d double, v nothing */
    int communicator;    /* index of the parameter that the routine works on; -1: it has none */
    pse_function shim;   /* X_c only */
    bool lasting;        /* the shim's arrays must live until the request is complete */
};

/* Sorted by name.  Absent (NULL) where no mpi.h was found for the library. */
extern const struct routine_signature pse_toolstack_signatures[] __attribute__((weak));
extern const int pse_toolstack_signature_count __attribute__((weak));

/* MPI's constants: 0 world, 1 self, 2 no communicator. */
uint64_t pse_toolstack_communicator_constant(int which) __attribute__((weak));

/* Routines that complete requests, with what frees the arrays of shims; ends with a name that is NULL. */
struct shim_completion {
    const char *name;
    pse_function function;
};
extern const struct shim_completion pse_toolstack_completions[] __attribute__((weak));

/* Of the archive: */

struct layer_shim {        /* one routine in one layer */
    pse_function function; /* first: the entry in assembly jumps there */
    pse_function upper;    /* the layer's own X; for completions NULL */
    pse_function below;    /* the next lower X_c; for completions the routine itself */
};

/* Whose shim is being called; read it before anything else. */
extern __thread const struct layer_shim *pse_toolstack_shim __attribute__((tls_model("initial-exec")));

/* MPI's own routine ("MPI_Comm_size"), and any other symbol of its library. */
pse_function pse_toolstack_library_function(const char *routine);
void *pse_toolstack_library_symbol(const char *name);

struct narrowed_call { /* the arguments of one call on their way to int */
    bool refused;      /* one doesn't fit */
    struct narrowed_array *copies;
};

static inline int pse_toolstack_int(struct narrowed_call *narrow, int64_t value)
{
    narrow->refused |= value != (int)value;
    return (int)value;
}

/* `count` values as ints.  An array that nobody may read (count 0) stays what it is. */
const int *pse_toolstack_ints(struct narrowed_call *narrow, const void *values, int64_t count);
/* The end of a call: free the copies, or keep them until the request `key` is complete. */
void pse_toolstack_narrow_end(struct narrowed_call *narrow);
void pse_toolstack_narrow_keep(struct narrowed_call *narrow, uintptr_t key);
/* How many copies are kept, and the end of those of a request. */
int pse_toolstack_narrow_kept(void);
void pse_toolstack_narrow_release(uintptr_t key);

#pragma GCC visibility pop

#endif
