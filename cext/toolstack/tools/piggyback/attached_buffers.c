/* Exchanging attached buffers for larger ones. */
#include "attached_buffers.h"

#include <stdlib.h>

#include "headers.h"

static struct attached_buffer *attached;

MPI_Count pse_piggyback_larger(MPI_Count size)
{
    return size + (size / MPI_BSEND_OVERHEAD + 1) * (MPI_Count)pse_piggyback_bytes;
}

void *pse_piggyback_attach(void *buffer, MPI_Count size, MPI_Count most)
{
#ifdef MPI_BUFFER_AUTOMATIC
    if (buffer == MPI_BUFFER_AUTOMATIC)
        return NULL;
#endif
    if (!pse_piggyback_count || size <= 0 || pse_piggyback_larger(size) > most)
        return NULL;
    struct attached_buffer *made = malloc(sizeof *made + 64 + (size_t)pse_piggyback_larger(size));
    if (!made)
        return NULL;
    *made = (struct attached_buffer){.given = buffer, .used = made + 1, .size = size};
    pthread_mutex_lock(&pse_piggyback_mutex);
    made->next = attached;
    attached = made;
    pthread_mutex_unlock(&pse_piggyback_mutex);
    return made->used;
}

struct attached_buffer *pse_piggyback_detach(void *used)
{
    pthread_mutex_lock(&pse_piggyback_mutex);
    struct attached_buffer **at = &attached, *found;
    while (*at && (*at)->used != used)
        at = &(*at)->next;
    if ((found = *at))
        *at = found->next;
    pthread_mutex_unlock(&pse_piggyback_mutex);
    return found;
}
