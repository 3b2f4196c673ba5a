/* Steps that run a tool's own code before MPI starts: a crash there names the tool.
 *
 * A tool that must be there takes the process with it, after a word of which tool it was.  A tool that is
 * optional is tried in a child process first, with its output thrown away, and left out if the child doesn't
 * live.
 */
#ifndef PSE_TOOLSTACK_CRASH_GUARD_H
#define PSE_TOOLSTACK_CRASH_GUARD_H

#include "layers/layer.h"

/* Run one of a tool's own steps.  NULL, or why the layer refuses; for an optional one also what happened to
 * the child. */
const char *pse_toolstack_guarded(struct tool_layer *layer, const char *step,
                                  const char *(*run)(struct tool_layer *));

#endif
