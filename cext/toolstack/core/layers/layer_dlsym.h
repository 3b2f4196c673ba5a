/* A tool's own dlsym: it finds PMPI_x in the layer below. */
#ifndef PSE_TOOLSTACK_LAYER_DLSYM_H
#define PSE_TOOLSTACK_LAYER_DLSYM_H

#include "layers/layer.h"

/* In assembly, for a thunk whose data is the layer: asks pse_toolstack_dlsym, and goes on to the system's
 * dlsym where that gives NULL, with the registers that the caller has set. */
void pse_toolstack_dlsym_entry(void);
void *pse_toolstack_dlsym(void *handle, const char *name, struct tool_layer *layer);

#endif
