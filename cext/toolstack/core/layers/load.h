/* Loading a tool's file, as a private copy where that is needed, and running its initialisation functions.
 *
 * One file that is loaded twice is one object with one set of imports, so every instance after the first is
 * loaded from a copy in memory.  So is a tool with initialisation functions of its own: they may look up or
 * copy addresses of PMPI_x, so they must not run before the tool is bound.  In the copy their number is 0,
 * and the stack calls them.
 */
#ifndef PSE_TOOLSTACK_LOAD_H
#define PSE_TOOLSTACK_LOAD_H

#include "layers/layer.h"

/* Load a layer's file; NULL, or what is wrong.  Its initialisation functions may be left for
 * pse_toolstack_initialise_layer. */
const char *pse_toolstack_load_layer(struct tool_layer *layer);
void pse_toolstack_initialise_layer(struct tool_layer *layer);

#endif
