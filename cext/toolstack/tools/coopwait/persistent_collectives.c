/* Which requests are persistent collective operations. */
#include "persistent_collectives.h"

#include <pthread.h>
#include <stdlib.h>

#include "handle_table.h"
#include "own_waits.h"
#include "tool.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pse_handle_table known;
static int count_known;

static void remember(MPI_Request request)
{
    struct pse_handle_node *made = calloc(1, sizeof *made);
    pthread_mutex_lock(&mutex);
    if (made && pse_handle_add(&known, PSE_HANDLE(request), made) == 0)
        count_known++;
    else
        free(made);
    pthread_mutex_unlock(&mutex);
}

static void forget(MPI_Request request)
{
    pthread_mutex_lock(&mutex);
    struct pse_handle_node *gone = count_known ? pse_handle_take(&known, PSE_HANDLE(request)) : NULL;
    count_known -= gone != NULL;
    free(gone);
    pthread_mutex_unlock(&mutex);
}

bool pse_coopwait_has_persistent_collective(int count, const MPI_Request requests[])
{
    bool found = false;
    if (!__atomic_load_n(&count_known, __ATOMIC_RELAXED))
        return false;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < count && !found; i++)
        found = pse_handle_find(&known, PSE_HANDLE(requests[i])) != NULL;
    pthread_mutex_unlock(&mutex);
    return found;
}

#define TOOL_ENTER(routine)
#define TOOL_LEAVE(routine)
#include "coopwait_wrappers.c"
