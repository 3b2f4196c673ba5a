/* What the stack says to people, and how it ends a process that it can't serve.
 *
 * What is wrong with a configuration is wrong on every rank: the first of each node says it, the others only
 * leave. What a tool does may differ from rank to rank, so each rank speaks for itself.
 */
#ifndef PSE_TOOLSTACK_REPORT_H
#define PSE_TOOLSTACK_REPORT_H

#include <stdbool.h>

/* End the process with code 2.  What is wrong alike on every rank is said by the first one of each node only.
 */
/* Before something is said that other ranks may say as well: the first to speak ends them. */
void pse_toolstack_await_turn(void);
_Noreturn void pse_toolstack_die(bool everywhere, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pse_toolstack_warn(bool everywhere, const char *format, ...) __attribute__((format(printf, 2, 3)));
int pse_toolstack_rank(void); /* as the launcher's environment says, -1 if it doesn't */

#endif
