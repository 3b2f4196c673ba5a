/* The buffers that programs attach for MPI_Bsend.
 *
 * Its messages are longer, too: the program's buffer is replaced by one that has room for the bytes of as
 * many messages as it could hold.  The program's own is given back to it when it is detached.
 *
 * May touch: attached buffers.
 */
#ifndef PSE_PIGGYBACK_BUFFERS_H
#define PSE_PIGGYBACK_BUFFERS_H

#include "piggyback_riders.h"

struct attached {
    struct attached *next;
    void *given, *used;
    MPI_Count size;
};

static struct attached *attached;

static MPI_Count larger(MPI_Count size)
{
    return size + (size / MPI_BSEND_OVERHEAD + 1) * (MPI_Count)all_bytes;
}

/* The buffer to be attached in the place of `buffer`, NULL to take it as it is. */
static void *attach_larger(void *buffer, MPI_Count size, MPI_Count most)
{
#ifdef MPI_BUFFER_AUTOMATIC
    if (buffer == MPI_BUFFER_AUTOMATIC)
        return NULL;
#endif
    if (!rider_count || size <= 0 || larger(size) > most)
        return NULL;
    struct attached *made = malloc(sizeof *made + 64 + (size_t)larger(size));
    if (!made)
        return NULL;
    *made = (struct attached){.given = buffer, .used = made + 1, .size = size};
    pthread_mutex_lock(&mutex);
    made->next = attached;
    attached = made;
    pthread_mutex_unlock(&mutex);
    return made->used;
}

static struct attached *detach_larger(void *used)
{
    pthread_mutex_lock(&mutex);
    struct attached **at = &attached, *found;
    while (*at && (*at)->used != used)
        at = &(*at)->next;
    if ((found = *at))
        *at = found->next;
    pthread_mutex_unlock(&mutex);
    return found;
}

#endif
