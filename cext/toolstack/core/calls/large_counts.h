/* Large counts: the archive's half of the shims.  What follows from mpi.h is generated
 * (pse/toolstack/_shims.py).
 *
 * A layer gets a shim for X_c where its tool defines X alone.  Arrays that were converted for a call which
 * MPI goes on with after the return are kept until the request is complete; the layer's completion routines
 * are watched for that. The list of kept arrays has a lock of its own, under which nothing is called.
 */
#ifndef PSE_TOOLSTACK_LARGE_COUNTS_H
#define PSE_TOOLSTACK_LARGE_COUNTS_H

#include <stdbool.h>

#include "pse_tools.h"

/* Put a shim wherever a layer knows X but not X_c; false if memory was short.  `*lasting` is set if
 * completions have to be watched for it. */
bool pse_toolstack_add_shims(pse_function *entry, const pse_function *below, bool *lasting);
bool pse_toolstack_watch_completions(pse_function *entry);

#endif
