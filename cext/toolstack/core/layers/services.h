/* What a tool is given: arguments, words, services of other tools, the layer below.
 *
 * Tools start from the bottom up, unless one asks for a service that nobody has published: then those that
 * have not started yet are started, until one gives it.  A tool that is asked for something while it waits
 * itself, and publishes it later, is in a circle.
 */
#ifndef PSE_TOOLSTACK_SERVICES_H
#define PSE_TOOLSTACK_SERVICES_H

#include <stdio.h>

#include "layers/layer.h"

/* Fill in layer->tools. */
void pse_toolstack_offer(struct tool_layer *layer);
/* Start a layer's tool, or leave it out. */
void pse_toolstack_start_layer(struct tool_layer *layer);
/* Warn of arguments that the tool hasn't asked for: a misspelt one would go unnoticed. */
void pse_toolstack_warn_of_unasked(const struct tool_layer *layer);
void pse_toolstack_print_services(const struct tool_layer *layer, FILE *to);

#endif
