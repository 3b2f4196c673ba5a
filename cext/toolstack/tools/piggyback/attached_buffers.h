/* The buffers that programs attach for MPI_Bsend.
 *
 * Its messages are longer, too: the program's buffer is replaced by one that has room for the bytes of as
 * many messages as it could hold.  The program's own is given back to it when it is detached.
 */
#ifndef PSE_PIGGYBACK_ATTACHED_BUFFERS_H
#define PSE_PIGGYBACK_ATTACHED_BUFFERS_H

#include <mpi.h>

struct attached_buffer {
    struct attached_buffer *next;
    void *given, *used;
    MPI_Count size;
};

MPI_Count pse_piggyback_larger(MPI_Count size);
/* The buffer to be attached in the place of `buffer`, NULL to take it as it is. */
void *pse_piggyback_attach(void *buffer, MPI_Count size, MPI_Count most);
struct attached_buffer *pse_piggyback_detach(void *used);

#endif
