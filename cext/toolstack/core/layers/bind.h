/* Binding: a tool's imports of MPI routines are pointed at the layer below. */
#ifndef PSE_TOOLSTACK_BIND_H
#define PSE_TOOLSTACK_BIND_H

#include "layers/layer.h"

/* Bind a layer above `entry`, which is changed; there is room for two more tables behind it.  NULL, or why
 * not. */
const char *pse_toolstack_bind_layer(struct tool_layer *layer, pse_function *entry);

#endif
