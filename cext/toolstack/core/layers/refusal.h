/* What happens when a tool, or the whole stack, can't be had. */
#ifndef PSE_TOOLSTACK_REFUSAL_H
#define PSE_TOOLSTACK_REFUSAL_H

#include <stdbool.h>

#include "layers/layer.h"

#pragma GCC visibility push(hidden)

extern bool pse_toolstack_held;           /* the stubs lead to the library until pse_toolstack_publish */
extern char pse_toolstack_obstacle[1536]; /* why a stack that is held can't be */

/* End the process; a stack that is held is only given up. */
void pse_toolstack_give_up(bool everywhere, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Leave a tool out if it is optional, else give up, with the line of the configuration. */
void pse_toolstack_refuse(struct tool_layer *layer, bool everywhere, const char *why);

#pragma GCC visibility pop

#endif
