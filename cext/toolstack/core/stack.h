/* The stack: found, loaded, bound and started when the process calls MPI for the first time.
 *
 * Not before: the MPI library may come later than this object (Python imports mpi4py), and a launcher or any
 * other child that inherits LD_PRELOAD never calls MPI, so it pays for the mapping of this object and for
 * nothing else.
 *
 * It is linked from the bottom up: `entry[i]` begins as the library's own routine; each tool's imports of
 * PMPI_x are bound to entry[x], then entry[x] becomes the tool's definition of MPI_x where it has one.  What
 * is left in the end is what the stubs jump through.  So there is one table, and a call goes from layer to
 * layer by plain jumps.  One thread links; MPI calls that tools make meanwhile go straight to the library.
 */
#ifndef PSE_TOOLSTACK_STACK_H
#define PSE_TOOLSTACK_STACK_H

#include <stdbool.h>

/* Link everything with a configuration (NULL: no tools); false if that was done before. */
bool pse_toolstack_begin_once(const char *configuration);
/* Link everything, but let the stubs lead to the library until pse_toolstack_publish; NULL, or why that can't
 * be. */
const char *pse_toolstack_begin_held(const char *configuration);
/* The configuration that everything was linked with; NULL: none. */
const char *pse_toolstack_configuration(void);
/* From now on calls go through the layers. */
void pse_toolstack_publish(void);
/* Whether everything is linked, and whether this thread is just doing it. */
bool pse_toolstack_is_begun(bool *by_this_thread);

#endif
