/* What tools keep for handles, and their rings of events.
 *
 * Memory is found by instance, kind and handle, in a table of chains whose locks are held for a few loads
 * only.
 */
#ifndef PSE_TOOLSTACK_STORAGE_H
#define PSE_TOOLSTACK_STORAGE_H

#include <stddef.h>
#include <stdint.h>

#include "pse_tools.h"
#include "visibility.h"

void *pse_toolstack_keep(void *self, enum pse_kept_for what, uintptr_t handle, size_t bytes);
void pse_toolstack_drop(void *self, enum pse_kept_for what, uintptr_t handle);
struct pse_ring *pse_toolstack_open_ring(void *self, const char *name, const char *signature, size_t bytes,
                                         size_t count);

/* A ring for a consumer in the process that is not a tool (Python): NULL if nobody has made it. */
PSE_EXPORT struct pse_ring *pse_toolstack_ring(const char *name);

#endif
