/* The tool `replay`: has a run decided as the tool `record` noted it.
 *
 * A receive or probe from anybody becomes one from the recorded sender with the recorded tag; a test that
 * found nothing finds nothing, one that found something waits for it.  With the same program and input, MPI's
 * order of messages between two ranks does the rest.  A call that isn't the one that was recorded ends the
 * job and says so.
 *
 * Argument: the directory with rank-RRRRR.order.
 */
#include <errno.h>
#include <unistd.h>

#include "decision_log.h"
#include "decisions.h"
#include "persistent_receives.h"
#include "request_snapshot.h"
#include "tool.h"

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *given)
{
    pse_tool_stack = given;
    const char *directory = pse_tool_argument("directory");
    if (directory && access(directory, R_OK | X_OK) == 0)
        return 0;
    return directory
               ? pse_tool_refuse("there is no record in %s: %s; name the directory that `record` wrote to",
                                 directory, strerror(errno))
               : pse_tool_refuse("no directory to read from: give it as `argument directory DIR` below "
                                 "`module replay` in a configuration");
}

/* What wrappers do. */
#define DIRECT(call, source, tag) pse_replay_direct(call, &source, &tag, &comm)
#define STANDS_IN(code)                                                                                      \
    if (pse_replay_following && returned == MPI_SUCCESS)                                                     \
    code
#define KEEP_SWAPPED(count)                                                                                  \
    SNAPSHOT_REQUESTS(count);                                                                                \
    for (int i = 0; i < (count); i++)                                                                        \
    pse_replay_swap_in(&array_of_requests[i])
#define SWAP_OUT(count)                                                                                      \
    for (int i = 0; i < (count); i++)                                                                        \
        pse_replay_swap_out(&array_of_requests[i], snapshot.requests[i]);                                    \
    pse_snapshot_end(&snapshot)
#define TOOL_ENTER(name)
#define TOOL_LEAVE(name)
#include "replay_wrappers.c"
