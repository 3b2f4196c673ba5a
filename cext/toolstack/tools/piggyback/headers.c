/* The registered headers. */
#include "headers.h"

struct pse_piggyback_header pse_piggyback_headers[MOST_HEADERS];
int pse_piggyback_count;
size_t pse_piggyback_bytes;
static bool begun; /* a message has passed, so no header may be added */

pthread_mutex_t pse_piggyback_mutex = PTHREAD_MUTEX_INITIALIZER;

int pse_piggyback_add(const struct pse_piggyback_header *header)
{
    if (begun || pse_piggyback_count == MOST_HEADERS || !header->bytes ||
        header->bytes > PSE_PIGGYBACK_MOST - pse_piggyback_bytes)
        return 1;
    pse_piggyback_headers[pse_piggyback_count++] = *header;
    pse_piggyback_bytes += header->bytes;
    return 0;
}

bool pse_piggyback_is_wanted(const struct pse_piggyback_header *header, MPI_Comm comm)
{
    return !header->wanted || header->wanted(header->context, PSE_HANDLE(comm));
}

size_t pse_piggyback_bytes_on(MPI_Comm comm)
{
    size_t bytes = 0;
    begun = true;
    for (int i = 0; comm != MPI_COMM_NULL && i < pse_piggyback_count; i++)
        bytes +=
            pse_piggyback_is_wanted(&pse_piggyback_headers[i], comm) ? pse_piggyback_headers[i].bytes : 0;
    return bytes;
}
