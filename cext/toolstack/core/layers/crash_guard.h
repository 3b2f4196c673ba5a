/* Steps that run a tool's own code before MPI starts: a crash there names the tool.
 *
 * A tool that must be there takes the process with it, after a word of which tool it was.  A tool that is
 * optional is tried in a child process first, with its output thrown away, and left out if the child doesn't
 * live.
 */
#ifndef PSE_TOOLSTACK_CRASH_GUARD_H
#define PSE_TOOLSTACK_CRASH_GUARD_H

#include <signal.h>

#include "layers/layer.h"

enum { PSE_CRASH_SIGNALS = 6 };

/* What the signals of crashes did before they were watched. */
struct signal_state {
    stack_t stack;
    struct sigaction action[PSE_CRASH_SIGNALS];
};

void pse_toolstack_watch_signals(struct signal_state *before, const struct sigaction *action);
void pse_toolstack_restore_signals(const struct signal_state *before);

/* Run one of a tool's own steps.  NULL, or why the layer refuses; for an optional one also what happened to
 * the child. */
const char *pse_toolstack_guarded(struct tool_layer *layer, const char *step,
                                  const char *(*run)(struct tool_layer *));
/* The same without a child process, for a step that may not be taken twice. */
const char *pse_toolstack_run_guarded(struct tool_layer *layer, const char *step,
                                      const char *(*run)(struct tool_layer *));

#endif
