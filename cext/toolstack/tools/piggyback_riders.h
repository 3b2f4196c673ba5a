/* Who rides along with messages, and on which communicators.
 *
 * May touch: nothing.
 */
#ifndef PSE_PIGGYBACK_RIDERS_H
#define PSE_PIGGYBACK_RIDERS_H

#include <pthread.h>
#include <stdbool.h>

#include "tool.h"

enum { MOST_RIDERS = 16 };

static struct pse_rider riders[MOST_RIDERS];
static int rider_count;
static size_t all_bytes; /* of all riders */
static bool begun;       /* a message has passed, so nobody may join */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int ride(const struct pse_rider *rider)
{
    if (begun || rider_count == MOST_RIDERS || !rider->bytes || rider->bytes > PSE_PIGGYBACK_MOST - all_bytes)
        return 1;
    riders[rider_count++] = *rider;
    all_bytes += rider->bytes;
    return 0;
}

static bool is_wanted(const struct pse_rider *rider, MPI_Comm comm)
{
    return !rider->wanted || rider->wanted(rider->context, PSE_HANDLE(comm));
}

static size_t bytes_on(MPI_Comm comm)
{
    size_t bytes = 0;
    begun = true;
    for (int i = 0; comm != MPI_COMM_NULL && i < rider_count; i++)
        bytes += is_wanted(&riders[i], comm) ? riders[i].bytes : 0;
    return bytes;
}

#endif
