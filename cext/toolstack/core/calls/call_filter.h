/* Filters by call: layers that see some communicators, or some of the time, only.
 *
 * A filter is a thunk before the layer's own function; it looks at each call and sends it into the layer or
 * around it.  A layer without such filters has none.
 */
#ifndef PSE_TOOLSTACK_CALL_FILTER_H
#define PSE_TOOLSTACK_CALL_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "pse_tools.h"

struct call_filter;

/* Put a filter before each routine that a layer's communicators and times concern; false if memory was short.
 */
bool pse_toolstack_add_call_filters(const struct tool_spec *spec, pse_function *entry,
                                    const pse_function *below);
/* Where a call goes: called from assembly with the saved registers and what the caller has pushed. */
pse_function pse_toolstack_filter_decide(const struct call_filter *filter, const uint64_t *registers,
                                         const uint64_t *stack);

#endif
